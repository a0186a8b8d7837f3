package build

import (
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// WriteResult returns t to the caller if out is nil. Otherwise it resizes out, which must have the dtype of t, copies t to it and returns
// it.
func WriteResult(b *Builder, out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if out == nil {
		return b.Return(t)
	}
	r, err := ops.Deliver(b.Op, out, b.MatchLazyBits(t, out))
	dispatch.BumpVersion(err, out)
	return r, err
}

// WriteResultCast is WriteResult for an out of any dtype that the dtype of t can be cast to.
func WriteResultCast(b *Builder, out, t *tensor.Tensor) (*tensor.Tensor, error) {
	if out == nil {
		return b.Return(t)
	}
	r, err := ops.DeliverCast(b.Op, out, b.MatchLazyBits(t, out))
	dispatch.BumpVersion(err, out)
	return r, err
}
