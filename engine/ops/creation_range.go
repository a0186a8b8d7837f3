package ops

import (
	"cmp"
	"math"
	"math/bits"
	"math/cmplx"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// newRangeOutput opens the output of n elements that k fills; an out of as many elements keeps its shape.
func newRangeOutput(op string, k kernelapi.Kernel, out *tensor.Tensor, n int64, d, otherwise dtype.DType, layout tensor.Layout,
	dev device.Device) (tensoriter.Output, error) {
	size, fills := []int64{n}, d
	switch {
	case out != nil:
		if fills = out.DType(); out.Numel() == n {
			size = out.Sizes()
		}
	case d == dtype.None:
		fills = otherwise
	}
	if err := k.Check(op, fills); err != nil {
		return tensoriter.Output{}, err
	}
	return newFactoryOutput(op, out, size, d, otherwise, layout, dev)
}

func isInt(s dtype.Scalar) bool { return s.IsInteger() || s.Kind == dtype.KindBool }

// truncateScalar returns a number without its fraction.
func truncateScalar(s dtype.Scalar) dtype.Scalar {
	if s.IsInteger() {
		return s
	}
	return dtype.IntScalar(s.Int())
}

// Arange counts from 0 to end.
func Arange(out *tensor.Tensor, end dtype.Scalar, d dtype.DType, layout tensor.Layout, dev device.Device) (*tensor.Tensor, error) {
	return ArangeStartStep(out, dtype.IntScalar(0), end, dtype.IntScalar(1), d, layout, dev)
}

// ArangeStart counts from start to end.
func ArangeStart(out *tensor.Tensor, start, end dtype.Scalar, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	return ArangeStartStep(out, start, end, dtype.IntScalar(1), d, layout, dev)
}

// ArangeStartStep counts from start to end, which is not reached, by step.
func ArangeStartStep(out *tensor.Tensor, start, end, step dtype.Scalar, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	if err := checkRange("arange", start, end, step); err != nil {
		return nil, err
	}
	if d != dtype.None && d.IsIntegral() || d == dtype.None && isInt(start) && isInt(end) && isInt(step) {
		counts := dtype.Int64
		if d == dtype.Uint64 {
			counts = d
		}
		for _, s := range []dtype.Scalar{start, end, step} {
			if err := checkFits("arange", s, counts); err != nil {
				return nil, err
			}
		}
	}
	otherwise := dtype.Default()
	n := math.Ceil((end.Float() - start.Float()) / step.Float())
	if isInt(start) && isInt(end) && isInt(step) {
		otherwise = dtype.Int64
		whole, rest := countInts(start, end, step)
		if n = float64(whole); rest {
			n++
		}
	}
	return newSequence("arange", out, n, start, step, d, otherwise, layout, dev)
}

// countInts returns how often step fits between start and end, and whether there is a remainder; the count saturates. step has the right
// sign.
func countInts(start, end, step dtype.Scalar) (whole uint64, rest bool) {
	each := uint64(step.I)
	if isNegative(step) {
		start, end, each = end, start, -each
	}
	low, borrow := bits.Sub64(uint64(end.I), uint64(start.I), 0)
	high, _ := bits.Sub64(highBits(end), highBits(start), borrow)
	if high >= each {
		return math.MaxUint64, false
	}
	whole, left := bits.Div64(high, low, each)
	return whole, left > 0
}

// isNegative reports whether an integer is below 0.
func isNegative(s dtype.Scalar) bool { return s.Kind != dtype.KindUint && s.I < 0 }

// highBits returns the bits of an integer above the lowest 64.
func highBits(s dtype.Scalar) uint64 {
	if isNegative(s) {
		return math.MaxUint64
	}
	return 0
}

// isLess reports whether a number is below another; integers are compared without rounding.
func isLess(a, b dtype.Scalar) bool {
	switch {
	case !isInt(a) || !isInt(b):
		return a.Float() < b.Float()
	case isNegative(a) != isNegative(b):
		return isNegative(a)
	}
	return uint64(a.I) < uint64(b.I)
}

func checkRange(op string, start, end, step dtype.Scalar) error {
	if start.Kind == dtype.KindComplex || end.Kind == dtype.KindComplex || step.Kind == dtype.KindComplex {
		return status.Runtimef("%s: start, end and step must be real numbers, but got start %v, end %v, step %v", op, start, end, step)
	}
	s, e, by := start.Float(), end.Float(), step.Float()
	switch {
	case by == 0:
		return status.Runtimef("%s: step must be nonzero", op)
	case math.IsInf(s-e, 0) || math.IsNaN(s-e):
		return status.Runtimef("%s: unsupported range: %v -> %v", op, start, end)
	case math.IsNaN(by):
		return status.Runtimef("%s: unsupported range: %v -> %v by %v", op, start, end, step)
	case by > 0 && isLess(end, start) || by < 0 && isLess(start, end):
		return status.Runtimef("%s: upper bound and lower bound inconsistent with step sign: from %v to %v by %v", op, start, end, step)
	}
	return nil
}

// newSequence creates n values from start by step.
func newSequence(op string, out *tensor.Tensor, n float64, start, step dtype.Scalar, d, otherwise dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	if n >= math.MaxInt64 {
		return nil, status.Runtimef("%s: invalid size, possible overflow: %v elements", op, n)
	}
	to, err := newRangeOutput(op, kernelapi.Range, out, int64(n), d, otherwise, layout, dev)
	if err == nil {
		err = backend.On(to.To).Range(op, backend.Range{Kernel: kernelapi.Range, To: to.To, Start: start, Step: step})
	}
	return to.Done(err)
}

// Range counts from start to end by step; end is included.
func Range(out *tensor.Tensor, start, end, step dtype.Scalar, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	if err := checkRange("range", start, end, step); err != nil {
		return nil, err
	}
	if d != dtype.None && d.IsIntegral() { // whole numbers are counted, as in PyTorch
		start, end, step = truncateScalar(start), truncateScalar(end), truncateScalar(step)
		if err := checkRange("range", start, end, step); err != nil {
			return nil, err
		}
	}
	n := math.Floor((end.Float()-start.Float())/step.Float()) + 1
	if isInt(start) && isInt(end) && isInt(step) {
		whole, _ := countInts(start, end, step)
		n = float64(whole) + 1
	}
	return newSequence("range", out, n, start, step, d, dtype.Default(), layout, dev)
}

// newSpacedOutput opens the output of linspace and logspace.
func newSpacedOutput(op string, out *tensor.Tensor, start, end dtype.Scalar, steps int64, d dtype.DType, layout tensor.Layout,
	dev device.Device) (to tensoriter.Output, err error) {
	if steps < 0 {
		return to, status.Runtimef("%s: number of steps must be non-negative, got %d", op, steps)
	}
	otherwise := dtype.Default()
	if start.Kind == dtype.KindComplex || end.Kind == dtype.KindComplex {
		otherwise = dtype.DefaultComplex()
		if d != dtype.None && !d.IsComplex() {
			return to, status.Runtimef("%s: inferred dtype %v can't be safely cast to passed dtype %v", op, otherwise, d)
		}
	}
	fills := d
	switch {
	case out != nil:
		fills = out.DType()
	case d == dtype.None:
		fills = otherwise
	}
	if err := cmp.Or(checkFits(op, start, fills), checkFits(op, end, fills)); err != nil {
		return to, err
	}
	return newRangeOutput(op, kernelapi.Linspace, out, steps, d, otherwise, layout, dev)
}

// Linspace makes evenly spaced values from start to end, both included.
func Linspace(out *tensor.Tensor, start, end dtype.Scalar, steps int64, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	to, err := newSpacedOutput("linspace", out, start, end, steps, d, layout, dev)
	if err == nil {
		d := to.To.DType()
		if from, last := convertEndpoint(start, d), convertEndpoint(end, d); d.IsIntegral() && (exceedsFloat64(from) || exceedsFloat64(last)) {
			err = fillWide(&to, from, last)
		} else {
			err = fillSpaced("linspace", to.To, from.Complex(), last.Complex(), steps, nil)
		}
	}
	return to.Done(err)
}

// fillSpaced fills t with evenly spaced numbers, or with the powers of base that they are the exponents of.
func fillSpaced(op string, t *tensor.Tensor, from, to complex128, steps int64, base *float64) error {
	between := complex(float64(max(steps-1, 1)), 0)
	step := (to - from) / between
	if cmplx.IsInf(to-from) && !cmplx.IsInf(to) && !cmplx.IsInf(from) {
		step = to/between - from/between
		step = complex(clampFinite(real(step)), clampFinite(imag(step))) // between 2 numbers, none is a step away
	}
	if steps == 1 { // the end does not count, whatever it is
		to, step = from, 0
	}
	return backend.On(t).Range(op, backend.Range{Kernel: kernelapi.Linspace, To: t, Start: dtype.ComplexScalar(from),
		Step: dtype.ComplexScalar(step), Stop: to, Base: base})
}

func clampFinite(v float64) float64 { return max(min(v, math.MaxFloat64), -math.MaxFloat64) }

// convertEndpoint converts a number to integer dtype d: without its fraction, and for unsigned dtypes not negative.
func convertEndpoint(s dtype.Scalar, d dtype.DType) dtype.Scalar {
	if d.Category() < dtype.Floating {
		return tensor.Rounded(d, s)
	}
	return s
}

// exceedsFloat64 reports whether float64 may not represent an integer exactly.
func exceedsFloat64(s dtype.Scalar) bool {
	return s.Kind == dtype.KindUint || s.I < -1<<53 || s.I > 1<<53
}

// fillWide fills an output of 64-bit integers with evenly spaced ones, without their fractions, in integers of 128 bits.
func fillWide(to *tensoriter.Output, from, last dtype.Scalar) (err error) {
	n := uint64(to.To.Numel())
	if n == 0 || !backend.Known(to.To) {
		return nil
	}
	s := newScope(to.Op)
	defer s.Close(&err)
	falls, signed := isLess(last, from), to.To.DType().IsSigned()
	distance := uint64(last.I) - uint64(from.I)
	if falls {
		distance = -distance
	}
	made := s.Track(tensor.FromInts(to.Op, int64(n), to.To.DType(), func(i int64) int64 {
		high, low := bits.Mul64(distance, uint64(i))
		whole, left := bits.Div64(high, low, max(n-1, 1))
		if falls {
			whole = -whole
		}
		at := from.I + int64(whole)
		switch {
		case left == 0:
		case !falls && signed && at < 0: // towards 0
			at++
		case falls && (!signed || at > 0):
			at--
		}
		return at
	}))
	return to.CopyFrom(s.reshapeTo(made, to.To.Sizes()...))
}

// Logspace returns base to the power of Linspace's values.
func Logspace(out *tensor.Tensor, start, end dtype.Scalar, steps int64, base float64, d dtype.DType, layout tensor.Layout,
	dev device.Device) (*tensor.Tensor, error) {
	to, err := newSpacedOutput("logspace", out, start, end, steps, d, layout, dev)
	if err == nil {
		from, last := start.Complex(), end.Complex()
		if to.To.DType().Category() < dtype.Floating {
			from, last = complex(float64(start.Int()), 0), complex(float64(end.Int()), 0)
		}
		err = fillSpaced("logspace", to.To, from, last, steps, &base)
	}
	return to.Done(err)
}
