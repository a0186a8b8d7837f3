// Package resampling computes the interpolation weights of resampled images for all devices.
package resampling

import (
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
)

// IndexWeights are the indices and weights of the source elements (neighbors) of each output element along one dimension: output element i
// is the sum over k < Counts[i], or k < Most without Counts, of Weights[k*Outputs+i] times the source element at Index[k*Outputs+i].
// Without Weights, each output element has one neighbor, of weight 1.
type IndexWeights struct {
	Size, Outputs, Most int64
	Index, Counts       []int32
	Weights             []float64
	Unit                float64 // the common divisor of integer weights
}

// Dims is the number of dimensions of planes; images and signals have leading ones of size 1.
const Dims = 3

// ComputeAxes returns the indices and weights of each dimension of a plane.
func ComputeAxes(w backend.Resampling) (axes [Dims]IndexWeights) {
	from, to, d := w.From.Sizes(), w.To.Sizes(), w.To.DType()
	first := Dims - (len(to) - 2)
	for i := range axes {
		j := i - first
		if j < 0 {
			axes[i] = newIdentity(1)
			continue
		}
		scale := 0.0
		if w.Scales != nil {
			scale = w.Scales[j]
		}
		size, outputs := from[j+2], to[j+2]
		if w.Transposed {
			axes[i] = newIndexWeights(d, w, outputs, size, scale).Transpose()
		} else {
			axes[i] = newIndexWeights(d, w, size, outputs, scale)
		}
	}
	return axes
}

// RowsFirst reports whether the rows of the source are resampled before they are summed: if it has fewer rows than the result.
func RowsFirst(d dtype.DType, axes *[Dims]IndexWeights) bool {
	z, y := &axes[0], &axes[1]
	return d == dtype.Uint8 || (z.Weights != nil || y.Weights != nil || y.Outputs > y.Size) && z.Outputs*y.Outputs >= z.Size*y.Size
}

// newIdentity returns the indices of a dimension that is not resampled.
func newIdentity(size int64) IndexWeights {
	t := IndexWeights{Size: size, Outputs: size}
	t.setNearest(func(i int64) int64 { return i })
	return t
}

// precision is a dtype that positions are computed in, which is that of the elements.
type precision interface{ float32 | float64 }

// hasSmallImageRule reports whether PyTorch uses its rule of nearest for small images, which differs from that for large ones, signals and
// volumes.
func hasSmallImageRule(w backend.Resampling) bool {
	made := w.To.Sizes()
	if w.Transposed {
		made = w.From.Sizes()
	}
	return len(made) == 4 && made[2]+made[3] <= 128
}

// newIndexWeights returns the indices and weights for images of a size with filter w. A scale other than 0 replaces the ratio of the sizes.
func newIndexWeights(d dtype.DType, w backend.Resampling, size, outputs int64, scale float64) IndexWeights {
	nearest := w.Filter == "nearest" || w.Filter == "nearest-exact"
	bytes := d == dtype.Uint8 && !nearest
	switch {
	case size == outputs && (bytes || w.Antialias || w.Filter == "linear"):
		return newIdentity(size)
	case bytes:
		return computeIndexWeights[float64](w, size, outputs, scale).roundToIntegers()
	case needsFloat64(size, outputs):
		return computeIndexWeights[float64](w, size, outputs, scale)
	case nearest && hasSmallImageRule(w):
		if w.Filter == "nearest" && (outputs == size || outputs == 2*size) {
			scale = 0
		}
		return computeIndexWeights[float32](w, size, outputs, scale)
	case d == dtype.Float64:
		return computeIndexWeights[float64](w, size, outputs, scale)
	}
	t := computeIndexWeights[float32](w, size, outputs, scale)
	// PyTorch has these weights of signals and volumes in the dtype of the elements.
	if d != dtype.Float32 && w.Filter == "linear" && w.To.Dim() != 4 && !w.Transposed {
		for i := range t.Outputs {
			after := roundToHalf(d, t.Weights[t.Outputs+i])
			t.Weights[i], t.Weights[t.Outputs+i] = roundToHalf(d, 1-after), after
		}
	}
	return t
}

// roundToHalf returns x in a dtype of 16 bits.
func roundToHalf(d dtype.DType, x float64) float64 {
	if d == dtype.BFloat16 {
		return float64(dtype.BFloat16ToFloat32(dtype.BFloat16FromFloat32(float32(x))))
	}
	return float64(dtype.Float16ToFloat32(dtype.Float16FromFloat32(float32(x))))
}

// mostPositions is the number of positions up to which float32 has the centers between them too.
const mostPositions = 1 << 23

// needsFloat64 reports whether positions need float64.
func needsFloat64(size, outputs int64) bool { return max(size, outputs) > mostPositions }

// computeIndexWeights returns the indices and weights of each output element, computed in F.
func computeIndexWeights[F precision](w backend.Resampling, size, outputs int64, scale float64) IndexWeights {
	per := F(size) / F(outputs)
	switch {
	case w.AlignCorners && outputs == 1:
		per = 0
	case w.AlignCorners:
		per = F(size-1) / F(outputs-1)
	case scale > 0:
		per = F(1 / scale)
	}
	t := IndexWeights{Size: size, Outputs: outputs}
	switch {
	case w.Filter == "nearest" && needsFloat64(size, outputs):
		t.setNearest(newIntegerPosition(size, outputs, scale, 0))
	case w.Filter == "nearest-exact" && needsFloat64(size, outputs):
		t.setNearest(newIntegerPosition(size, outputs, scale, 1))
	case w.Filter == "nearest":
		t.setNearest(func(i int64) int64 { return int64(float32(F(i) * per)) })
	case w.Filter == "nearest-exact" && hasSmallImageRule(w):
		t.setNearest(func(i int64) int64 { return int64(float32((F(i) + 0.5) * per)) })
	case w.Filter == "nearest-exact": // with one rounding of product and sum, as PyTorch
		t.setNearest(func(i int64) int64 {
			at := F(math.FMA(float64(per), float64(F(i)+0.5), -0.5))
			return int64(float32(max(float64(at), 0) + 0.5))
		})
	case w.Antialias:
		setAntialiased(&t, filters[w.Filter], per)
	default:
		setInterpolated(&t, w.Filter == "cubic", w.AlignCorners, per)
	}
	return t
}

// newIntegerPosition returns the function that computes the source position of an output element, offset by a number of halves.
func newIntegerPosition(size, outputs int64, scale float64, halves int64) func(i int64) int64 {
	if scale > 0 {
		return func(i int64) int64 { return int64(float64(2*i+halves) / (2 * scale)) }
	}
	return func(i int64) int64 { return (2*i + halves) * size / (2 * outputs) }
}

// setNearest sets one source element for each output element, clamped to the last one.
func (t *IndexWeights) setNearest(of func(i int64) int64) {
	t.Most = 1
	t.Index = make([]int32, t.Outputs)
	for i := range t.Index {
		t.Index[i] = int32(min(of(int64(i)), t.Size-1))
	}
}

// allocate allocates the tables for `most` neighbors of each output element.
func (t *IndexWeights) allocate(most int64) {
	t.Most = most
	t.Index, t.Weights = make([]int32, most*t.Outputs), make([]float64, most*t.Outputs)
}

// setInterpolated sets two or four neighbors around each position, clamped to the range of the source.
func setInterpolated[F precision](t *IndexWeights, cubic, alignCorners bool, per F) {
	t.allocate(2)
	if cubic {
		t.allocate(4)
	}
	for i := range t.Outputs {
		at := per * F(i)
		if !alignCorners {
			at = F(per*(F(i)+0.5)) - 0.5
			if at < 0 && !cubic {
				at = 0
			}
		}
		first := min(int64(math.Floor(float64(at))), t.Size-1)
		x := min(max(at-F(first), 0), 1)
		if !cubic {
			t.setNeighbor(i, 0, first, float64(1-x))
			t.setNeighbor(i, 1, first+1, float64(x))
			continue
		}
		for k, weight := range []F{cubicOuter(x + 1), cubicInner(x), cubicInner(1 - x), cubicOuter(2 - x)} {
			t.setNeighbor(i, int64(k), first-1+int64(k), float64(weight))
		}
	}
}

// setNeighbor sets neighbor k of output element i to an element, clamped to the range of the source.
func (t *IndexWeights) setNeighbor(i, k, element int64, weight float64) {
	t.Index[k*t.Outputs+i] = int32(min(max(element, 0), t.Size-1))
	t.Weights[k*t.Outputs+i] = weight
}

// cubicInner and cubicOuter are the convolution with cubics between elements, for distances up to 1, and from there up to 2.
func cubicInner[F precision](x F) F { return F(F(F(1.25*x)-2.25)*x)*x + 1 }
func cubicOuter[F precision](x F) F { return F(F(F(F(-0.75*x)+3.75)*x)-6)*x + 3 }

// filter is a function of the distance, 0 beyond its reach.
type filter struct {
	reach float64
	at    func(x float64) float64
}

var filters = map[string]filter{
	"linear": {1, func(x float64) float64 { return max(1-math.Abs(x), 0) }},
	"cubic": {2, func(x float64) float64 {
		x = math.Abs(x)
		switch {
		case x < 1:
			return (1.5*x-2.5)*x*x + 1
		case x < 2:
			return ((-0.5*x+2.5)*x-4)*x + 2
		}
		return 0
	}},
	"lanczos": {3, func(x float64) float64 {
		if math.Abs(x) >= 3 {
			return 0
		}
		return sinc(x) * sinc(x/3)
	}},
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// setAntialiased sets the elements under an antialiasing filter, which is as wide as the source range of one output element.
func setAntialiased[F precision](t *IndexWeights, f filter, per F) {
	wide := max(per, 1)
	reach := F(f.reach) * wide
	span := func(i int64) (center F, first, last int64) {
		center = per * (F(i) + 0.5)
		return center, max(int64(center-reach+0.5), 0), min(int64(center+reach+0.5), t.Size)
	}
	most := int64(1)
	for i := range t.Outputs {
		_, first, last := span(i)
		most = max(most, last-first)
	}
	t.allocate(most)
	t.Counts = make([]int32, t.Outputs)
	for i := range t.Outputs {
		center, first, last := span(i)
		total := 0.0
		for e := first; e < last; e++ {
			weight := f.at(float64((F(e) - center + 0.5) / wide))
			t.setNeighbor(i, e-first, e, weight)
			total += weight
		}
		t.setCount(i, last-first)
		for k := range last - first {
			if total != 0 {
				t.Weights[k*t.Outputs+i] /= total
			}
		}
	}
}

// setCount sets the number of neighbors of an output element; the unused ones repeat the last one.
func (t *IndexWeights) setCount(i, count int64) {
	t.Counts[i] = int32(count)
	for k := max(count, 1); k < t.Most; k++ {
		t.Index[k*t.Outputs+i] = t.Index[(k-1)*t.Outputs+i]
	}
}

func (t *IndexWeights) neighborCount(i int64) int64 {
	if t.Counts == nil {
		return t.Most
	}
	return int64(t.Counts[i])
}

// Transpose returns the table of the gradient: for each element of the source, the output elements that it is a neighbor of, with their
// weights.
func (t IndexWeights) Transpose() IndexWeights {
	counts := make([]int32, t.Size)
	for i := range t.Outputs {
		for k := range t.neighborCount(i) {
			counts[t.Index[k*t.Outputs+i]]++
		}
	}
	most := int64(1)
	for _, n := range counts {
		most = max(most, int64(n))
	}
	r := IndexWeights{Size: t.Outputs, Outputs: t.Size, Counts: counts}
	r.allocate(most)
	clear(counts)
	for i := range t.Outputs {
		for k := range t.neighborCount(i) {
			weight := 1.0
			if t.Weights != nil {
				weight = t.Weights[k*t.Outputs+i]
			}
			e := int64(t.Index[k*t.Outputs+i])
			r.setNeighbor(e, int64(counts[e]), i, weight)
			counts[e]++
		}
	}
	for e := range r.Outputs {
		if counts[e] == 0 && e > 0 { // indices ascend beyond it
			r.Index[e] = r.Index[(most-1)*r.Outputs+e-1]
		}
		r.setCount(e, int64(counts[e]))
	}
	return r
}

// roundToIntegers merges neighbors that are the same element, and rounds weights to multiples of a power of two, so that their products
// with bytes and the sums fit 32 bits.
func (t IndexWeights) roundToIntegers() IndexWeights {
	r := IndexWeights{Size: t.Size, Outputs: t.Outputs, Counts: make([]int32, t.Outputs)}
	r.allocate(t.Most)
	largest := 0.0
	for i := range t.Outputs {
		count := int64(0)
		for k := range t.neighborCount(i) {
			e, weight := t.Index[k*t.Outputs+i], t.Weights[k*t.Outputs+i]
			if last := (count-1)*t.Outputs + i; count > 0 && r.Index[last] == e {
				r.Weights[last] += weight
				continue
			}
			r.setNeighbor(i, count, int64(e), weight)
			count++
		}
		r.setCount(i, count)
		for k := range count {
			largest = max(largest, r.Weights[k*t.Outputs+i])
		}
	}
	r.Unit = 1
	for n := 0; n < 22 && int(0.5+largest*r.Unit*2) < 1<<15; n++ {
		r.Unit *= 2
	}
	for i, weight := range r.Weights {
		r.Weights[i] = math.Trunc(weight*r.Unit + math.Copysign(0.5, weight))
	}
	return r
}

// RepeatChannels returns the table of n adjacent channels, each an element, in place of that of elements with n channels.
func (t IndexWeights) RepeatChannels(n int64) IndexWeights {
	r := IndexWeights{Size: t.Size * n, Outputs: t.Outputs * n, Most: t.Most, Unit: t.Unit, Index: make([]int32, int64(len(t.Index))*n)}
	if t.Weights != nil {
		r.Weights = make([]float64, len(r.Index))
	}
	if t.Counts != nil {
		r.Counts = make([]int32, r.Outputs)
	}
	for i := range t.Index {
		for c := range n {
			r.Index[int64(i)*n+c] = t.Index[i]*int32(n) + int32(c)
			if t.Weights != nil {
				r.Weights[int64(i)*n+c] = t.Weights[i]
			}
		}
	}
	for i := range t.Counts {
		for c := range n {
			r.Counts[int64(i)*n+c] = t.Counts[i]
		}
	}
	return r
}

// MaxIndexDecrease returns the largest decrease of an index from one output element to a later one, for the same k.
func (t *IndexWeights) MaxIndexDecrease() int64 {
	back := int32(0)
	for k := range t.Most {
		highest := int32(0)
		for _, at := range t.Index[k*t.Outputs : (k+1)*t.Outputs] {
			highest = max(highest, at)
			back = max(back, highest-at)
		}
	}
	return int64(back)
}

// NarrowWeights returns the weights as float32 if kernels for elements of dtype d compute in it, and nil if they use Weights.
func (t *IndexWeights) NarrowWeights(d dtype.DType) []float32 {
	if d == dtype.Float64 || d == dtype.Uint8 || t.Weights == nil {
		return nil
	}
	narrow := make([]float32, len(t.Weights))
	for i, weight := range t.Weights {
		narrow[i] = float32(weight)
	}
	return narrow
}
