package nemesis_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"picklock/nemesis"
)

func TestScheduleIsDrawnFromItsSeedAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		ttl := time.Duration(rapid.IntRange(100, 3000).Draw(t, "ttl ms")) * time.Millisecond
		grace := time.Duration(rapid.IntRange(0, 2000).Draw(t, "grace ms")) * time.Millisecond
		limit := time.Duration(rapid.IntRange(1, 120).Draw(t, "limit s")) * time.Second
		kinds := rapid.SliceOfNDistinct(rapid.SampledFrom(drawable()), 1, -1, func(k nemesis.Kind) string { return k.Name }).Draw(t, "kinds")
		plan, err := nemesis.Draw(seed, kinds, limit, ttl, grace)
		again, err2 := nemesis.Draw(seed, kinds, limit, ttl, grace)
		if !reflect.DeepEqual(plan, again) || (err == nil) != (err2 == nil) {
			t.Fatalf("the same seed drew two schedules: %v and %v", plan, again)
		}
		if err != nil {
			if !strings.Contains(err.Error(), "at least") {
				t.Fatalf("the error does not say what would do: %v", err)
			}
			return
		}
		seen, staying := map[string]bool{}, 0
		end := time.Duration(0)
		for i, p := range plan {
			if p.At <= end {
				t.Fatalf("fault %d begins at %s, before the one before it ended at %s", i, p.At, end)
			}
			end = p.At + p.For
			seen[p.Kind] = true
			if k, _ := nemesis.Find(p.Kind); k.Stays && p.For == 0 {
				staying++
			} else if staying > 0 {
				t.Fatalf("%s comes after a fault that stays, whose work it may undo: %+v", p.Kind, plan)
			}
			if strings.HasPrefix(p.Kind, "pause-") && p.For <= ttl {
				t.Fatalf("%s lasts %s, which is not longer than the TTL %s: it would prove nothing", p.Kind, p.For, ttl)
			}
		}
		if quiet := limit - end; quiet < ttl+grace {
			t.Fatalf("the last fault ends %s before the end; liveness needs %s", quiet, ttl+grace)
		}
		if len(seen) != len(kinds) {
			t.Fatalf("only %v of %d kinds are in the schedule", seen, len(kinds))
		}
	})
}

// drawable are the kinds that need no parameters.
func drawable() []nemesis.Kind {
	return slices.DeleteFunc(nemesis.All(), func(k nemesis.Kind) bool { return k.Name == "misconfigure-client" })
}

func TestKindThatNeedsParametersIsNotDrawn(t *testing.T) {
	k, _ := nemesis.Find("misconfigure-client")
	if _, err := nemesis.Draw(1, []nemesis.Kind{k}, time.Minute, time.Second, time.Second); err == nil || !strings.Contains(err.Error(), "parameter lock") {
		t.Errorf("drew it without its parameter: %v", err)
	}
}

func TestStormOverlapsWithinBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		ttl := time.Duration(rapid.IntRange(100, 2000).Draw(t, "ttl ms")) * time.Millisecond
		limit := time.Duration(rapid.IntRange(1, 60).Draw(t, "limit s")) * time.Second
		kinds := rapid.SliceOfNDistinct(rapid.SampledFrom(nemesis.All()), 1, -1, func(k nemesis.Kind) string { return k.Name }).Draw(t, "kinds")
		plan, err := nemesis.DrawStorm(seed, kinds, limit, ttl, time.Second)
		again, _ := nemesis.DrawStorm(seed, kinds, limit, ttl, time.Second)
		if !reflect.DeepEqual(plan, again) {
			t.Fatalf("the same seed drew two storms: %v and %v", plan, again)
		}
		if err != nil {
			if !strings.Contains(err.Error(), "at least") {
				t.Fatalf("the error does not say what would do: %v", err)
			}
			return
		}
		for _, p := range plan {
			if p.Kind == "misconfigure-client" {
				t.Fatal("a kind that needs parameters was drawn")
			}
			if p.At+p.For+ttl+time.Second > limit {
				t.Fatalf("%+v reaches into the quiet tail", p)
			}
			atOnce := 0
			for _, o := range plan {
				if o.At <= p.At && p.At < o.At+o.For {
					atOnce++
				}
			}
			if atOnce > 3 {
				t.Fatalf("%d faults at once at %s", atOnce, p.At)
			}
		}
	})
}

func TestStormOverlaps(t *testing.T) {
	plan, err := nemesis.DrawStorm(1, drawable(), time.Minute, time.Second, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	seen, overlaps := map[string]bool{}, 0
	for i, p := range plan {
		seen[p.Kind] = true
		if i > 0 && p.At < plan[i-1].At+plan[i-1].For {
			overlaps++
		}
	}
	if len(seen) != len(drawable()) || overlaps < 5 {
		t.Errorf("a storm of a minute has %d of %d kinds and %d overlaps", len(seen), len(drawable()), overlaps)
	}
}

func TestScheduleDiffersBySeed(t *testing.T) {
	k, _ := nemesis.Find("pause-client")
	distinct := map[time.Duration]bool{}
	for seed := range uint64(50) {
		plan, err := nemesis.Draw(seed, []nemesis.Kind{k}, 15*time.Second, time.Second, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		distinct[plan[0].At] = true
	}
	if len(distinct) < 25 {
		t.Errorf("50 seeds drew only %d first times: the seed hardly matters", len(distinct))
	}
}

func TestScheduleTooShort(t *testing.T) {
	k, _ := nemesis.Find("pause-client")
	_, err := nemesis.Draw(1, []nemesis.Kind{k}, 3*time.Second, 2*time.Second, time.Second)
	if err == nil || !strings.Contains(err.Error(), "at least 8") {
		t.Errorf("a limit of 3 s with a TTL of 2 s: %v; want an error that names the least limit", err)
	}
}
