package kernel

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

type floating interface{ float32 | float64 }

// runWith computes a row over adjacent elements, with one parameter of its dtype.
func runWith[T floating](tier *table, name string, d dtype.DType, parameter T, inputs ...[]T) []T {
	out := make([]T, len(inputs[0]))
	l := &kernelapi.Loop{Row: tier.find(name).Row(d), Operands: int32(len(inputs) + 1), Outputs: 1, Ndim: 1}
	l.Sizes[0] = int64(len(out))
	*(*T)(unsafe.Pointer(&l.Params)) = parameter
	var pins runtime.Pinner
	defer pins.Unpin()
	for i, values := range append([][]T{out}, inputs...) {
		pins.Pin(&values[0])
		l.Memory[i], l.Compute[i] = d, d
		l.Data[i], l.Strides[i][0] = uintptr(unsafe.Pointer(&values[0])), d.Size()
	}
	pins.Pin(l)
	Call(tier.elementwise, unsafe.Pointer(l))
	return out
}

// fusedSum is a b + c, rounded once.
func fusedSum[T floating](a, b, c T) T {
	exact := func(x T) *big.Float { return new(big.Float).SetPrec(5000).SetFloat64(float64(x)) }
	sum := new(big.Float).SetPrec(5000).Mul(exact(a), exact(b))
	sum.Add(sum, exact(c))
	if unsafe.Sizeof(a) == 4 {
		r, _ := sum.Float32()
		return T(r)
	}
	r, _ := sum.Float64()
	return T(r)
}

// A fused multiply-add is rounded once, in every tier and at every position of a vector, even if the sum brings an out-of-range product, or
// its lost digits, back into range.
func testFused[T floating](t *testing.T, d dtype.DType, exponents int) {
	r := rand.New(rand.NewPCG(3, uint64(d)))
	number := func() T { return T(math.Ldexp(r.NormFloat64(), r.IntN(2*exponents)-exponents)) }
	for _, tier := range tierTables() {
		for _, n := range []int{1, 2, 3, 5, 15, 16, 17, 33, 100, 1001} {
			for _, alpha := range []T{1, -2, 0.3, number()} {
				a, b, c := make([]T, n), make([]T, n), make([]T, n)
				for i := range n {
					a[i], b[i], c[i] = number(), number(), number()
				}
				for i := 0; i < n; i += 2 { // cancels in sums
					a[i] = -alpha * b[i]
					if p := -b[i] * c[i]; alpha == 1 && r.IntN(2) == 0 && !math.IsInf(float64(p), 0) {
						a[i] = p
					}
				}
				scaled, multiplied := runWith(tier, "add_scaled", d, alpha, a, b), runWith(tier, "addcmul", d, 1, a, b, c)
				between := runWith(tier, "lerp", d, 0, a, b, c)
				for i := range n {
					at := fmt.Sprintf("%v in tier %s: element %d of %d, %v %v %v %v", d, tier.tier, i, n, alpha, a[i], b[i], c[i])
					ok := assert.Equal(t, fusedSum(alpha, b[i], a[i]), scaled[i], "add_scaled of "+at)
					ok = assert.Equal(t, fusedSum(b[i], c[i], a[i]), multiplied[i], "addcmul of "+at) && ok
					if way := b[i] - a[i]; !math.IsInf(float64(way), 0) {
						want := fusedSum(c[i], way, a[i])
						if c[i] >= 0.5 || c[i] <= -0.5 {
							want = fusedSum(c[i]-1, way, b[i])
						}
						ok = assert.Equal(t, want, between[i], "lerp of "+at) && ok
					}
					if !ok {
						return
					}
				}
			}
		}
	}
}

func TestSumsWithProductsRoundOnce(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testFused[float32](t, dtype.Float32, 120) })
	t.Run("float64", func(t *testing.T) { testFused[float64](t, dtype.Float64, 500) })
}

// addcmul with a value has the digits that the value's product loses.
func TestAddcmulAddsRoundingErrors(t *testing.T) {
	for _, tier := range tierTables() {
		const n = 37
		a, b, c := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			b[i], c[i] = 1+float64(i)/7, 1-float64(i)/300
			a[i] = -(0.3 * b[i]) * c[i]
		}
		got := runWith(tier, "addcmul", dtype.Float64, 0.3, a, b, c)
		for i := range n {
			exact := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
			want := exact(0.3)
			want.Mul(want, exact(b[i])).Mul(want, exact(c[i])).Add(want, exact(a[i]))
			w, _ := want.Float64()
			assert.InDelta(t, w, got[i], math.Abs(w)*1e-12+1e-31, "tier %s, element %d", tier.tier, i)
		}
	}
}
