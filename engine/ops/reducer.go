package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// reducer is a reduction kernel.
type reducer struct{ kernel kernelapi.Kernel }

// runReducer reduces in over the dimensions in mask, computing in dtype compute, and writes outs. A nil output is not written.
func (r reducer) runReducer(op string, compute dtype.DType, outs [2]*tensor.Tensor, in *tensor.Tensor, mask []bool,
	params ...float64) error {
	w := backend.Reduction{Kernel: r.kernel, Compute: compute, Out: outs, In: in, Mask: mask}
	copy(w.Params[:], params)
	return backend.On(in).Reduce(op, w)
}

// reduceOutput opens the output of dtype result and reduces in to it.
func (r reducer) reduceOutput(op string, out, in *tensor.Tensor, mask []bool, keepdim bool, compute, result dtype.DType,
	params ...float64) (*tensor.Tensor, error) {
	if err := r.kernel.Check(op, compute.Compute()); err != nil {
		return nil, err
	}
	to := tensoriter.Output{Op: op, Out: out, Sizes: reducedSizes(in.Sizes(), mask, keepdim), DType: result, Device: in.Device(),
		Sharing: tensoriter.Beside}
	if in.DType() != compute {
		if err := to.Check(in); err != nil {
			return nil, err
		}
		if err := warnDiscardImaginary(op, in.DType(), compute); err != nil {
			return nil, err
		}
	}
	err := to.Open(in)
	if err == nil {
		err = r.runReducer(op, compute.Compute(), [2]*tensor.Tensor{to.To}, in, mask, params...)
	}
	return to.Done(err)
}

// reduceRounded is reduceOutput with elements that are first rounded to the requested dtype, if it has 16 bits, and then accumulated in
// 32 bits.
func (r reducer) reduceRounded(op string, out, in *tensor.Tensor, mask []bool, keepdim bool, compute,
	result dtype.DType) (_ *tensor.Tensor, err error) {
	if result.IsReducedFloat() && in.DType() != result {
		s := newScope(op)
		defer s.Close(&err)
		in = s.copyContiguous(in, result)
	}
	return r.reduceOutput(op, out, in, mask, keepdim, compute, result)
}

// reducedSizes returns the sizes that remain of sizes when the dimensions in mask are reduced.
func reducedSizes(sizes []int64, mask []bool, keepdim bool) []int64 {
	out := make([]int64, 0, len(sizes))
	for d, s := range sizes {
		switch {
		case !mask[d]:
			out = append(out, s)
		case keepdim:
			out = append(out, 1)
		}
	}
	return out
}

// listFreeDims lists the dimensions of t outside mask, and their sizes.
func listFreeDims(t *tensor.Tensor, mask []bool) (dims []int, sizes []int64) {
	for d, s := range t.Sizes() {
		if !mask[d] {
			dims, sizes = append(dims, d), append(sizes, s)
		}
	}
	return dims, sizes
}

// markAllDims returns a mask of all dimensions.
func markAllDims(t *tensor.Tensor) []bool {
	mask := make([]bool, t.Dim())
	for i := range mask {
		mask[i] = true
	}
	return mask
}

// markDim returns a mask of dimension dim, or of all dimensions if dim is none.
func markDim(op string, t *tensor.Tensor, dim Int) ([]bool, error) {
	if dim.IsNone() {
		return markAllDims(t), nil
	}
	return shape.WrapDims(op, []int64{int64(dim)}, t.Dim(), false)
}
