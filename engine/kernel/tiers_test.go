package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

// tierTables holds the kernels of every tier that the CPU supports, the baseline first.
func tierTables() []*table {
	var tables []*table
	for _, tier := range usableTiers() {
		tables = append(tables, read(tier, permitsAMX(tier)))
	}
	return tables
}

// ulps is the largest distance between results of two tiers: each is within one unit in the last place of the exact result or, for
// functions computed from others, as accurate as these allow. Kernels that are not listed are bitwise identical.
var ulps = map[string]int64{
	"exp": 1, "exp2": 1, "expm1": 1, "sigmoid": 1, "rsqrt": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1,
	"sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 1,
	"sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1,
	"erf": 1, "erfc": 1, "erfinv": 2, "pow": 1, "hypot": 1, "xlogy": 2, "xlog1py": 2, "logit": 2, "sinc": 2, "polar": 2,
	"erfcx": 1, "ndtr": 1, "log_ndtr": 1, "ndtri": 1, "entr": 1, "i0": 1, "i0e": 1, "i1": 1, "i1e": 1,
	"modified_bessel_k0": 1, "modified_bessel_k1": 1, "scaled_modified_bessel_k0": 1, "scaled_modified_bessel_k1": 1,
	"igamma": 4, "igammac": 4, "zeta": 2, "polygamma": 8, "spherical_bessel_j0": 1,
	"bessel_j0": 64, "bessel_j1": 64, "bessel_y0": 64, "bessel_y1": 64, "airy_ai": 64, // far zeros
	"lgamma": 64, "digamma": 64, "logaddexp": 64, "logaddexp2": 64, // near a zero that is no simple number
	"gelu": 1, "gelu_tanh": 1, "mish": 1, "silu": 2, "tanhshrink": 1,
	// near a zero, too
	"elu_gradient": 2, "softplus_gradient": 2, "gelu_gradient": 64, "gelu_tanh_gradient": 64, "mish_gradient": 256, "silu_gradient": 64,
	"softmax": 8, "log_softmax": 64, "softmax_gradient": 8, "log_softmax_gradient": 64, "logsumexp": 64, "logcumsumexp": 64,
}

// nonzero lists the kernels that integers equal to 0 as a divisor never reach.
var nonzero = []string{"trunc_divide", "floor_divide", "remainder", "fmod"}

// fused lists the kernels in which compilers, or double-length arithmetic, fuse the products of complex numbers if the tier has the
// instruction, so that results differ by cancellation.
var fused = []string{"scatter_mul", "lerp", "prod", "cumprod", "pow"}

// operandTypes lists the operands' dtypes of a row of dtype d and the number of outputs.
func operandTypes(k *Kernel, d dtype.DType) (types []dtype.DType, outputs int) {
	for _, letter := range k.Operands() {
		of := map[rune]dtype.DType{'b': dtype.Bool, 'i': dtype.Int32, 'l': dtype.Int64, 'f': dtype.Float32, 'd': dtype.Float64, 'R': d.ToReal(),
			'C': d.ToComplex(), 'T': d, 'X': d}
		types = append(types, of[letter])
	}
	return types, strings.IndexAny(k.Signature(), "=>")
}

// elementwise lists the elementwise kernels of a tier in order.
func (t *table) elementwiseKernels() []*Kernel {
	var kernels []*Kernel
	for _, k := range t.list() {
		if k.Operands() != "" {
			kernels = append(kernels, k)
		}
	}
	slices.SortFunc(kernels, func(a, b *Kernel) int { return strings.Compare(a.Name(), b.Name()) })
	return kernels
}

// operand is memory for n elements of a dtype, with a stride of gap elements.
type operand struct {
	dtype dtype.DType
	bytes []byte
}

// values fills in numbers that reach every branch: specials among numbers of all magnitudes.
func values(r *rand.Rand, d dtype.DType, elements int64, avoidZero bool) []byte {
	size := d.Size()
	bytes := make([]byte, max(elements*size, 1))
	put := func(at int64, part dtype.DType) {
		p := unsafe.Pointer(&bytes[at])
		switch part {
		case dtype.Float32:
			*(*float32)(p) = float32(number(r, 40))
		case dtype.Float64:
			*(*float64)(p) = number(r, 300)
		case dtype.Bool:
			bytes[at] = byte(r.IntN(2))
		default:
			for i := range part.Size() {
				bytes[at+i] = byte(r.Uint32())
			}
			if r.IntN(2) == 0 { // small numbers of either sign
				for i := range part.Size() {
					bytes[at+i] = byte(r.IntN(2)) * 255
				}
				bytes[at] ^= byte(r.IntN(8))
			}
			if avoidZero {
				bytes[at] |= 1
			}
		}
	}
	part := d
	if d.IsComplex() {
		part = d.ToReal()
	}
	for at := int64(0); at+part.Size() <= int64(len(bytes)) && elements > 0; at += part.Size() {
		put(at, part)
	}
	return bytes
}

func number(r *rand.Rand, exponents float64) float64 {
	specials := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, math.Inf(1), math.Inf(-1), math.NaN(), 1e-310, 1e-40, 2, 10}
	switch r.IntN(8) {
	case 0:
		return specials[r.IntN(len(specials))]
	case 1:
		return r.NormFloat64() * math.Pow(10, (r.Float64()-0.5)*2*exponents)
	default:
		return r.NormFloat64() * 3
	}
}

// reach is the number of positions that the index of a kernel names.
const reach = 40

// indices returns numbers some of which are valid positions and, if wrong is set, some are not.
func indices(r *rand.Rand, elements int64, wrong bool) []byte {
	bytes := make([]byte, max(elements*8, 8))
	for at := 0; at < len(bytes); at += 8 {
		i := int64(r.IntN(2*reach)) - reach
		if wrong && r.IntN(100) == 0 {
			i = int64(r.Uint64())
		}
		*(*int64)(unsafe.Pointer(&bytes[at])) = i
	}
	return bytes
}

// find returns the kernel of a name.
func (t *table) find(name string) *Kernel {
	k, _ := kernelapi.Find(name)
	return &t.kernels[k]
}

// list returns all kernels.
func (t *table) list() []*Kernel {
	var all []*Kernel
	for k := kernelapi.None + 1; k < kernelapi.Count; k++ {
		all = append(all, &t.kernels[k])
	}
	return all
}

// TestTableOfDTypesIsThatOfTheSources: what package kernelapi says of each kernel is what the compiler made of its unit.
func TestTableOfDTypesIsThatOfTheSources(t *testing.T) {
	conditional := []string{"_amx", "convolution_rows", "gemm_bytes", "bfloat16", "_stored", "_number"} // of some tiers, or CPUs
	for _, tier := range compiledTiers() {
		for _, k := range read(tier, false).list() {
			if slices.ContainsFunc(conditional, func(part string) bool { return strings.Contains(k.Name(), part) }) {
				continue
			}
			for _, d := range dtype.All {
				assert.Equal(t, k.Kernel.Has(d), k.Has(d), "%s of %v in tier %s", k.Name(), d, tier)
			}
		}
	}
}

// setParameters sets the parameters without which kernels read no valid memory.
func setParameters(l *kernelapi.Loop, k *Kernel, d dtype.DType) {
	to := unsafe.Pointer(&l.Params)
	switch {
	case k.Fixed() != 0:
		*(*[2]int64)(to) = [2]int64{d.Size(), reach}
	case k.Name() == "float8_decode":
		*(*unsafe.Pointer)(to) = dtype.Float8E4M3FN.Float8Numbers()
	case k.Name() == "float8_translate":
		*(*unsafe.Pointer)(to) = dtype.Float8E4M3FN.Float8Codes(dtype.Float8E5M2)
	case k.Name() == "float8_encode":
		*(*dtype.Float8Format)(to) = dtype.Float8E4M3FN.Float8()
	}
}

// run computes n elements over copies of the operands, with the strides in elements. It returns the memory of the outputs and the
// parameters, which hold the results of kernels without outputs.
func run(t *table, k *Kernel, d dtype.DType, operands []operand, outputs int, n int64, gaps []int64) [][]byte {
	l := &kernelapi.Loop{Row: k.Row(d), Operands: int32(len(operands)), Outputs: int32(outputs), Ndim: 1, Fixed: k.Fixed()}
	l.Sizes[0] = n
	setParameters(l, k, d)
	var pins runtime.Pinner
	defer pins.Unpin()
	var memory [][]byte
	for i, o := range operands {
		bytes := slices.Clone(o.bytes)
		memory = append(memory, bytes)
		pins.Pin(&bytes[0])
		l.Memory[i], l.Compute[i] = o.dtype, o.dtype
		l.Data[i] = uintptr(unsafe.Pointer(&bytes[0]))
		l.Strides[i][0] = gaps[i] * o.dtype.Size()
	}
	pins.Pin(l)
	Call(t.elementwise, unsafe.Pointer(l))
	return append(memory[:outputs:outputs], l.Params[:])
}

// gapsOf lists strides of the operands in elements: all adjacent, all apart, and each input constant or apart in turn.
func gapsOf(operands, outputs int) [][]int64 {
	all := func(gap int64) []int64 { return slices.Repeat([]int64{gap}, operands) }
	gaps := [][]int64{all(1), all(3)}
	for i := range operands {
		apart := all(1)
		apart[i] = 3
		gaps = append(gaps, apart)
		if i >= outputs {
			constant := all(1)
			constant[i] = 0
			gaps = append(gaps, constant)
		}
	}
	return gaps
}

// apart measures the largest distance of two lists of numbers in units in the last place; NaN equals NaN.
func apart(d dtype.DType, a, b []byte) int64 {
	if d.IsComplex() {
		d = d.ToReal()
	}
	worst := int64(0)
	for at := int64(0); at+d.Size() <= int64(len(a)); at += d.Size() {
		p, q := unsafe.Pointer(&a[at]), unsafe.Pointer(&b[at])
		distance := int64(0)
		switch d {
		case dtype.Float16:
			x, y := *(*int16)(p), *(*int16)(q)
			if x&0x7fff <= 0x7c00 || y&0x7fff <= 0x7c00 {
				distance = ordered(int64(x), math.MinInt16) - ordered(int64(y), math.MinInt16)
			}
		case dtype.BFloat16:
			x, y := *(*int16)(p), *(*int16)(q)
			if x&0x7fff <= 0x7f80 || y&0x7fff <= 0x7f80 {
				distance = ordered(int64(x), math.MinInt16) - ordered(int64(y), math.MinInt16)
			}
		case dtype.Float32:
			x, y := *(*float32)(p), *(*float32)(q)
			if x == x || y == y {
				distance = ordered(int64(int32(math.Float32bits(x))), math.MinInt32) - ordered(int64(int32(math.Float32bits(y))), math.MinInt32)
			}
		case dtype.Float64:
			x, y := *(*float64)(p), *(*float64)(q)
			if x == x || y == y {
				distance = ordered(int64(math.Float64bits(x)), math.MinInt64) - ordered(int64(math.Float64bits(y)), math.MinInt64)
			}
		default:
			if string(a[at:at+d.Size()]) != string(b[at:at+d.Size()]) {
				return math.MaxInt64
			}
		}
		worst = max(worst, distance, -distance)
	}
	return worst
}

// ordered maps the bits of a float to integers in the order of the numbers.
func ordered(bits, negative int64) int64 {
	if bits < 0 {
		return negative - bits - 1
	}
	return bits
}

// loopLengths lists numbers of elements: all up to 100 and a long one; with -short those at the boundaries of vectors of 2 to 64 elements.
func loopLengths() []int64 {
	if testing.Short() {
		return []int64{0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 70}
	}
	lengths := []int64{1001}
	for n := range int64(101) {
		lengths = append(lengths, n)
	}
	return lengths
}

// Every row of every tier agrees with the baseline's, for all lengths around the vectors' and for any strides.
func TestTiersAgree(t *testing.T) {
	tables, lengths := tierTables(), loopLengths()
	if len(tables) == 1 {
		t.Skip("the build or the machine has one tier")
	}
	for _, base := range tables[0].elementwiseKernels() {
		name := base.Name()
	rows:
		for _, d := range dtype.All {
			if !base.Has(d) || d.IsComplex() && slices.Contains(fused, name) {
				continue
			}
			types, outputs := operandTypes(base, d)
			r := rand.New(rand.NewPCG(uint64(d), uint64(len(name))))
			for i, gaps := range gapsOf(len(types), outputs) {
				for _, n := range lengths {
					if n%(int64(i)+1) != 0 && n > 20 {
						continue // some of the longer ones do for each choice of strides
					}
					var operands []operand
					for k, of := range types {
						avoid := k == 2 && slices.Contains(nonzero, name)
						o := operand{of, values(r, of, max(n*gaps[k], 1)+reach, avoid)}
						if base.Fixed() != 0 && base.Operands()[k] == 'l' {
							o.bytes = indices(r, n*gaps[k], n%7 == 3)
						}
						operands = append(operands, o)
					}
					want := run(tables[0], base, d, operands, outputs, n, gaps)
					for _, tier := range tables[1:] {
						got := run(tier, tier.find(name), d, operands, outputs, n, gaps)
						for o, of := range append(slices.Clone(types[:outputs]), dtype.Uint8) {
							distance := apart(of, want[o], got[o])
							if !assert.LessOrEqual(t, distance, ulps[name],
								fmt.Sprintf("%s of %v in tier %s: %d elements, strides %v", name, d, tier.tier, n, gaps)) {
								continue rows
							}
						}
					}
				}
			}
		}
	}
}

// eachRow calls f for every row of the baseline's kernels of a signature, with its counterpart in every other tier.
func eachRow(signature string, f func(base, tier *table, name string, d dtype.DType)) {
	tables := tierTables()
	for _, k := range tables[0].list() {
		name := k.Name()
		if k.Signature() != signature {
			continue
		}
		for _, d := range dtype.All {
			for _, tier := range tables[1:] {
				if k.Has(d) {
					f(tables[0], tier, name, d)
				}
			}
		}
	}
}

// call runs fn on args, in which data, as fill sets it, is pinned memory.
func call[Args any](fn uintptr, args Args, data [][]byte, fill func(a *Args, at []uintptr)) {
	var pins runtime.Pinner
	defer pins.Unpin()
	at := make([]uintptr, len(data))
	for i := range data {
		pins.Pin(&data[i][0])
		at[i] = uintptr(unsafe.Pointer(&data[i][0]))
	}
	a := new(Args)
	*a = args
	pins.Pin(a)
	fill(a, at)
	Call(fn, unsafe.Pointer(a))
}

// Reductions of rows and of columns, for all lengths around the vectors'.
func TestReductionsOfTiersAgree(t *testing.T) {
	eachRow("reduce", func(base, tier *table, name string, d dtype.DType) {
		if d.IsComplex() && slices.Contains(fused, name) {
			return
		}
		result := d
		if d.Category() < dtype.Floating {
			result = dtype.Int64
		}
		r := rand.New(rand.NewPCG(1, uint64(d)))
		for _, c := range [][3]int64{{1, 1, 0}, {3, 5, 0}, {2, 40, 0}, {5, 77, 0}, {2, 1000, 0}, {1, 5003, 0}, {3, 7, 1}, {70, 9, 1},
			{600, 33, 1}, {5, 801, 1}} {
			kept, reduced, columns := c[0], c[1], c[2]
			in := values(r, d, kept*reduced, false)
			compute := func(t *table) []byte {
				out := make([]byte, kept*result.Size())
				l := kernelapi.Reduction{Kept: 1, Reduced: 1, Columns: columns * kept, Memory: d, Compute: d, Count: reduced}
				l.OutMemory[0] = result
				l.KeptSizes[0], l.ReducedSizes[0], l.KeptOut[0][0] = kept, reduced, result.Size()
				l.KeptIn[0], l.ReducedIn[0] = reduced*d.Size(), d.Size()
				if columns != 0 {
					l.KeptIn[0], l.ReducedIn[0] = d.Size(), kept*d.Size()
				}
				call(t.find("reduce").rows[0], l, [][]byte{in, out}, func(l *kernelapi.Reduction, at []uintptr) {
					l.Op, l.In, l.Out[0] = t.find(name).Row(d), at[0], at[1]
				})
				return out
			}
			assert.LessOrEqual(t, apart(result, compute(base), compute(tier)), ulps[name], "%s of %v in tier %s: %v", name, d, tier.tier, c)
		}
	})
}

// Scans and softmax along the last and along another dimension.
func TestScansOfTiersAgree(t *testing.T) {
	eachRow("scan", func(base, tier *table, name string, d dtype.DType) {
		if d.IsComplex() && slices.Contains(fused, name) {
			return
		}
		r := rand.New(rand.NewPCG(2, uint64(d)))
		for _, c := range [][3]int64{{1, 1, 1}, {3, 40, 1}, {9, 101, 1}, {1, 5003, 1}, {2, 33, 3}, {1, 20, 300}} {
			if name == "logsumexp" && c[2] > 1 {
				continue // it is given contiguous rows
			}
			elements := c[0] * c[1] * c[2]
			in := values(r, d, elements, false)
			compute := func(t *table) []byte {
				out, indices := make([]byte, elements*d.Size()), make([]byte, elements*8)
				s := Scan{Outer: c[0], N: c[1], Inner: c[2], Width: c[2]}
				call(t.find(name).Row(d), s, [][]byte{in, out, indices}, func(s *Scan, at []uintptr) {
					s.In, s.With, s.Out = at[0], at[0], [2]uintptr{at[1], at[2]}
				})
				return out
			}
			assert.LessOrEqual(t, apart(d, compute(base), compute(tier)), ulps[name], "%s of %v in tier %s: %v", name, d, tier.tier, c)
		}
	})
}

// holdable returns floats that every integer dtype holds. The conversion of others depends on the CPU.
func holdable(r *rand.Rand, d dtype.DType, elements int64) []byte {
	part := d
	if d.IsComplex() {
		part = d.ToReal()
	}
	bytes := make([]byte, elements*d.Size())
	for at := int64(0); at < int64(len(bytes)); at += part.Size() {
		p, x := unsafe.Pointer(&bytes[at]), float32(r.IntN(100))+0.5
		switch part {
		case dtype.Float16:
			*(*uint16)(p) = uint16(0x3c00 + r.IntN(0x1800)) // 1 to 64
		case dtype.BFloat16:
			*(*uint16)(p) = uint16(math.Float32bits(x) >> 16)
		case dtype.Float32:
			*(*float32)(p) = x
		default:
			*(*float64)(p) = float64(x)
		}
	}
	return bytes
}

// Conversions between all dtypes, of numbers that both hold.
func TestCastsOfTiersAgree(t *testing.T) {
	tables := tierTables()
	r := rand.New(rand.NewPCG(4, 4))
	for _, from := range dtype.All {
		for _, to := range dtype.All {
			for _, gaps := range [][]int64{{1, 1}, {1, 0}, {3, 1}, {1, 3}} {
				for _, n := range []int64{0, 1, 7, 8, 33, 100, 1001} {
					in := values(r, from, max(n*gaps[1], 1), false)
					if from.Category() >= dtype.Floating && to.Category() < dtype.Floating {
						in = holdable(r, from, int64(len(in))/from.Size())
					}
					compute := func(t *table) []byte {
						out := make([]byte, max(n*gaps[0], 1)*to.Size())
						l := kernelapi.Loop{Operands: 2, Outputs: 1, Ndim: 1}
						l.Memory[0], l.Memory[1] = to, from
						l.Sizes[0], l.Strides[0][0], l.Strides[1][0] = n, gaps[0]*to.Size(), gaps[1]*from.Size()
						call(t.copy, l, [][]byte{out, in}, func(l *kernelapi.Loop, at []uintptr) { l.Data[0], l.Data[1] = at[0], at[1] })
						return out
					}
					want := compute(tables[0])
					for _, tier := range tables[1:] {
						assert.Zero(t, apart(to, want, compute(tier)), "%v to %v in tier %s: %d elements, strides %v", from, to, tier.tier, n, gaps)
					}
				}
			}
		}
	}
}

// Copies preserve the bits of every dtype, including signalling NaNs, at any address.
func TestCopiesKeepTheBits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, tier := range tierTables() {
		for _, d := range dtype.All {
			for _, gaps := range [][]int64{{1, 1}, {3, 1}, {1, 3}, {3, 2}, {1, 0}} {
				const n = 133
				in, out := make([]byte, n*3*d.Size()), make([]byte, n*3*d.Size())
				for i := range in {
					in[i] = byte(r.Uint32()) | 0x7d // many are NaN
				}
				l := kernelapi.Loop{Operands: 2, Outputs: 1, Ndim: 1}
				l.Memory[0], l.Memory[1] = d, d
				l.Sizes[0], l.Strides[0][0], l.Strides[1][0] = n, gaps[0]*d.Size(), gaps[1]*d.Size()
				call(tier.copy, l, [][]byte{out, in}, func(l *kernelapi.Loop, at []uintptr) { l.Data[0], l.Data[1] = at[0], at[1] })
				for i := range int64(n) {
					to, from := i*gaps[0]*d.Size(), i*gaps[1]*d.Size()
					assert.Equal(t, in[from:from+d.Size()], out[to:to+d.Size()], "%v in tier %s, strides %v, element %d", d, tier.tier, gaps, i)
				}
			}
		}
	}
}

func TestErrorsOfBuildsForOtherCPUsNameAnAlternative(t *testing.T) {
	assert.NoError(t, unusable([]string{"baseline", "avx2", "avx512"}, []string{"baseline"}))
	assert.NoError(t, unusable([]string{"avx2"}, []string{"baseline", "avx2", "avx512"}))
	err := unusable([]string{"avx2", "avx512"}, []string{"baseline"})
	assert.ErrorContains(t, err, "built for CPUs with avx2 or avx512, but this CPU supports baseline")
	assert.ErrorContains(t, err, "make lib")
	assert.NoError(t, Unusable())
}
