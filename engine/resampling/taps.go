// Package resampling determines the filter taps of resampled images, which all devices share.
package resampling

import (
	"math"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/dtype"
)

// Taps are the filter taps along one dimension: output element i is the sum over t < Counts[i], or t < Most without Counts, of its weight
// t times the source element at Index[t*Outputs+i]. Without weights, each output element has one filter tap of weight 1.
type Taps struct {
	Size, Outputs, Most int64
	Index, Counts       []int32
	Weights             []float64
	Unit                float64 // the common divisor of integer weights
}

// Dims is the number of dimensions of planes; images and signals have leading ones of size 1.
const Dims = 3

// Axes returns the filter taps of each dimension of a plane.
func Axes(w backend.Resampling) (axes [Dims]Taps) {
	from, to, d := w.From.Sizes(), w.To.Sizes(), w.To.DType()
	first := Dims - (len(to) - 2)
	for i := range axes {
		j := i - first
		if j < 0 {
			axes[i] = Same(1)
			continue
		}
		scale := 0.0
		if w.Scales != nil {
			scale = w.Scales[j]
		}
		size, outputs := from[j+2], to[j+2]
		if w.Transposed {
			axes[i] = Of(d, w, outputs, size, scale).Transposed()
		} else {
			axes[i] = Of(d, w, size, outputs, scale)
		}
	}
	return axes
}

// RowsFirst reports whether the rows of the source are resampled before they are summed: if it has fewer rows than the result.
func RowsFirst(d dtype.DType, axes *[Dims]Taps) bool {
	z, y := &axes[0], &axes[1]
	return d == dtype.Uint8 || (z.Weights != nil || y.Weights != nil || y.Outputs > y.Size) && z.Outputs*y.Outputs >= z.Size*y.Size
}

// Same returns the filter taps of a dimension that is not resampled.
func Same(size int64) Taps {
	t := Taps{Size: size, Outputs: size}
	t.nearest(func(i int64) int64 { return i })
	return t
}

// precision is a dtype that positions are computed in, which is that of the elements.
type precision interface{ float32 | float64 }

// small reports whether PyTorch uses its rule of nearest for small images, which differs from that for large ones, signals and volumes.
func small(w backend.Resampling) bool {
	made := w.To.Sizes()
	if w.Transposed {
		made = w.From.Sizes()
	}
	return len(made) == 4 && made[2]+made[3] <= 128
}

// Of returns the filter taps for images of a size with filter w. A scale other than 0 replaces the ratio of the sizes.
func Of(d dtype.DType, w backend.Resampling, size, outputs int64, scale float64) Taps {
	nearest := w.Filter == "nearest" || w.Filter == "nearest-exact"
	bytes := d == dtype.Uint8 && !nearest
	switch {
	case size == outputs && (bytes || w.Antialias || w.Filter == "linear"):
		return Same(size)
	case bytes:
		return located[float64](w, size, outputs, scale).integral()
	case exceeds32(size, outputs):
		return located[float64](w, size, outputs, scale)
	case nearest && small(w):
		if w.Filter == "nearest" && (outputs == size || outputs == 2*size) {
			scale = 0
		}
		return located[float32](w, size, outputs, scale)
	case d == dtype.Float64:
		return located[float64](w, size, outputs, scale)
	}
	t := located[float32](w, size, outputs, scale)
	// PyTorch has these weights of signals and volumes in the dtype of the elements.
	if d != dtype.Float32 && w.Filter == "linear" && w.To.Dim() != 4 && !w.Transposed {
		for i := range t.Outputs {
			after := rounded(d, t.Weights[t.Outputs+i])
			t.Weights[i], t.Weights[t.Outputs+i] = rounded(d, 1-after), after
		}
	}
	return t
}

// rounded returns x in a dtype of 16 bits.
func rounded(d dtype.DType, x float64) float64 {
	if d == dtype.BFloat16 {
		return float64(dtype.BFloat16ToFloat32(dtype.BFloat16FromFloat32(float32(x))))
	}
	return float64(dtype.Float16ToFloat32(dtype.Float16FromFloat32(float32(x))))
}

// mostPositions is the number of positions up to which float32 has the centers between them too.
const mostPositions = 1 << 23

// exceeds32 reports whether positions need float64.
func exceeds32(size, outputs int64) bool { return max(size, outputs) > mostPositions }

// located returns the filter taps of each output, computed in F.
func located[F precision](w backend.Resampling, size, outputs int64, scale float64) Taps {
	per := F(size) / F(outputs)
	switch {
	case w.AlignCorners && outputs == 1:
		per = 0
	case w.AlignCorners:
		per = F(size-1) / F(outputs-1)
	case scale > 0:
		per = F(1 / scale)
	}
	t := Taps{Size: size, Outputs: outputs}
	switch {
	case w.Filter == "nearest" && exceeds32(size, outputs):
		t.nearest(wholePosition(size, outputs, scale, 0))
	case w.Filter == "nearest-exact" && exceeds32(size, outputs):
		t.nearest(wholePosition(size, outputs, scale, 1))
	case w.Filter == "nearest":
		t.nearest(func(i int64) int64 { return int64(float32(F(i) * per)) })
	case w.Filter == "nearest-exact" && small(w):
		t.nearest(func(i int64) int64 { return int64(float32((F(i) + 0.5) * per)) })
	case w.Filter == "nearest-exact": // with one rounding of product and sum, as PyTorch
		t.nearest(func(i int64) int64 {
			at := F(math.FMA(float64(per), float64(F(i)+0.5), -0.5))
			return int64(float32(max(float64(at), 0) + 0.5))
		})
	case w.Antialias:
		smooth(&t, filters[w.Filter], per)
	default:
		between(&t, w.Filter == "cubic", w.AlignCorners, per)
	}
	return t
}

// wholePosition returns the source position of an output element, offset by a number of halves.
func wholePosition(size, outputs int64, scale float64, halves int64) func(i int64) int64 {
	if scale > 0 {
		return func(i int64) int64 { return int64(float64(2*i+halves) / (2 * scale)) }
	}
	return func(i int64) int64 { return (2*i + halves) * size / (2 * outputs) }
}

// nearest sets one source element for each output element, clamped to the last one.
func (t *Taps) nearest(of func(i int64) int64) {
	t.Most = 1
	t.Index = make([]int32, t.Outputs)
	for i := range t.Index {
		t.Index[i] = int32(min(of(int64(i)), t.Size-1))
	}
}

// room allocates the tables for `most` filter taps.
func (t *Taps) room(most int64) {
	t.Most = most
	t.Index, t.Weights = make([]int32, most*t.Outputs), make([]float64, most*t.Outputs)
}

// between sets two or four filter taps around each position, clamped to the range of the source.
func between[F precision](t *Taps, cubic, alignCorners bool, per F) {
	t.room(2)
	if cubic {
		t.room(4)
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
			t.put(i, 0, first, float64(1-x))
			t.put(i, 1, first+1, float64(x))
			continue
		}
		for tap, weight := range []F{outer(x + 1), inner(x), inner(1 - x), outer(2 - x)} {
			t.put(i, int64(tap), first-1+int64(tap), float64(weight))
		}
	}
}

// put sets a filter tap to an element, clamped to the range of the source.
func (t *Taps) put(i, tap, element int64, weight float64) {
	t.Index[tap*t.Outputs+i] = int32(min(max(element, 0), t.Size-1))
	t.Weights[tap*t.Outputs+i] = weight
}

// inner and outer are the convolution with cubics between elements, for distances up to 1, and from there up to 2.
func inner[F precision](x F) F { return F(F(F(1.25*x)-2.25)*x)*x + 1 }
func outer[F precision](x F) F { return F(F(F(F(-0.75*x)+3.75)*x)-6)*x + 3 }

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

// smooth sets the elements under an antialiasing filter, which is as wide as the source range of one output element.
func smooth[F precision](t *Taps, f filter, per F) {
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
	t.room(most)
	t.Counts = make([]int32, t.Outputs)
	for i := range t.Outputs {
		center, first, last := span(i)
		total := 0.0
		for e := first; e < last; e++ {
			weight := f.at(float64((F(e) - center + 0.5) / wide))
			t.put(i, e-first, e, weight)
			total += weight
		}
		t.close(i, last-first)
		for tap := range last - first {
			if total != 0 {
				t.Weights[tap*t.Outputs+i] /= total
			}
		}
	}
}

// close sets the number of filter taps of an element; the unused ones repeat the last one.
func (t *Taps) close(i, count int64) {
	t.Counts[i] = int32(count)
	for tap := max(count, 1); tap < t.Most; tap++ {
		t.Index[tap*t.Outputs+i] = t.Index[(tap-1)*t.Outputs+i]
	}
}

func (t *Taps) count(i int64) int64 {
	if t.Counts == nil {
		return t.Most
	}
	return int64(t.Counts[i])
}

// Transposed returns, for each element of the source, the outputs with a filter tap at it.
func (t Taps) Transposed() Taps {
	counts := make([]int32, t.Size)
	for i := range t.Outputs {
		for tap := range t.count(i) {
			counts[t.Index[tap*t.Outputs+i]]++
		}
	}
	most := int64(1)
	for _, n := range counts {
		most = max(most, int64(n))
	}
	r := Taps{Size: t.Outputs, Outputs: t.Size, Counts: counts}
	r.room(most)
	clear(counts)
	for i := range t.Outputs {
		for tap := range t.count(i) {
			weight := 1.0
			if t.Weights != nil {
				weight = t.Weights[tap*t.Outputs+i]
			}
			e := int64(t.Index[tap*t.Outputs+i])
			r.put(e, int64(counts[e]), i, weight)
			counts[e]++
		}
	}
	for e := range r.Outputs {
		if counts[e] == 0 && e > 0 { // indices ascend beyond it
			r.Index[e] = r.Index[(most-1)*r.Outputs+e-1]
		}
		r.close(e, int64(counts[e]))
	}
	return r
}

// integral merges filter taps at the same element, and rounds weights to multiples of a power of two, so that their products with bytes
// and the sums fit 32 bits.
func (t Taps) integral() Taps {
	r := Taps{Size: t.Size, Outputs: t.Outputs, Counts: make([]int32, t.Outputs)}
	r.room(t.Most)
	largest := 0.0
	for i := range t.Outputs {
		count := int64(0)
		for tap := range t.count(i) {
			e, weight := t.Index[tap*t.Outputs+i], t.Weights[tap*t.Outputs+i]
			if last := (count-1)*t.Outputs + i; count > 0 && r.Index[last] == e {
				r.Weights[last] += weight
				continue
			}
			r.put(i, count, int64(e), weight)
			count++
		}
		r.close(i, count)
		for tap := range count {
			largest = max(largest, r.Weights[tap*t.Outputs+i])
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

// Each returns the filter taps of n adjacent channels, in place of those of one element with n channels.
func (t Taps) Each(n int64) Taps {
	r := Taps{Size: t.Size * n, Outputs: t.Outputs * n, Most: t.Most, Unit: t.Unit, Index: make([]int32, int64(len(t.Index))*n)}
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

// Back returns the largest decrease of an index from one output element to a later one, for the same filter tap.
func (t *Taps) Back() int64 {
	back := int32(0)
	for tap := range t.Most {
		highest := int32(0)
		for _, at := range t.Index[tap*t.Outputs : (tap+1)*t.Outputs] {
			highest = max(highest, at)
			back = max(back, highest-at)
		}
	}
	return int64(back)
}
