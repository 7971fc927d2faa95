package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"picklock/harness/history"
	"picklock/harness/store"
	"picklock/harness/topology"
	"picklock/locks"
	"picklock/models"
)

// ErrDisagree says that two checkers gave different verdicts on the same history: one of
// them is wrong, so there is no verdict.
var ErrDisagree = errors.New("the checkers disagree, which is a fault of picklock; please report it with the folder")

// Judge judges the test stored in dir. It needs no servers, writes nothing, and can be
// repeated at any time. The checker is one of Checkers; empty: the test's own. A history
// that is damaged other than by a torn tail is history.ErrDamaged. Each of read is given the
// history before the judging begins, which only reads it.
func Judge(dir store.Dir, checker string, read ...func(*history.History)) (Outcome, error) {
	out := Outcome{Dir: dir}
	t, err := dir.ReadTest()
	if err != nil {
		return out, err
	}
	spec, ok := locks.Find(t.Lock)
	if !ok {
		return out, usage("%s is a test of the lock %q, which this version does not know", dir, t.Lock)
	}
	if out.History, err = History(dir); err != nil {
		return out, err
	}
	for _, each := range read {
		each(out.History)
	}
	p := params(t, spec.Meta)
	if checker != "" {
		p.Checker = models.Checker(checker)
	}
	out.Report = models.Judge(out.History, p)
	if d := out.Report.Disagreements; len(d) > 0 {
		return out, fmt.Errorf("%s: %w: %s", dir, ErrDisagree, strings.Join(d, "; "))
	}
	out.Result = result(dir, t, out.History, out.Report)
	return out, nil
}

// History reads the history of the test stored in dir, with what its clients' journals have
// beside it.
func History(dir store.Dir) (*history.History, error) {
	if _, err := dir.ReadTest(); err != nil {
		return nil, err
	}
	h, err := history.Load(dir.Path(store.HistoryFile), dir.Path(store.Journals))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it has no %s", dir, store.ErrNotATest, store.HistoryFile)
	}
	return h, err
}

func params(t *store.Test, m locks.Meta) models.Params {
	p := models.Params{
		NoTTL: m.NoTTL, TTL: time.Duration(t.TTL), Grace: time.Duration(t.Grace), Reentrant: m.Reentrant,
		PorcupineTimeout: time.Duration(t.CheckTimeout), MinSales: bound(t.MinSales), MinContention: bound(t.MinContention),
		FaultsWanted: wanted(t), Checker: models.Checker(t.Checker),
	}
	if slices.Contains(t.Nemesis, storm) {
		p.FaultsWanted, p.LandedWanted = nil, (len(t.Schedule)+1)/2
	}
	for _, id := range m.Promises {
		p.Promises = append(p.Promises, models.Property(id))
	}
	return p
}

// bound gives a threshold of the flags in the form of models.Params, where 0 is "the default".
func bound(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

func result(dir store.Dir, t *store.Test, h *history.History, rep *models.Report) *store.Result {
	r := &store.Result{
		Verdict: rep.Verdict, Vacuous: rep.Vacuous, VacuousWhy: rep.VacuousWhy, Test: *t,
		Properties: rep.Properties, Measures: rep.Measures, Broken: h.Broken, Rerun: Rerun(*t, string(dir)),
		Faults: []store.Fault{},
	}
	for _, f := range h.Faults {
		end := f.End
		if end == 0 {
			end = h.End
		}
		r.Faults = append(r.Faults, store.Fault{
			Kind: f.Kind, Target: f.Target, StartS: h.Seconds(f.Start), EndS: h.Seconds(end),
			Landed: f.Landed, Proof: f.Proof, Healed: f.Healed, Error: f.Error,
		})
	}
	if o := t.Observed; o != nil && rep.Measures.Grants > 0 {
		r.Measures.CommandsPerGrant = float64(o.Commands) / float64(rep.Measures.Grants)
		r.Measures.ClientCPUPerGrantMS = o.ClientCPUS * 1e3 / float64(rep.Measures.Grants)
		r.Measures.MaxConnections = o.MaxConnections
	}
	r.Expected = Expect(t, rep.Properties, unanswered(h))
	return r
}

// unanswered says whether some acquire or release ended without its outcome known.
func unanswered(h *history.History) bool {
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Outcome == history.OutcomeInfo && (o.Op == history.Acquire || o.Op == history.Release) {
			return true
		}
	}
	return false
}

// about says what ran: the topology's word, and this program's.
func about(c topology.Cluster) map[string]string {
	a := map[string]string{"picklock": Version(), "go": runtime.Version(), "os": runtime.GOOS + "/" + runtime.GOARCH}
	maps.Copy(a, c.About())
	return a
}

// Version is this program's, as the build knows it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == "vcs.revision" })
	if i >= 0 && (v == "" || v == "(devel)") {
		v = "(devel) " + info.Settings[i].Value[:12]
	}
	return v
}

// ExitCode is the status that a test's result is told by: 0 valid, 1 violated, 2 unknown
// or vacuous.
func ExitCode(r *store.Result) int {
	switch {
	case r.Verdict == models.Violated:
		return 1
	case r.Verdict == models.Valid && !r.Vacuous:
		return 0
	}
	return 2
}
