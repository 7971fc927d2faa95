package foreign

import (
	"fmt"
	"slices"
	"strings"

	"picklock/models/spec"
)

// Model is what a history is judged by.
type Model struct {
	Name    string // one of ModelNames
	Permits int    // of semaphore and permits: how many there are
	Holds   int    // of reentrant locks: how often one owner can hold at once; 0: without end
	Initial Value  // of register and cas-register: what is there at first; empty: nothing
}

// The names of models.
const (
	Mutex                = "mutex"                  // knows no owners, as in Knossos
	OwnerMutex           = "owner-mutex"            // released by its owner only
	ReentrantMutex       = "reentrant-mutex"        // acquired by its owner again
	FencedMutex          = "fenced-mutex"           // an owner-mutex with rising fences
	ReentrantFencedMutex = "reentrant-fenced-mutex" // nested acquires have the fence of the first
	Semaphore            = "semaphore"              // Permits holds at once; who releases must have acquired
	Permits              = "permits"                // the same
	Register             = "register"               // read and write
	CASRegister          = "cas-register"           // and compare-and-set
	KV                   = "kv"                     // keys with get, put and append
)

// ModelNames are all names.
func ModelNames() []string {
	return []string{Mutex, OwnerMutex, ReentrantMutex, FencedMutex, ReentrantFencedMutex, Semaphore, Permits, Register, CASRegister, KV}
}

// Check says what is wrong with a model.
func (m Model) Check() error {
	switch {
	case !slices.Contains(ModelNames(), m.Name):
		return fmt.Errorf("unknown model %q: there are %s", m.Name, strings.Join(ModelNames(), ", "))
	case m.Permits < 0 || m.Holds < 0:
		return fmt.Errorf("model %s: numbers must not be negative", m.Name)
	case (m.Name == Semaphore || m.Name == Permits) && m.Permits == 0:
		return fmt.Errorf("model %s: how many permits there are must be said", m.Name)
	}
	return nil
}

// ParseValue reads a value as EDN writes it, for Model.Initial.
func ParseValue(text string) (Value, error) {
	p := parser{in: []byte(text)}
	raw, err := p.next()
	if err == nil {
		if _, more := p.next(); more != errEnd {
			err = fmt.Errorf("something follows the value")
		}
	}
	if err != nil {
		return "", fmt.Errorf("the value %q: %w", text, err)
	}
	return canonical(raw)
}

// Lock is the specification of a lock, if the model is of one.
func (m Model) Lock() (spec.Lock, bool) {
	switch m.Name {
	case Mutex:
		return spec.Mutex(), true
	case OwnerMutex:
		return spec.OwnerMutex(), true
	case ReentrantMutex:
		return spec.ReentrantMutex(m.Holds), true
	case FencedMutex:
		return spec.FencedMutex(), true
	case ReentrantFencedMutex:
		return spec.ReentrantFencedMutex(m.Holds), true
	case Semaphore, Permits:
		return spec.Permits(m.Permits), true
	}
	return spec.Lock{}, false
}

// Register is the specification of a register, if the model is of one.
func (m Model) Register() (spec.Register, bool) {
	switch m.Name {
	case Register, CASRegister:
		return spec.Register{Initial: registerValue(m.Initial)}, true
	case KV:
		return spec.KeyValue(), true
	}
	return spec.Register{}, false
}

// registerValue keeps the whole EDN, so that 1 and "1" differ.
func registerValue(v Value) spec.Value {
	if v == "" {
		return spec.Nil
	}
	return spec.Some(string(v))
}

// tuple takes Jepsen's [key value] apart.
func tuple(v Value) (key, value Value, ok bool) {
	if !v.vector() {
		return "", "", false
	}
	e := v.elements()
	if len(e) != 2 {
		return "", "", false
	}
	return e[0], e[1], true
}

// says tells whether an error names one of the reasons: as a keyword, a string, a map's
// :type, or the first element of a vector.
func says(err Value, reasons ...string) bool {
	if e := err.elements(); len(e) > 0 {
		err = e[0]
	}
	if t := err.field("type"); t != "" {
		err = t
	}
	text, ok := err.plain()
	if !ok {
		text = strings.TrimPrefix(string(err), ":")
	}
	return slices.Contains(reasons, text)
}
