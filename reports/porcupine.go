package reports

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/anishathalye/porcupine"

	"picklock/harness/history"
	"picklock/models"
)

// drawPicture writes porcupine's own page of a failing partition, with the faults and
// the deaths of clients as annotations. Its axis is the order of events, not time.
func drawPicture(w io.Writer, p models.Picture, h *history.History, fs []fault) (err error) {
	// Porcupine panics when a model takes a step in the picture that it did not take in the
	// check. A report without this page is better than none.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("porcupine cannot draw %s: %v", p.Object, r)
		}
	}()
	info := p.Info
	info.AddAnnotations(annotations(h, fs))
	return porcupine.Visualize(escaping(p.Model), info, w)
}

// escaping makes a model's words safe: porcupine's page puts states and metadata into
// its tooltips as HTML, and owners and tokens come from clients and servers.
func escaping(m porcupine.Model) porcupine.Model {
	state, metadata := m.DescribeState, m.DescribeOperationMetadata
	m.DescribeState = func(s any) string {
		if state == nil {
			return html.EscapeString(fmt.Sprint(s))
		}
		return html.EscapeString(state(s))
	}
	m.DescribeOperationMetadata = func(i any) string {
		switch {
		case metadata != nil:
			return html.EscapeString(metadata(i))
		case i == nil:
			return ""
		}
		return html.EscapeString(fmt.Sprint(i))
	}
	return m
}

// annotations has a row for each fault, because porcupine cannot draw two that overlap in
// one row, and one for each death.
func annotations(h *history.History, fs []fault) []porcupine.Annotation {
	if h == nil {
		return nil
	}
	var as []porcupine.Annotation
	for _, f := range fs {
		if f.start == 0 { // known from the result only: it has no place among the events
			continue
		}
		as = append(as, porcupine.Annotation{
			Tag:             f.Name + " " + f.Kind,
			Start:           f.start,
			End:             f.end,
			Description:     f.Target,
			Details:         strings.TrimSpace(f.title() + "\n" + f.Proof),
			BackgroundColor: "#d9cdf2",
			TextColor:       "#2d1a5e",
		})
	}
	for i, d := range h.Deaths {
		as = append(as, porcupine.Annotation{
			Tag:             fmt.Sprintf("death %d", i+1),
			Start:           d.Time,
			Description:     fmt.Sprintf("client %d dies", d.Client),
			Details:         fmt.Sprintf("client %d is proven dead from %.3f s on", d.Client, h.Seconds(d.Time)),
			BackgroundColor: "#3a3a3a",
			TextColor:       "#ffffff",
		})
	}
	return as
}
