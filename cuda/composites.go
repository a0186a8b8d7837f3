package cuda

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// withoutKeys is the context of the intermediate operators of a launch: the call has passed all dispatch keys.
var withoutKeys = dispatch.Context{}.Excluding(^tensor.DispatchKeys(0))

// makeComposite returns a launch that is computed by other operators on the device. f has a builder for them, whose errors end it; they
// contain the name of the launch's operator. The blocks of its tensors are recorded by the launches of the intermediate operators.
func makeComposite[W any](f func(b *composite, w W)) func(op string, w W) error {
	return func(op string, w W) (err error) {
		b := &composite{build.New(withoutKeys, op)}
		defer b.Close(&err)
		f(b, w)
		return nil
	}
}

// composite is the builder of a composed launch.
type composite struct{ *build.Builder }

// viewFlat views the memory of a dense tensor, in its order, with other sizes.
func (b *composite) viewFlat(t *tensor.Tensor, sizes ...int64) *tensor.Tensor {
	strides := make([]int64, len(sizes))
	step := int64(1)
	for d := len(sizes) - 1; d >= 0; d-- {
		strides[d] = step
		step *= sizes[d]
	}
	return b.Track(t.View(b.Op, sizes, strides, t.Offset()))
}

// copyResult copies a result to a tensor.
func (b *composite) copyResult(to, from *tensor.Tensor) { b.Copy(to, from, false) }

// fillTensor sets all elements of a tensor.
func (b *composite) fillTensor(t *tensor.Tensor, v dtype.Scalar) {
	b.Check(fillTensor(b.Op, backend.Filling{To: t, Value: v}))
}
