package models

// slab hands out single things from blocks, so that each costs no allocation of its own.
type slab[T any] struct{ free []T }

const slabBlock = 1024

// one gives v a place. The slice has it alone and no room: appending to it copies.
func (s *slab[T]) one(v T) []T {
	if len(s.free) == 0 {
		s.free = make([]T, slabBlock)
	}
	x := s.free[:1:1]
	s.free = s.free[1:]
	x[0] = v
	return x
}

// add appends v to the things at all, of which there is mostly one.
func (s *slab[T]) add(all []T, v T) []T {
	if len(all) == 0 {
		return s.one(v)
	}
	return append(all, v)
}
