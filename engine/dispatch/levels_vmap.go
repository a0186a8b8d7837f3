package dispatch

import (
	"slices"

	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// VmapBegin implements the operator vmap_begin.
func (c Context) VmapBegin(size int64, randomness string) (int64, error) {
	const op = "vmap_begin"
	if size < 0 {
		return 0, status.Runtimef("%s: the batch size must not be negative, but got %d", op, size)
	}
	if !slices.Contains([]string{"error", "different", "same"}, randomness) {
		return 0, status.Runtimef("Only allowed values for randomness are 'error', 'different', or 'same'. Got %s", randomness)
	}
	return c.enterTransform(op, &tensor.Level{Size: size, Randomness: randomness})
}

// VmapEnd implements the operator vmap_end.
func (c Context) VmapEnd(level int64) error { return c.leaveTransform("vmap", level) }

// VmapWrap implements the operator vmap_wrap.
func (c Context) VmapWrap(self *tensor.Tensor, dim, level int64) (*tensor.Tensor, error) {
	const op = "vmap"
	l, err := findTransform(op, "vmap", level)
	if err != nil {
		return nil, err
	}
	first, err := c.Movedim(self, dim, 0)
	if err != nil {
		return nil, status.In("vmap_wrap", err)
	}
	defer first.Release()
	return tensor.Wrap(op, first, l)
}

// VmapUnwrap implements the operator vmap_unwrap.
func (c Context) VmapUnwrap(self *tensor.Tensor, dim, level int64) (*tensor.Tensor, error) {
	l, err := findTransform("vmap", "vmap", level)
	if err != nil {
		return nil, err
	}
	all, err := Take(c, self, l)
	if err != nil || dim == 0 {
		return all, err
	}
	defer all.Release()
	return c.Movedim(all, 0, dim)
}

// VmapMaps implements the operator vmap_maps.
func (c Context) VmapMaps(self *tensor.Tensor, level int64) (bool, error) {
	return self.MappedBy(level), nil
}

// VmapLevel implements the operator vmap_level.
func (c Context) VmapLevel(self *tensor.Tensor) (int64, error) {
	for w := self.Wrapped(); w != nil; w = w.Value.Wrapped() {
		if !w.Level.Forward {
			return int64(w.Level.Number), nil
		}
	}
	return 0, nil
}

// VmapRandomness implements the operator vmap_randomness.
func (c Context) VmapRandomness(level int64) (string, error) {
	l, err := findTransform("vmap_randomness", "vmap", level)
	if err != nil {
		return "", err
	}
	return l.Randomness, nil
}

// VmapSpread implements the operator vmap_spread.
func (c Context) VmapSpread(self *tensor.Tensor) (*tensor.Tensor, error) {
	return Spread(c, self, func(*tensor.Level) bool { return true })
}

// Spread returns a view of t with an element for each batch element of the vmap levels that the thread is in and where chooses.
func Spread(c Context, t *tensor.Tensor, where func(l *tensor.Level) bool) (*tensor.Tensor, error) {
	t = t.Alias()
	for l := c.Level(); l != nil; l = l.Outer {
		if l.Forward || t.SpreadOver(l) || !where(l) {
			continue
		}
		all, err := Take(c, t, l)
		t.Release()
		if err != nil {
			return nil, err
		}
		t, err = Return("vmap", c, all, l)
		all.Release()
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Take returns a tensor with all examples of a transform along its first dimension: the same for each where the transform does not map over
// t.
func Take(c Context, t *tensor.Tensor, l *tensor.Level) (*tensor.Tensor, error) {
	w := t.Wrapped()
	switch {
	case w != nil && w.Level == l:
		return w.Value.Alias(), nil
	case w != nil && w.Level.Number > l.Number && w.Level.Forward:
		return mapPair(w, "vmap", func(t *tensor.Tensor) (*tensor.Tensor, error) { return Take(c, t, l) })
	case w != nil && w.Level.Number > l.Number:
		all, err := Take(c, w.Value, l)
		if err != nil {
			return nil, err
		}
		defer all.Release()
		turned, err := c.Transpose(nil, all, 0, 1)
		if err != nil {
			return nil, err
		}
		defer turned.Release()
		return tensor.Wrap("vmap", turned, w.Level)
	}
	first, err := c.Unsqueeze(nil, t, 0)
	if err != nil {
		return nil, err
	}
	defer first.Release()
	return c.Expand(first, append([]int64{l.Size}, t.Sizes()...), false)
}

// Return is the reverse: it returns a tensor that represents one batch element of the transform, for the batch along the first dimension of
// t.
func Return(op string, c Context, t *tensor.Tensor, l *tensor.Level) (*tensor.Tensor, error) {
	w := t.Wrapped()
	if w == nil || w.Level.Number < l.Number {
		return tensor.Wrap(op, t, l)
	}
	if w.Level.Forward {
		return mapPair(w, op, func(t *tensor.Tensor) (*tensor.Tensor, error) { return Return(op, c, t, l) })
	}
	turned, err := c.Transpose(nil, w.Value, 0, 1)
	if err != nil {
		return nil, err
	}
	defer turned.Release()
	inner, err := Return(op, c, turned, l)
	if err != nil {
		return nil, err
	}
	defer inner.Release()
	return tensor.Wrap(op, inner, w.Level)
}
