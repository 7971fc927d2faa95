package history

import (
	"cmp"
	"fmt"
	"io"
	"slices"
)

// place is where an event stands, with its time: in the file, or among those that only the
// journals have, which come after all of the file.
type place struct {
	time, at int64
	length   int32 // in bytes; -1: at is its number among those of the journals
}

// loadStrange reads a history whose events must be looked at one by one in the order of
// their times: once to check the lines and to learn the times, and once more in that
// order. All events at once would take several times the memory of the result.
func loadStrange(in io.ReaderAt, size int64, journals string) (*History, error) {
	var places []place
	whole := false
	broken, err := eachEvent(io.NewSectionReader(in, 0, size), func(e *Event, at int64, length int) {
		places = append(places, place{e.Time, at, int32(length)})
		whole = whole || e.Type == End
	})
	if err != nil {
		return nil, err
	}
	var more []Event
	if !whole {
		broken = ending(broken, len(places))
		if more, err = salvage(in, size, journals); err != nil {
			return nil, journalError{err}
		}
		for i := range more {
			places = append(places, place{more[i].Time, int64(i), -1})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(a.time, b.time) })
	a := newAssembly(len(places) / 2)
	text := around{in: in, size: size}
	for _, p := range places {
		var e Event
		if p.length < 0 {
			e = more[p.at]
		} else if e, err = text.event(p); err != nil {
			return nil, err
		}
		if err := a.add(&e); err != nil {
			return nil, contradiction{err}
		}
	}
	h := a.history
	slices.SortStableFunc(h.Ledger, func(a, b LedgerLine) int { return cmp.Compare(a.Seq, b.Seq) })
	if !whole {
		h.breaksOff(broken)
	}
	return h, nil
}

// salvage gives what the journals hold beyond the file.
func salvage(in io.ReaderAt, size int64, journals string) (more []Event, err error) {
	type key struct {
		id, time int64
		typ      Type
		client   int
	}
	of := func(e *Event) key { return key{e.ID, e.Time, e.Type, e.Client} }
	found := map[key]bool{} // of the journals: whether the file has it
	err = eachJournal(journals, func(e *Event) error {
		found[of(e)] = false
		return nil
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if _, err := eachEvent(io.NewSectionReader(in, 0, size), func(e *Event, _ int64, _ int) {
		if _, journalled := found[of(e)]; journalled {
			found[of(e)] = true
		}
	}); err != nil {
		return nil, err
	}
	err = eachJournal(journals, func(e *Event) error {
		if !found[of(e)] {
			more = append(more, *e)
		}
		return nil
	})
	return more, err
}

// around reads lines that stand near each other.
type around struct {
	in   io.ReaderAt
	size int64
	from int64 // where buf stands in the file
	buf  []byte
}

// behind is how much before a line is read with it: lines that come next may stand there.
const behind = 1 << 16

func (a *around) event(p place) (Event, error) {
	end := p.at + int64(p.length)
	if p.at < a.from || end > a.from+int64(len(a.buf)) {
		a.from = max(0, p.at-behind)
		n := min(max(chunkSize, end-a.from), a.size-a.from)
		a.buf = slices.Grow(a.buf[:0], int(n))[:n]
		if _, err := a.in.ReadAt(a.buf, a.from); err != nil && err != io.EOF {
			return Event{}, err
		}
	}
	line := a.buf[p.at-a.from : end-a.from]
	cut := len(line) - crcTail
	if cut < 1 {
		return Event{}, fmt.Errorf("%w: it was changed while it was read", ErrDamaged)
	}
	saved := line[cut]
	line[cut] = '}' // the checksum took its place
	e, err := ParseEvent(line[:cut+1])
	line[cut] = saved
	if err != nil {
		return Event{}, fmt.Errorf("%w: it was changed while it was read: %w", ErrDamaged, err)
	}
	return e, nil
}
