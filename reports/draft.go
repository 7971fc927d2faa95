package reports

import (
	"sync"

	"picklock/harness/history"
	"picklock/harness/store"
)

// Draft is a report before the result is known: what it shows of the history alone, each
// part made once.
type Draft struct {
	h       *history.History // nil: there is none
	derived func() *derived
	gather  func() *chartData
	stock   func() []stockRow
}

func newDraft(h *history.History) *Draft {
	d := &Draft{h: h, derived: sync.OnceValue(func() *derived { return derive(h) })}
	d.gather = sync.OnceValue(func() *chartData { return gather(h, d.derived()) })
	d.stock = sync.OnceValue(func() []stockRow { return stock(h) })
	return d
}

// Begin begins the report of a history that is still being judged: by the time that the
// result is there, half of the work is done. The history must not change any more; nil:
// there is none.
func Begin(h *history.History) *Draft {
	d := newDraft(h)
	if h != nil {
		go func() {
			d.gather()
			d.stock()
		}()
	}
	return d
}

// views are what the page and the files beside it show of a history, each made once.
type views struct {
	*Draft
	charts func() ([]chartView, error)
}

func (d *Draft) of(r *store.Result) *views {
	return &views{d, sync.OnceValues(func() ([]chartView, error) { return charts(r, d.gather()) })}
}
