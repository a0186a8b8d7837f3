package ops_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// outProfiles are operands for calls with outputs.
var outProfiles = []profile{
	{dtype.Float32, []int64{3, 3}, nil, uneven},
	{dtype.Float64, []int64{3, 3, 3}, []int64{2, 0, 1}, uneven},
	{dtype.Float16, []int64{4, 2}, []int64{1, 0}, uneven},
	{dtype.Int64, []int64{3}, nil, uneven},
	{dtype.Complex64, []int64{2, 2}, []int64{1, 0}, uneven},
	{dtype.Bool, []int64{3, 3}, nil, uneven},
	{dtype.Float64, []int64{5}, nil, uneven},
	{dtype.Float32, []int64{}, nil, onesLike},
	{dtype.Float32, []int64{2, 3, 2, 2}, []int64{0, 2, 3, 1}, uneven},
}

// uneven values are in (0, 1], all different.
func uneven(i int) float64 { return float64((i*7)%29+1) / 32 }

// copied is the memory of a tensor's storage.
func copied(x *tensor.Tensor) []byte { return bytes.Clone(x.Storage().Bytes()) }

// inNoise makes a tensor of sizes with strides and an offset in a storage of noise that is larger by a margin.
func inNoise(t *testing.T, like *tensor.Tensor, d dtype.DType, spread, offset int64) *tensor.Tensor {
	strides := make([]int64, like.Dim())
	step := spread
	for i, s := range like.Sizes() { // the first dimension is the fastest
		strides[i] = step
		step *= max(s, 1) + 1
	}
	noise, err := tensor.Empty("test", []int64{step*2 + offset + 8}, d, device.Host)
	require.NoError(t, err)
	t.Cleanup(noise.Release)
	for i, b := 0, noise.Storage().Bytes(); i < len(b); i++ {
		b[i] = byte(i*13+1) & 1 // bools are 0 or 1
	}
	x, err := noise.View("test", like.Sizes(), strides, offset)
	require.NoError(t, err)
	t.Cleanup(x.Release)
	return x
}

// outside returns the bytes of x's storage that are not x's elements.
func outside(x *tensor.Tensor) []byte {
	b := copied(x)
	size := x.DType().Size()
	visitElements(x, func(at int64) { clear(b[at*size : (at+1)*size]) })
	return b
}

// visitElements calls f with the storage position of every element.
func visitElements(x *tensor.Tensor, f func(at int64)) {
	index := make([]int64, x.Dim())
	for range x.Numel() {
		at := x.Offset()
		for d, i := range index {
			at += i * x.Strides()[d]
		}
		f(at)
		for d := x.Dim() - 1; d >= 0; d-- {
			if index[d]++; index[d] < x.Sizes()[d] {
				break
			}
			index[d] = 0
		}
	}
}

// elementsOf are a tensor's elements as text, in row-major order.
func elementsOf(x *tensor.Tensor) string {
	var b bytes.Buffer
	fmt.Fprint(&b, x.Sizes())
	size := uintptr(x.DType().Size())
	visitElements(x, func(at int64) {
		fmt.Fprint(&b, " ", tensor.Get(unsafe.Add(x.Storage().Data(), uintptr(at)*size), x.DType()))
	})
	return b.String()
}

// outCase makes the outputs of a call from its fresh results; nil means that the case does not fit.
type outCase struct {
	name string
	make func(t *testing.T, c call, results []*tensor.Tensor) []*tensor.Tensor
}

// firstOut puts an output in the first place and fresh ones elsewhere.
func firstOut(t *testing.T, first *tensor.Tensor, results []*tensor.Tensor) []*tensor.Tensor {
	if first == nil {
		return nil
	}
	outs := []*tensor.Tensor{first}
	for _, r := range results[1:] {
		outs = append(outs, inNoise(t, r, r.DType(), 1, 0))
	}
	return outs
}

// operandsOf lists the tensors among the arguments.
func operandsOf(c call) []*tensor.Tensor { return tensorsOf(c.args[c.outs:]...) }

var outCases = []outCase{
	{"out with gaps", func(t *testing.T, _ call, results []*tensor.Tensor) (outs []*tensor.Tensor) {
		for _, r := range results {
			outs = append(outs, inNoise(t, r, r.DType(), 2, 3))
		}
		return outs
	}},
	{"empty out", func(t *testing.T, _ call, results []*tensor.Tensor) (outs []*tensor.Tensor) {
		for _, r := range results {
			e, err := tensor.Empty("test", []int64{0}, r.DType(), device.Host)
			require.NoError(t, err)
			t.Cleanup(e.Release)
			outs = append(outs, e)
		}
		return outs
	}},
	{"out of another shape", func(t *testing.T, _ call, results []*tensor.Tensor) (outs []*tensor.Tensor) {
		for _, r := range results {
			outs = append(outs, given(t, r.DType(), []int64{7}, 1, 0, 1, 1, 0, 1, 0))
		}
		return outs
	}},
	{"int32 out", func(t *testing.T, _ call, results []*tensor.Tensor) []*tensor.Tensor {
		return firstOut(t, inNoise(t, results[0], dtype.Int32, 1, 0), results)
	}},
	{"float64 out", func(t *testing.T, _ call, results []*tensor.Tensor) []*tensor.Tensor {
		return firstOut(t, inNoise(t, results[0], dtype.Float64, 1, 0), results)
	}},
	{"self-overlapping out", func(t *testing.T, _ call, results []*tensor.Tensor) []*tensor.Tensor {
		r := results[0]
		if r.Numel() < 2 {
			return nil
		}
		x, err := given(t, r.DType(), nil, 1).View("test", r.Sizes(), make([]int64, r.Dim()), 0)
		require.NoError(t, err)
		t.Cleanup(x.Release)
		return firstOut(t, x, results)
	}},
	{"outs that share memory", func(t *testing.T, _ call, results []*tensor.Tensor) []*tensor.Tensor {
		if len(results) < 2 || results[1].Numel() == 0 {
			return nil
		}
		x := inNoise(t, results[0], results[0].DType(), 8, 0)
		y, err := tensor.New("test", x.Storage(), results[1].DType(), results[1].Sizes(), shape.ContiguousStrides(results[1].Sizes()), 0)
		require.NoError(t, err)
		t.Cleanup(y.Release)
		return []*tensor.Tensor{x, y}
	}},
	{"outs that are one", func(t *testing.T, _ call, results []*tensor.Tensor) []*tensor.Tensor {
		if len(results) < 2 || results[0].DType() != results[1].DType() {
			return nil
		}
		x := inNoise(t, results[0], results[0].DType(), 1, 0)
		return []*tensor.Tensor{x, x}
	}},
}

// sharing are cases with an out that shares memory with the n-th operand.
func sharing(n int) []outCase {
	operand := func(c call, results []*tensor.Tensor) *tensor.Tensor {
		list := operandsOf(c)
		if n >= len(list) || list[n].DType() != results[0].DType() {
			return nil
		}
		return list[n]
	}
	return []outCase{
		{fmt.Sprint("out is operand ", n), func(t *testing.T, c call, results []*tensor.Tensor) []*tensor.Tensor {
			return firstOut(t, operand(c, results), results)
		}},
		{fmt.Sprint("out begins where operand ", n, " does"), func(t *testing.T, c call, results []*tensor.Tensor) []*tensor.Tensor {
			x := operand(c, results)
			if x == nil {
				return nil
			}
			v, err := x.View("test", []int64{min(1, x.Numel())}, []int64{1}, x.Offset())
			require.NoError(t, err)
			t.Cleanup(v.Release)
			return firstOut(t, v, results)
		}},
		{fmt.Sprint("out without elements after the first of operand ", n),
			func(t *testing.T, c call, results []*tensor.Tensor) []*tensor.Tensor {
				x := operand(c, results)
				if x == nil || x.Numel() < 2 {
					return nil
				}
				v, err := x.View("test", []int64{0}, []int64{1}, x.Offset()+1)
				require.NoError(t, err)
				t.Cleanup(v.Release)
				return firstOut(t, v, results)
			}},
		{fmt.Sprint("out runs the other way through operand ", n), func(t *testing.T, c call, results []*tensor.Tensor) []*tensor.Tensor {
			x, r := operand(c, results), results[0]
			if x == nil || r.Numel() > x.Storage().Nbytes()/x.DType().Size() || r.Numel() == 0 {
				return nil
			}
			strides, step := make([]int64, r.Dim()), int64(1)
			for i, s := range r.Sizes() {
				strides[i] = step
				step *= s
			}
			v, err := x.View("test", r.Sizes(), strides, 0)
			require.NoError(t, err)
			t.Cleanup(v.Release)
			return firstOut(t, v, results)
		}},
	}
}

func tensorsAmong(results []reflect.Value) (list []*tensor.Tensor) {
	for _, r := range results {
		if x, ok := r.Interface().(*tensor.Tensor); ok {
			list = append(list, x)
		}
	}
	return list
}

// Every operator writes its whole result to out and nothing else, or returns an error and writes nothing.
func TestOutputsAreWrittenWhollyOrNotAtAll(t *testing.T) {
	cases := slices.Concat(outCases, sharing(0))
	if !testing.Short() {
		cases = slices.Concat(cases, sharing(1), sharing(2))
	}
	for _, o := range everyOperator(t) {
		if !o.Has("out") || o.Category == "random" || o.Name == "empty" {
			continue
		}
		for _, p := range outProfiles {
			for _, oc := range cases {
				checkOut(t, o, p, oc)
			}
		}
	}
}

func checkOut(t *testing.T, o *schema.Operator, p profile, oc outCase) {
	fresh, ok := p.call(t, o)
	if !ok {
		return
	}
	what := fmt.Sprintf("%v of %v, %s", o.CName(), p, oc.name)
	results, err := fresh.run()
	if err != nil || len(tensorsAmong(results)) != fresh.outs {
		require.NotEqual(t, status.Internal, codeOf(err), what)
		releaseResults(results)
		return
	}
	defer releaseResults(results)
	want := tensorsAmong(results)
	c, _ := p.call(t, o)
	outs := oc.make(t, c, want)
	if outs == nil {
		return
	}
	var before, around [][]byte
	var shapes []string
	for i, out := range outs {
		c.args[i] = reflect.ValueOf(out)
		before, around = append(before, copied(out)), append(around, outside(out))
		shapes = append(shapes, fmt.Sprint(out.Sizes(), out.Strides()))
	}
	_, err = c.run()
	if !assert.NotEqual(t, status.Internal, codeOf(err), "%s: %v", what, err) {
		return
	}
	for i, out := range outs {
		if err != nil {
			n := min(len(before[i]), len(copied(out)))
			assert.Equal(t, before[i][:n], copied(out)[:n], "%s: rejected (%v), but written", what, err)
			assert.Equal(t, shapes[i], fmt.Sprint(out.Sizes(), out.Strides()), "%s: rejected (%v), but resized", what, err)
			continue
		}
		converted := out.DType() != want[i].DType()
		if !converted && p.d != dtype.Float16 || converted && out.DType().IsFloatingPoint() && want[i].DType().Category() <= dtype.Integral {
			if !assert.Equal(t, valuesAs(t, want[i], out.DType()), elementsOf(out), what) {
				return
			}
		}
		if fmt.Sprint(out.Sizes(), out.Strides()) == shapes[i] {
			assert.Equal(t, around[i], outside(out), "%s: wrote beside out", what)
		}
	}
}

// valuesAs are the values after a cast.
func valuesAs(t *testing.T, x *tensor.Tensor, d dtype.DType) string {
	y, err := ops.CastTo("test", x, d)
	require.NoError(t, err)
	defer y.Release()
	return elementsOf(y)
}
