package cuda

import (
	"cmp"
	"math"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// fillRandom fills a tensor with the random numbers that a counter-based generator (philox) has for the row-major indices of its elements.
func fillRandom(op string, w backend.Drawing) (err error) {
	each := dtype.None
	if w.Each != nil {
		each = w.Each.DType()
	}
	if err := cmp.Or(w.Generator.Counts(op), w.From.Check(w.To.DType(), each)); err != nil {
		return err
	}
	switch from := w.From.(type) {
	case random.Permutation:
		return drawPermutation(op, w)
	case random.Multinomial:
		return drawMultinomial(op, w, from)
	}
	d := drawing{n: w.To.Numel(), memory: w.To.DType(), eachMemory: each}
	if d.memory.IsComplex() { // its parts, one after another
		d.n, d.memory = 2*d.n, d.memory.ToReal()
	}
	entry, err := d.setDistribution(op, w)
	if err = cmp.Or(err, checkDTypes(op, d.memory)); err != nil {
		return err
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	switch w.From.(type) {
	case random.BernoulliEach:
		s.Check(checkProbabilities(op, w.Each))
	case random.Poisson:
		s.Check(checkRates(op, w.Each))
	}
	if w.Each != nil {
		w.Each = backend.RowMajor(&s, w.Each, each)
	}
	if d.n == 0 {
		return nil
	}
	writeContiguous(&s, w.To, func(to *tensor.Tensor) error {
		words := w.Generator.Reserve(int(w.To.Numel()), w.To.DType(), each, w.From)
		d.seed, d.block = words.Seed, words.Block
		if d.to = uintptr(to.Data()); w.Each != nil {
			d.each = uintptr(w.Each.Data())
		}
		return withCurrentStream(op, to.Device(), func(m *deviceStream) error { return launchEntry(m, op, entry, d.n, &d) })
	})
	return nil
}

// writeContiguous calls f with a tensor to write to, or with a contiguous one that it copies to the tensor.
func writeContiguous(s *owner.Scope, to *tensor.Tensor, f func(to *tensor.Tensor) error) {
	rows := to
	if !to.IsContiguous() {
		rows = s.Track(tensor.Empty(s.Op, to.Sizes(), to.DType(), to.Device()))
	}
	s.Check(f(rows))
	if rows != to {
		s.Check(copyTensor(s.Op, backend.Copying{To: to, From: rows}))
	}
}

// drawPermutation draws a permutation on the CPU, which is sequential, and copies it.
func drawPermutation(op string, w backend.Drawing) (err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	drawn := s.Track(tensor.Empty(op, w.To.Sizes(), w.To.DType(), device.Host))
	s.Check(backend.On(drawn).Draw(op, backend.Drawing{To: drawn, Generator: w.Generator, From: w.From}))
	s.Check(copyTensor(op, backend.Copying{To: w.To, From: drawn}))
	return nil
}

// setDistribution sets the parameters of a distribution, and returns its entry.
func (d *drawing) setDistribution(op string, w backend.Drawing) (entry kernels.Entry, err error) {
	wide := dtype.Float32
	if d.memory == dtype.Float64 {
		wide = dtype.Float64
	}
	switch from := w.From.(type) {
	case random.Uniform:
		d.a, d.b = from.From, from.To
		return kernels.Of("draw_uniform", wide), nil
	case random.Normal:
		d.a, d.b = from.Mean, from.Std
		if w.To.DType().IsComplex() {
			d.b /= math.Sqrt2
		}
		return kernels.Of("draw_normal", wide), nil
	case random.LogNormal:
		d.a, d.b = from.Mean, from.Std
		return kernels.Alone("draw_log_normal"), nil
	case random.Ranged:
		var two bool
		if d.from, d.span, two = from.Range(d.memory); two {
			return kernels.Alone("draw_wide_integers"), nil
		}
		return kernels.Alone("draw_integers"), nil
	case random.Bernoulli:
		d.a = from.P
		return kernels.Alone("draw_bernoulli"), nil
	case random.BernoulliEach:
		return kernels.Alone("draw_bernoulli_each"), nil
	case random.Exponential:
		d.a = -1 / from.Lambda
		return kernels.Alone("draw_exponentials"), nil
	case random.Cauchy:
		d.a, d.b = from.Median, from.Sigma
		return kernels.Alone("draw_cauchy"), nil
	case random.Geometric:
		d.a = math.Log1p(-from.P)
		return kernels.Alone("draw_geometric"), nil
	case random.Poisson:
		return kernels.Alone("draw_poisson"), nil
	case random.Binomial:
		return kernels.Of("draw_binomial", wide), nil
	case random.Gamma:
		d.a = d.memory.SmallestNormal()
		return kernels.Of("draw_gamma", wide), nil
	}
	return entry, status.NotImplementedf("%s is not implemented on cuda, which does not support this distribution; move the tensors to the cpu",
		op)
}

// checkProbabilities returns an error for a tensor with an element that is not in [0, 1].
func checkProbabilities(op string, p *tensor.Tensor) error {
	return checkExtremes(op, p, "probability in [0, 1]", func(x float64) bool { return x >= 0 && x <= 1 })
}

// checkRates returns an error for a tensor with an element that is not >= 0.
func checkRates(op string, p *tensor.Tensor) error {
	return checkExtremes(op, p, "non-negative rate", func(x float64) bool { return x >= 0 })
}

// checkExtremes returns an error for a tensor if its smallest or largest element, which is NaN if any element is, does not satisfy fits.
func checkExtremes(op string, p *tensor.Tensor, want string, fits func(x float64) bool) (err error) {
	if p.Numel() == 0 {
		return nil
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	mask := make([]bool, p.Dim())
	for d := range mask {
		mask[d] = true
	}
	for _, k := range []kernelapi.Kernel{kernelapi.Amin, kernelapi.Amax} {
		v, err := backend.Item(op, reduceDims(&s, k, p, mask))
		s.Check(err)
		if x := v.Float(); !fits(x) {
			s.Failf("expected a %s, but an element is %v", want, x)
		}
	}
	return nil
}

// reduceDims returns the result of a reduction kernel over the dimensions of t in mask, in the dtype of t.
func reduceDims(s *owner.Scope, k kernelapi.Kernel, t *tensor.Tensor, mask []bool) *tensor.Tensor {
	var sizes []int64
	for d, n := range t.Sizes() {
		if !mask[d] {
			sizes = append(sizes, n)
		}
	}
	made := s.Track(tensor.Empty(s.Op, sizes, t.DType(), t.Device()))
	s.Check(runReduction(s.Op, backend.Reduction{Kernel: k, Compute: t.DType().Compute(), Out: [2]*tensor.Tensor{made}, In: t, Mask: mask}))
	return made
}
