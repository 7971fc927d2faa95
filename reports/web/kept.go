package web

import "sync"

// kept keeps the last n values that were made, by what they were made from. What is made
// at the same time by several is made several times; the caller bounds that.
type kept[V any] struct {
	n     int
	mu    sync.Mutex
	by    map[string]V
	order []string // of the keys, oldest first
}

func (k *kept[V]) get(key string, make func() (V, error)) (V, error) {
	k.mu.Lock()
	v, ok := k.by[key]
	k.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := make()
	if err != nil {
		return v, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil {
		k.by = map[string]V{}
	}
	if _, ok := k.by[key]; !ok {
		k.order = append(k.order, key)
	}
	k.by[key] = v
	if len(k.order) > k.n {
		delete(k.by, k.order[0])
		k.order = k.order[1:]
	}
	return v, nil
}
