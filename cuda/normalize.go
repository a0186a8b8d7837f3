package cuda

import (
	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// runNormalization normalizes units, or computes the gradients, from sums and moments over their elements.
var runNormalization = makeComposite(func(b *composite, w backend.Normalization) {
	if w.In.Numel() == 0 {
		return
	}
	n := normalizer{b: b, Normalization: w, d: w.Mean.DType(), batches: w.Units / w.Groups}
	if w.Given != nil {
		n.runBackward()
	} else {
		n.runForward()
	}
})

// normalizer views elements with sizes (batches, strips, groups, runs, span): a unit is a batch of a group, and a run has a parameter in
// each group.
type normalizer struct {
	b *composite
	backend.Normalization
	d       dtype.DType // of the computation
	batches int64
}

// unitDims are the dimensions that are not those of units.
var unitDims = []int64{1, 3, 4}

// viewElements views a dense tensor of elements.
func (n *normalizer) viewElements(t *tensor.Tensor) *tensor.Tensor {
	if n.Columns {
		return n.b.viewFlat(t, n.batches, n.Strips, n.Groups, n.Runs, 1)
	}
	return n.b.Transpose(n.b.viewFlat(t, n.Strips, n.batches, n.Groups, n.Runs, n.Span), 0, 1)
}

// viewStatistics views a number for each unit, or for each group.
func (n *normalizer) viewStatistics(t *tensor.Tensor) *tensor.Tensor {
	return n.b.viewFlat(t, t.Numel()/n.Groups, 1, n.Groups, 1, 1)
}

// viewParameters views a number for each run of each group; nil stays nil.
func (n *normalizer) viewParameters(t *tensor.Tensor) *tensor.Tensor {
	if t == nil {
		return nil
	}
	return n.b.viewFlat(t, 1, 1, n.Groups, n.Runs, 1)
}

// scaleBy returns t times a factor that may be nil.
func (n *normalizer) scaleBy(t, by *tensor.Tensor) *tensor.Tensor {
	if by == nil {
		return t
	}
	return n.b.Mul(t, by)
}

// roundToInput returns t with the precision of In, if that is asked for.
func (n *normalizer) roundToInput(t *tensor.Tensor) *tensor.Tensor {
	if n.Rounded {
		t = n.b.CastTo(t, n.In.DType())
	}
	return n.b.CastTo(t, n.d)
}

func (n *normalizer) runForward() {
	if n.canFuse() {
		n.launchFused()
		return
	}
	x := n.viewElements(n.In)
	if !n.Fixed {
		n.writeStatistics(x)
	}
	rstd := n.scaleBy(n.viewStatistics(n.Rstd), n.viewParameters(n.Weight))
	x = n.b.CastTo(x, n.d)
	if n.Centred {
		x = n.b.Sub(x, n.viewStatistics(n.Mean))
	}
	to := n.viewElements(n.Out)
	if n.Bias == nil {
		n.b.copyResult(to, n.b.Mul(x, rstd))
		return
	}
	n.b.copyResult(to, n.b.Addcmul(n.viewParameters(n.Bias), x, rstd))
}

// maxFused is the largest number of elements of a unit that a block of threads normalizes, unless there are enoughLines units.
const maxFused = 1 << 16

// canFuse reports whether one launch computes the statistics and the results of all units.
func (n *normalizer) canFuse() bool {
	return !n.Columns && !n.Fixed && (n.Units >= enoughLines || n.Strips*n.Runs*n.Span <= maxFused)
}

// launchFused launches the kernel that normalizes units.
func (n *normalizer) launchFused() {
	l := normalizing{in: uintptr(n.In.Data()), out: uintptr(n.Out.Data()), mean: uintptr(n.Mean.Data()), rstd: uintptr(n.Rstd.Data()),
		variance: uintptr(n.Variance.Data()), units: n.Units, groups: n.Groups, strips: n.Strips, runs: n.Runs, span: n.Span, eps: n.Eps,
		centred: n.Centred, rounded: n.Rounded}
	if n.Weight != nil {
		l.weight = uintptr(n.Weight.Data())
	}
	if n.Bias != nil {
		l.bias = uintptr(n.Bias.Data())
	}
	l.strands = countStrands(n.Strips*n.Runs*n.Span, softBatch, blockThreads)
	blocks := (l.units*int64(l.strands) + blockThreads - 1) / blockThreads
	n.b.Check(withCurrentStream(n.b.Op, n.In.Device(), func(m *deviceStream) error {
		return launchEntry(m, n.b.Op, kernels.Of("normalize", n.In.DType()), blocks*blockThreads, &l)
	}))
}

// writeStatistics computes those of units. Those of bfloat16 that are rounded have rounded sums of squares, too, as PyTorch's.
func (n *normalizer) writeStatistics(x *tensor.Tensor) {
	x = n.b.CastTo(x, n.d)
	variance, mean := n.b.VarMeanCorrectionWith(x, unitDims, dtype.IntScalar(0), true)
	if !n.Centred {
		variance, mean = n.computeMeanSquare(x), n.b.ZerosBeside(x, n.d, mean.Sizes()...)
	}
	used := n.b.CastTo(variance, dtype.Float64)
	if n.Rounded && n.In.DType() == dtype.BFloat16 {
		count := n.b.FloatNumber(float64(n.Strips * n.Runs * n.Span))
		sums := n.b.CastTo(n.roundToInput(n.b.CastTo(n.b.Mul(used, count), n.d)), dtype.Float64)
		used = n.b.CastTo(n.roundToInput(n.b.CastTo(n.b.Div(sums, count), n.d)), dtype.Float64)
	}
	rstd := n.b.CastTo(n.b.Rsqrt(n.b.Add(used, n.b.FloatNumber(n.Eps))), n.d)
	n.b.copyResult(n.viewStatistics(n.Mean), n.roundToInput(mean))
	n.b.copyResult(n.viewStatistics(n.Rstd), n.roundToInput(rstd))
	n.b.copyResult(n.viewStatistics(n.Variance), variance)
}

// computeMeanSquare returns the mean of squares in units.
func (n *normalizer) computeMeanSquare(x *tensor.Tensor) *tensor.Tensor {
	return n.b.MeanWith(n.b.Mul(x, x), unitDims, true, dtype.None)
}

func (n *normalizer) runBackward() {
	given := n.b.CastTo(n.viewElements(n.Given), n.d)
	weight := n.viewParameters(n.Weight)
	rstd := n.viewStatistics(n.Rstd)
	var apart *tensor.Tensor // deviations
	if !n.Fixed || n.Sums[0] != nil {
		apart = n.b.Sub(n.b.CastTo(n.viewElements(n.In), n.d), n.viewStatistics(n.Mean))
	}
	var plain, along *tensor.Tensor // sums of each run
	if apart != nil {
		inRun := []int64{1, 4}
		plain, along = n.b.SumWith(given, inRun, true, dtype.None), n.b.SumWith(n.b.Mul(given, apart), inRun, true, dtype.None)
	}
	if n.Sums[0] != nil {
		n.writeSums(plain, n.b.Mul(along, rstd))
	}
	if n.Out == nil {
		return
	}
	scaled := n.scaleBy(given, weight)
	if n.Fixed {
		n.b.copyResult(n.viewElements(n.Out), n.b.Mul(scaled, rstd))
		return
	}
	count := n.b.FloatNumber(float64(n.Strips * n.Runs * n.Span))
	inGroup := []int64{3}
	slope := n.b.Div(n.b.Mul(n.b.SumWith(n.scaleBy(along, weight), inGroup, true, dtype.None), n.b.Mul(rstd, rstd)), count)
	if n.Centred {
		scaled = n.b.Sub(scaled, n.b.Div(n.b.SumWith(n.scaleBy(plain, weight), inGroup, true, dtype.None), count))
	}
	n.b.copyResult(n.viewElements(n.Out), n.b.Mul(n.b.AddcmulWith(scaled, apart, slope, dtype.IntScalar(-1)), rstd))
}

// writeSums writes the gradients of bias and weight: one for each parameter, or for each run of each unit.
func (n *normalizer) writeSums(ofBias, ofWeight *tensor.Tensor) {
	for i, from := range []*tensor.Tensor{ofBias, ofWeight} {
		to := n.Sums[i]
		if to.Numel() == n.Groups*n.Runs && n.batches > 1 {
			from = n.b.SumWith(from, []int64{0}, true, dtype.None)
		}
		n.b.copyResult(n.b.viewFlat(to, to.Numel()/(n.Groups*n.Runs), 1, n.Groups, n.Runs, 1), from)
	}
}
