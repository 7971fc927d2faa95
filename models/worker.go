package models

import "picklock/harness/history"

// workers numbers those who worked on locks, from 0. The zero value is ready. It is for one
// caller at a time; a copy of it knows the same numbers.
type workers struct {
	numbers map[[2]int]int32 // by client and worker
	recent  [1 << recentWorkers]recentWorker
}

// recentWorker is a worker at hand without a look into the map.
type recentWorker struct {
	client, worker int
	n              int32 // plus one; 0: nobody
}

const recentWorkers = 7

// of gives the number of the worker of an operation.
func (w *workers) of(o *history.Operation) int32 {
	near := &w.recent[uint64(31*o.Client+o.Worker)*0x9e3779b97f4a7c15>>(64-recentWorkers)]
	if near.n != 0 && near.client == o.Client && near.worker == o.Worker {
		return near.n - 1
	}
	if w.numbers == nil {
		w.numbers = map[[2]int]int32{}
	}
	key := [2]int{o.Client, o.Worker}
	n, known := w.numbers[key]
	if !known {
		n = int32(len(w.numbers))
		w.numbers[key] = n
	}
	*near = recentWorker{o.Client, o.Worker, n + 1}
	return n
}

// known gives the number of a worker that has one. Several may call it at once.
func (w *workers) known(o *history.Operation) int32 {
	return w.numbers[[2]int{o.Client, o.Worker}]
}
