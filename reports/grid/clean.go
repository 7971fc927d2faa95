package grid

import (
	"slices"

	"picklock/harness/matrix"
	"picklock/models"
	"picklock/reports/text"
)

// clean copies a matrix with the control characters taken out of every text that a server,
// a client or a user may have chosen: they would move the cursor, make XML invalid or turn
// the direction of writing. What then is still to be escaped is up to each form. Paths of
// tests stay as they are: see local.
func clean(m *matrix.Matrix) *matrix.Matrix {
	out := *m
	out.Name, out.Plan, out.Shard = text.Plain(m.Name), text.Plain(m.Plan), text.Plain(m.Shard)
	out.About = map[string]string{}
	for k, v := range m.About {
		out.About[text.Plain(k)] = text.Plain(v)
	}
	out.Cells = slices.Clone(m.Cells)
	for i := range out.Cells {
		cleanCell(&out.Cells[i])
	}
	return &out
}

func cleanCell(c *matrix.Result) {
	for _, s := range []*string{&c.Cell.Lock, &c.Cell.Deduct, &c.Cell.Topology, &c.Cell.Server, &c.Cell.Variant, &c.Why} {
		*s = text.Plain(*s)
	}
	c.Cell.Nemesis = lines(c.Cell.Nemesis)
	rates := map[models.Property]matrix.Rate{}
	for p, r := range c.Rates {
		r.Expected = text.Plain(r.Expected)
		rates[property(p)] = r
	}
	c.Rates = rates
	c.Runs = slices.Clone(c.Runs)
	for i := range c.Runs {
		r := &c.Runs[i]
		for _, s := range []*string{&r.Why, &r.Rerun, &r.Error} {
			*s = text.Plain(*s)
		}
		r.VacuousWhy = lines(r.VacuousWhy)
		judged := map[models.Property]matrix.Judged{}
		for p, j := range r.Properties {
			j.Expected, j.Why, j.Story = text.Plain(j.Expected), text.Plain(j.Why), lines(j.Story)
			judged[property(p)] = j
		}
		r.Properties = judged
	}
}

func property(p models.Property) models.Property { return models.Property(text.Plain(string(p))) }

func lines(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = text.Plain(s)
	}
	return out
}
