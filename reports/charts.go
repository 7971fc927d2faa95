package reports

import (
	"html/template"

	"picklock/harness/store"
)

// chartKind is one kind of chart.
type chartKind struct {
	name  string // of its file, and of its elements in the page
	title string
	draw  func(*chartData) figure
}

// chartKinds are all charts in the order of the page: a new one is a file and a line here.
func chartKinds() []chartKind {
	return []chartKind{
		{"throughput", "Throughput: sales and grants per second", throughput},
		{"latency", "How long an acquire takes (those that succeeded, by the time they returned)", latency},
		{"availability", "Availability: was a lock held or granted?", availability},
		{"waiting", "Waiting time of each client", waiting},
		{"fairness", "Grants of each client", fairness},
		{"lengths", "How long holds and leases last", lengths},
	}
}

// figure is a chart before it is drawn.
type figure struct {
	desc  string // what is drawn how, for who cannot see it
	says  string // the main figures, in a sentence or two
	sheet *sheet // nil: there is nothing to draw
}

// charts draws every chart of a test. It may move what was gathered about.
func charts(r *store.Result, c *chartData) ([]chartView, error) {
	c.result, c.faults = r, faults(r, c.History)
	var out []chartView
	for _, k := range chartKinds() {
		f := k.draw(c)
		v := chartView{File: k.name + ".svg", Title: k.title, Says: f.says}
		if f.sheet != nil {
			svg, err := f.sheet.svg("chart-"+k.name, k.title, f.desc+" "+f.says)
			if err != nil {
				return out, err
			}
			v.SVG = template.HTML(svg) // vgsvg and themed escape text
		}
		out = append(out, v)
	}
	return out, nil
}
