package cuda

import (
	"math"

	"github.com/libtensor/libtensor/cuda/kernels"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/view"
)

// drawMultinomial draws indices of weights: with replacement by their running sums, and otherwise those of the largest weights over
// exponentials.
func drawMultinomial(op string, w backend.Drawing, from random.Multinomial) (err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	weights := backend.RowMajor(&s, w.Each, w.Each.DType())
	s.Check(checkWeights(op, weights, from, w.To.Numel()))
	if w.To.Numel() == 0 {
		return nil
	}
	writeContiguous(&s, w.To, func(to *tensor.Tensor) error {
		if from.Replacement && from.Samples > 1 {
			drawWithReplacement(&s, to, weights, w.Generator, from)
		} else {
			drawWithoutReplacement(&s, to, weights, w.Generator, from)
		}
		return nil
	})
	return nil
}

// drawWithReplacement draws indices by running sums of the weights, in float64 for float64 weights and in float32 for others.
func drawWithReplacement(s *owner.Scope, to, weights *tensor.Tensor, g *random.Generator, from random.Multinomial) {
	d := weights.DType().Compute()
	sums := backend.RowMajorCopy(s, weights, d)
	w := g.ReserveWords(2 * int(to.Numel()))
	c := choosing{weights: uintptr(sums.Data()), to: uintptr(to.Data()), rows: to.Numel() / from.Samples, categories: from.Categories,
		samples: from.Samples, seed: w.Seed, block: w.Block}
	s.Check(withLaunches(s.Op, to.Device(), func(s *launchSequence) {
		launchStep(s, kernels.Of("choose_fractions", d), c.rows, &c)
		launchStep(s, kernels.Of("choose_index", d), c.rows*c.samples, &c)
	}))
}

func drawWithoutReplacement(s *owner.Scope, to, weights *tensor.Tensor, g *random.Generator, from random.Multinomial) {
	d, n := weights.DType(), weights.Numel()
	line := []int64{n / from.Categories, from.Categories}
	keys := s.Track(tensor.Empty(s.Op, line, d, to.Device()))
	positions := s.Track(tensor.Empty(s.Op, line, dtype.Int64, to.Device()))
	w := g.ReserveWords(2 * int(n))
	e := drawing{to: uintptr(keys.Data()), n: n, a: -1, memory: d, seed: w.Seed, block: w.Block}
	s.Check(withCurrentStream(s.Op, to.Device(), func(m *deviceStream) error {
		return launchEntry(m, s.Op, kernels.Alone("draw_exponentials"), n, &e)
	}))
	rows := s.Track(weights.View(s.Op, line, []int64{from.Categories, 1}, weights.Offset()))
	s.Check(runElementwise(s.Op, backend.Elementwise{Kernel: kernelapi.Div, Compute: d.Compute(),
		Operands: [backend.MaxOperands]*tensor.Tensor{keys, rows, keys}}))
	s.Check(sortTensor(s.Op, backend.Sorting{Kernel: kernelapi.Sort, In: keys, Values: keys, Indices: positions, Dim: 1, Keep: from.Categories,
		Params: [2]int64{1}}))
	first := s.Track(view.Narrow(s.Op, positions, 1, 0, from.Samples))
	target := s.Track(to.View(s.Op, []int64{line[0], from.Samples}, []int64{from.Samples, 1}, to.Offset()))
	s.Check(copyTensor(s.Op, backend.Copying{To: target, From: first}))
}

// checkWeights returns an error for rows from which no index can be drawn. If the sums of rows show that there is one, the host finds it.
func checkWeights(op string, weights *tensor.Tensor, from random.Multinomial, wanted int64) (err error) {
	if weights.Numel() == 0 {
		return from.CheckWeights(random.Span{DType: weights.DType()}, int(wanted))
	}
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	d, good := weights.DType(), true
	mask := make([]bool, weights.Dim())
	mask[len(mask)-1] = true
	for _, k := range []kernelapi.Kernel{kernelapi.Amin, kernelapi.Amax} {
		ends := reduceDims(&s, k, weights, mask)
		at, err := backend.Elements(op, ends)
		s.Check(err)
		for i := range ends.Numel() {
			v := at(i).Float()
			good = good && v >= 0 && !math.IsInf(v, 1) && (k == kernelapi.Amin || v > 0)
		}
	}
	if good {
		return nil
	}
	bytes, err := readTensor(op, weights)
	if err != nil {
		return err
	}
	return from.CheckWeights(random.Span{DType: d, Data: pointerTo(bytes), Len: int(weights.Numel())}, int(wanted))
}
