package composite

import (
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// AliasCopy returns a copy of self.
func AliasCopy(c dispatch.Context, out, self *tensor.Tensor) (*tensor.Tensor, error) {
	return copyView(c, "alias_copy", out, self.Alias(), nil)
}

// copyView returns a row-major copy of view and releases view, or writes the elements to out. A sparse tensor is cloned with its layout.
func copyView(c dispatch.Context, op string, out, view *tensor.Tensor, failed error) (_ *tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	b.Track(view, failed)
	if out != nil {
		b.CheckStrided(view, out)
		return build.WriteResult(b, out, view)
	}
	return b.ReturnNew(c.Clone(view, cloneFormat(view)))
}

// copyViews returns row-major copies of views and releases the views.
func copyViews(c dispatch.Context, op string, views []*tensor.Tensor, failed error) (_ []*tensor.Tensor, err error) {
	b := build.New(c, op)
	defer b.Close(&err)
	b.TrackAll(views, failed)
	return owner.List(len(views), func(i int) (*tensor.Tensor, error) { return c.Clone(views[i], cloneFormat(views[i])) })
}

// cloneFormat returns the memory format of copies of t.
func cloneFormat(t *tensor.Tensor) shape.MemoryFormat {
	if t.Keys()&tensor.Sparse != 0 {
		return shape.Preserve
	}
	return shape.Contiguous
}
