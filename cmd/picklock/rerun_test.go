package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"picklock/harness"
	"picklock/harness/store"
)

// TestRerunRepeats: the command that a report prints plans the same test again, with the
// same schedule, whatever the flags were.
func TestRerunRepeats(t *testing.T) {
	for _, args := range []string{
		"--seed 7",
		"--lock uuid-lua --deduct hincrby --nemesis none --seed 0",
		"--lock setnx --nemesis kill-client,pause-node --ttl 750ms --time-limit 33s --clients 3 --workers 4 --stock 12 --skus 5 --seed 18446744073709551615",
		"--think 0s --think-after 1ms --rate 12.5 --acquire-timeout 2s --redis-timeout 33ms --grace 10ms --min-sales 0 --min-contention 7 --check-timeout 1m30s --checker both --persistence none --stock-on lock --seed 3",
		"--runtime docker --reach published --image some/image:tag --seed 3",
		"--topology failover --replicas 1 --server redis:8.0 --nemesis kill-node --seed 4",
		"--nemesis none --until-verdict --seed 6",
		"--topology redlock --lock redlock:quorum=2 --nodes 3 --nemesis none --seed 5",
	} {
		first := planned(t, strings.Fields(args))
		command := strings.Fields(harness.Rerun(first.Test, "somewhere"))
		if command[0] != "picklock" || command[1] != "run" {
			t.Fatalf("the command begins with %q", command[:2])
		}
		again := planned(t, command[2:])
		for _, p := range []*harness.Options{&first, &again} {
			p.Run, p.Started = "", time.Time{} // what makes it another run
		}
		if !reflect.DeepEqual(first, again) {
			t.Errorf("%s\nis repeated as\n%+v\nwant\n%+v", args, again.Test, first.Test)
		}
	}
}

func planned(t *testing.T, args []string) harness.Options {
	t.Helper()
	o := harness.Defaults()
	cmd := newRun(new(int))
	cmd.ResetFlags()
	runFlags(cmd.Flags(), &o)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := complete(cmd.Flags(), &o, ""); err != nil {
		t.Fatal(err)
	}
	o, err := harness.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Nemesis == nil {
		o.Nemesis = []string{}
	}
	if o.Schedule == nil {
		o.Schedule = []store.Planned{}
	}
	return o
}
