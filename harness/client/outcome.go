package client

import (
	"errors"

	"picklock/harness/history"
	"picklock/locks"
	"picklock/locks/deduct"
)

// classify turns an error of a lock or a deduction into the outcome of the operation.
// It is the only place where that is decided.
func classify(e *history.Event, err error) {
	if err == nil {
		e.Type = history.OK
		return
	}
	e.Error = err.Error()
	for _, c := range [...]struct {
		is   error
		code string
	}{
		{locks.ErrNotAcquired, history.CodeNotAcquired},
		{locks.ErrNotHeld, history.CodeNotHeld},
		{locks.ErrNoEffect, history.CodeNoEffect},
		{deduct.ErrNotDone, history.CodeNotDone},
	} {
		if errors.Is(err, c.is) {
			e.Type, e.Code = history.Fail, c.code
			return
		}
	}
	e.Type = history.Info
	if errors.Is(err, locks.ErrToldNotHeld) {
		e.Code = history.CodeNotHeld // what the client was told last, not what is true
	}
}

// believed is what the history says of a lock's belief.
func believed(b locks.Belief) string {
	switch b {
	case locks.Enters:
		return history.BelievesHeld
	case locks.Leaves:
		return history.BelievesNot
	case locks.ReleasesAnyway:
		return history.ReleasesAnyway
	}
	return ""
}
