package reports

import (
	"maps"
	"slices"
	"strconv"

	"picklock/harness/history"
)

// stockRow is the books of one SKU.
type stockRow struct {
	SKU, Initial, Final string
	Sold, Writes, Lost  int
}

// stock gives the books of all SKUs, by name.
func stock(h *history.History) []stockRow {
	rows := map[string]*stockRow{}
	var recent [16]*stockRow // of a few SKUs each is at hand without a look into the map
	row := func(sku string) *stockRow {
		near := &recent[0]
		if n := len(sku); n > 0 {
			near = &recent[sku[n-1]%16]
		}
		if *near == nil || (*near).SKU != sku {
			if rows[sku] == nil {
				rows[sku] = &stockRow{SKU: sku, Initial: "?", Final: "?"}
			}
			*near = rows[sku]
		}
		return *near
	}
	for sku, l := range h.Stock {
		x := row(sku)
		if l.Initial != nil {
			x.Initial = strconv.FormatInt(*l.Initial, 10)
		}
		if l.Final != nil {
			x.Final = strconv.FormatInt(*l.Final, 10)
		}
	}
	for i := range h.Ledger {
		e := &h.Ledger[i]
		x := row(e.Object)
		x.Writes++
		if e.Basis != nil && *e.Basis != e.Found {
			x.Lost++
		}
	}
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Op == history.Deduct && o.Sold {
			row(o.Object).Sold++
		}
	}
	var all []stockRow
	for _, sku := range slices.Sorted(maps.Keys(rows)) {
		all = append(all, *rows[sku])
	}
	return all
}
