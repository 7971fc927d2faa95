package locks

import "context"

// none takes no lock at all: S0's first listing.
func none() Spec {
	var known expectations
	known = known.may(noFault, "nothing keeps two clients from reading the same level and both writing it less one",
		noLostUpdate, linearizableStock, noOversell)
	meta := Meta{
		Name:       "none",
		Summary:    "no lock: everybody enters at once",
		Source:     "S0, the listing before its locks",
		Topologies: single(),
		NoTTL:      true,
		Weaknesses: known,
	}
	return Spec{Meta: meta, Open: func() Maker {
		return func(c Config) Lock { return noneLock{c.Trace} }
	}}
}

type noneLock struct{ trace Trace }

func (l noneLock) Acquire(context.Context) (Grant, error) {
	l.trace.attempt()
	return Grant{}, nil
}

func (noneLock) Release(context.Context) error { return nil }
