package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/dtype"
)

// The Go loops for a few elements and the C++ kernels return bitwise identical results.
func TestTinyLoopsMatchRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for k, loops := range tinyKernels {
		name := k.Name()
		for _, d := range dtype.All {
			if loops[d.Row()] == nil {
				continue
			}
			size := uintptr(d.Size())
			for n := range int64(TinyLimit + 1) {
				for _, gaps := range [][]int64{{1, 1, 1}, {1, 0, 1}, {1, 1, 0}, {1, 0, 0}} {
					operands := []operand{{d, values(r, d, n, false)}, {d, values(r, d, max(n, 1), false)}, {d, values(r, d, max(n, 1), false)}}
					out := slices.Clone(operands[0].bytes)
					loops[d.Row()](unsafe.Pointer(&out[0]), unsafe.Pointer(&operands[1].bytes[0]), unsafe.Pointer(&operands[2].bytes[0]),
						size*uintptr(gaps[0]), size*uintptr(gaps[1]), size*uintptr(gaps[2]), n)
					for _, tier := range tierTables() {
						want := run(tier, tier.find(name), d, operands, 1, n, gaps)[0]
						assert.Zero(t, apart(d, want, out), "%s of %v in tier %s: %d elements, strides %v", name, d, tier.tier, n, gaps)
					}
				}
			}
		}
	}
}

// evaluate computes a kernel of float64 in a tier for one set of inputs, in every position of a vector.
func evaluate(t *testing.T, tier *table, k *Kernel, inputs ...float64) float64 {
	t.Helper()
	const n = 19
	types, outputs := operandTypes(k, dtype.Float64)
	operands := []operand{{types[0], make([]byte, n*8)}}
	gaps := []int64{1}
	for _, x := range inputs {
		bytes := make([]byte, n*8)
		for i := range n {
			*(*float64)(unsafe.Pointer(&bytes[8*i])) = x
		}
		operands, gaps = append(operands, operand{dtype.Float64, bytes}), append(gaps, 1)
	}
	out := run(tier, k, dtype.Float64, operands, outputs, n, gaps)[0]
	first := *(*float64)(unsafe.Pointer(&out[0]))
	for i := range n {
		x := *(*float64)(unsafe.Pointer(&out[8*i]))
		assert.Equal(t, math.Float64bits(first), math.Float64bits(x), "%s of %v in tier %s differs at position %d", k.Name(), inputs, tier.tier,
			i)
	}
	return first
}

// NaN operands propagate, except in kernels that test for NaN, that ignore an operand, or that sum over a number of terms from their
// parameters, which is 0 here; polynomials of degree 0, and constant derivatives, also ignore NaN.
func TestNaNPropagates(t *testing.T) {
	answers := []string{"fmax", "fmin", "nan_to_num", "hypot", "pow", "copysign", "sign", "heaviside", "relu", "nextafter_bits", "mvlgamma",
		"prelu", "closed_gradient", "open_gradient", "hardswish_gradient"}
	for _, tier := range tierTables() {
		for _, k := range tier.list() {
			name := k.Name()
			inputs := strings.TrimPrefix(k.Signature(), "T>")
			if !k.Has(dtype.Float64) || inputs == k.Signature() || strings.Trim(inputs, "T") != "" || slices.Contains(answers, name) ||
				strings.Contains(name, "_polynomial_") {
				continue
			}
			for at := range inputs {
				values := slices.Repeat([]float64{0.75}, len(inputs))
				values[at] = math.NaN()
				got := evaluate(t, tier, k, values...)
				assert.True(t, math.IsNaN(got), "%s%v in tier %s is %v", name, values, tier.tier, got)
			}
		}
	}
}

// The set of arguments with finite results does not depend on the tier: neither at the ends of the range, where the parts of products
// without FMA overflow, nor at the largest numbers with finite exponentials.
func TestTiersAgreeOnFiniteResults(t *testing.T) {
	edges := []float64{math.MaxFloat64, 0x1.fffffffffffffp+1022, 0x1.fffffff8p+1023, 0x1.ffffffp+1023, 1.3442e300, 1e300, 0x1p513,
		0x1.fffffffffffffp+511, 0x1p500,
		745, 709.7, 709, 699.9, 691.5, 0x1p27, 0x1p-27, 1e-300, 2.2486e-308, 0x1p-1022, 0x1.8p-1023, 5e-324}
	tables := tierTables()
	for _, k := range tables[0].list() {
		name := k.Name()
		inputs := strings.TrimPrefix(k.Signature(), "T>")
		if !k.Has(dtype.Float64) || inputs != "T" && inputs != "TT" {
			continue
		}
		for _, x := range edges {
			for _, y := range edges {
				for _, sign := range []float64{1, -1} {
					given := []float64{sign * x, y}[:len(inputs)]
					want := evaluate(t, tables[0], k, given...)
					for _, tier := range tables[1:] {
						got := evaluate(t, tier, tier.find(name), given...)
						same := got == want || math.IsNaN(got) && math.IsNaN(want) || math.Abs(got-want) <= 1e-11*math.Abs(want)+1e-307
						assert.True(t, same, "%s%v is %v in tier %s and %v in tier %s", name, given, want, tables[0].tier, got, tier.tier)
					}
				}
				if len(inputs) == 1 {
					break
				}
			}
		}
	}
}

// Infinities and the sign of zero, as IEEE 754 and C's Annex F have them.
func TestSpecialValues(t *testing.T) {
	zero, inf := math.Copysign(0, -1), math.Inf(1)
	odd := []string{"neg", "abs", "sqrt", "sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "expm1", "log1p", "erf", "erfinv",
		"floor", "ceil", "trunc", "round"}
	type known struct {
		name   string
		inputs []float64
		want   float64
	}
	cases := []known{
		{"add", []float64{zero, zero}, zero}, {"add", []float64{zero, 0}, 0}, {"add", []float64{inf, -inf}, math.NaN()},
		{"sub", []float64{zero, 0}, zero}, {"mul", []float64{zero, 3}, zero}, {"mul", []float64{0, inf}, math.NaN()},
		{"div", []float64{1, zero}, -inf}, {"div", []float64{0, 0}, math.NaN()}, {"div", []float64{3, -inf}, zero},
		{"reciprocal", []float64{zero}, -inf}, {"rsqrt", []float64{0}, inf},
		{"rsqrt", []float64{math.MaxFloat64}, 0x1p-512}, {"rsqrt", []float64{0x1p-1074}, 0x1p537},
		{"rsqrt", []float64{0x1.0000000000003p-1022}, 0x1.ffffffffffffdp+510},
		{"exp", []float64{inf}, inf}, {"exp", []float64{-inf}, 0}, {"exp", []float64{zero}, 1}, {"expm1", []float64{-inf}, -1},
		{"log", []float64{0}, -inf}, {"log", []float64{-1}, math.NaN()}, {"log", []float64{inf}, inf}, {"log1p", []float64{-1}, -inf},
		{"sin", []float64{inf}, math.NaN()}, {"tanh", []float64{inf}, 1}, {"atan", []float64{-inf}, -math.Pi / 2},
		{"acosh", []float64{0.5}, math.NaN()}, {"atanh", []float64{1}, inf}, {"sigmoid", []float64{-inf}, 0}, {"sigmoid", []float64{inf}, 1},
		{"erf", []float64{inf}, 1}, {"erfc", []float64{-inf}, 2}, {"erfinv", []float64{1}, inf}, {"erfinv", []float64{2}, math.NaN()},
		{"lgamma", []float64{0}, inf}, {"lgamma", []float64{inf}, inf}, {"digamma", []float64{0}, -inf}, {"digamma", []float64{-1}, math.NaN()},
		{"pow", []float64{math.NaN(), 0}, 1}, {"pow", []float64{1, math.NaN()}, 1}, {"pow", []float64{zero, 3}, zero},
		{"hypot", []float64{inf, math.NaN()}, inf}, {"atan2", []float64{zero, -1}, -math.Pi}, {"atan2", []float64{0, -1}, math.Pi},
		{"maximum", []float64{inf, 1}, inf}, {"fmax", []float64{math.NaN(), 1}, 1}, {"fmod", []float64{zero, 3}, zero},
		{"fmod", []float64{5, inf}, 5},
		{"copysign", []float64{3, zero}, -3},
		{"erfinv", []float64{0.5}, 0.47693627620446987}, {"erfinv", []float64{-0x1.fffffffffffffp-1}, -5.8635847487551676},
		{"sinc", []float64{zero}, 1}, {"sinc", []float64{1e-310}, 1}, {"sinc", []float64{0.5}, 2 / math.Pi}, {"sinc", []float64{0x1p60}, 0},
		{"sinc", []float64{inf}, math.NaN()},
		{"xlogy", []float64{0, 0}, 0}, {"xlogy", []float64{0, math.NaN()}, math.NaN()}, {"xlogy", []float64{2, inf}, inf},
		{"xlogy", []float64{2, 0}, -inf}, {"xlogy", []float64{2, -1}, math.NaN()},
		{"xlogy", []float64{1e308, 9}, inf}, {"xlog1py", []float64{2, -1}, -inf}, {"xlog1py", []float64{2, 1e-310}, 2e-310},
		{"xlog1py", []float64{inf, zero}, math.NaN()},
		{"logaddexp", []float64{-inf, -inf}, -inf}, {"logaddexp", []float64{inf, -inf}, inf}, {"logaddexp", []float64{3, -inf}, 3},
		{"logaddexp", []float64{0, -1e308}, 0},
		{"logaddexp", []float64{0, -735}, math.Exp(-735)}, {"logaddexp2", []float64{-1, -1}, 0}, {"logaddexp2", []float64{inf, inf}, inf},
	}
	// logit reads a limit, which its parameters, all 0, set to [0, 1].
	cases = append(cases, known{"logit", []float64{0.5}, 0}, known{"logit", []float64{0}, -inf}, known{"logit", []float64{1}, inf},
		known{"logit", []float64{0x1p-1074}, -0x1.74385446d71c3p+9})
	for _, name := range odd {
		want := zero
		if name == "neg" || name == "abs" {
			want = 0
		}
		cases = append(cases, known{name, []float64{zero}, want})
	}
	for _, tier := range tierTables() {
		for _, c := range cases {
			got := evaluate(t, tier, tier.find(c.name), c.inputs...)
			same := math.Float64bits(got) == math.Float64bits(c.want) || math.IsNaN(got) && math.IsNaN(c.want)
			assert.True(t, same, "%s%v in tier %s is %v, not %v", c.name, c.inputs, tier.tier, got, c.want)
		}
	}
}
