package format_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/format"
)

// array is a contiguous tensor read from JSON. Numbers are strings as Python prints them, complex ones pairs.
type array struct {
	Name   string
	Type   string  `json:"dtype"`
	Dims   []int64 `json:"sizes"`
	Values []any
}

func (a array) DType() dtype.DType {
	d, ok := dtype.Parse(a.Type)
	if !ok {
		panic("no dtype " + a.Type)
	}
	return d
}

func (a array) Sizes() []int64 { return a.Dims }

func (a array) At(index []int64) dtype.Scalar {
	flat := int64(0)
	for i, x := range index {
		flat = flat*a.Dims[i] + x
	}
	return a.element(flat)
}

func (a array) element(i int64) dtype.Scalar {
	d := a.DType()
	switch {
	case d.IsComplex():
		parts := a.Values[i].([]any)
		return dtype.ComplexScalar(complex(number(parts[0]), number(parts[1])))
	case d.IsFloatingPoint():
		return dtype.FloatScalar(number(a.Values[i]))
	}
	v, err := strconv.ParseInt(a.Values[i].(string), 10, 64)
	if err != nil {
		panic(err)
	}
	if d == dtype.Bool {
		return dtype.BoolScalar(v != 0)
	}
	return dtype.IntScalar(v)
}

func number(v any) float64 {
	f, err := strconv.ParseFloat(v.(string), 64)
	if err != nil {
		panic(err)
	}
	return f
}

type attributes struct {
	Meta         bool
	Device       string
	Layout       string
	GradFn       string `json:"grad_fn"`
	RequiresGrad bool   `json:"requires_grad"`
}

func (a attributes) format() format.Attributes {
	return format.Attributes{
		Device: a.Device, Meta: a.Meta, Layout: a.Layout, GradFn: a.GradFn, RequiresGrad: a.RequiresGrad,
	}
}

// settings are set_printoptions' arguments.
type settings struct {
	Profile   string
	Precision *int
	Threshold *int64
	EdgeItems *int64
	LineWidth *int
	SciMode   *bool `json:"sci_mode"`
}

func (s settings) options(t *testing.T) format.Options {
	o := format.Default()
	if s.Profile != "" {
		var err error
		o, err = format.Profile(s.Profile)
		require.NoError(t, err)
	}
	if s.Precision != nil {
		o.Precision = *s.Precision
	}
	if s.Threshold != nil {
		o.Threshold = *s.Threshold
	}
	if s.EdgeItems != nil {
		o.EdgeItems = *s.EdgeItems
	}
	if s.LineWidth != nil {
		o.LineWidth = *s.LineWidth
	}
	o.SciMode = s.SciMode
	return o
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, into))
}

// The tables hold the output of PyTorch 2.15.
func TestTensors(t *testing.T) {
	var rows []struct {
		array
		attributes
		Options settings
		Repr    string
	}
	load(t, "tensors.json", &rows)
	require.NotEmpty(t, rows)
	for i, row := range rows {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			assert.Equal(t, row.Repr, format.Tensor(row.array, row.format(), row.Options.options(t)))
		})
	}
}

func TestSparse(t *testing.T) {
	var file struct {
		Sparse []struct {
			attributes
			Sizes   []int64
			Parts   []array
			NNZ     int64
			Options settings
			Repr    string
		}
	}
	load(t, "others.json", &file)
	require.NotEmpty(t, file.Sparse)
	for _, row := range file.Sparse {
		var parts []format.Part
		for _, p := range row.Parts {
			parts = append(parts, format.Part{Name: p.Name, Source: p})
		}
		got := format.Sparse(parts, row.Sizes, row.NNZ, row.attributes.format(), row.Options.options(t))
		assert.Equal(t, row.Repr, got)
	}
}

func TestStorages(t *testing.T) {
	var file struct {
		Storages []struct {
			array
			Typed   string
			Untyped *string
			Bytes   []int
		}
	}
	load(t, "others.json", &file)
	require.NotEmpty(t, file.Storages)
	for _, row := range file.Storages {
		n := int64(len(row.Values))
		// The elements print as recorded; the line about them has the legacy class.
		elements, _, _ := strings.Cut(row.Typed, "[torch.storage")
		printed := format.TypedStorage(row.DType(), n, "cpu", row.element)
		assert.Equal(t, elements, printed[:strings.LastIndex(printed, "[")])
		assert.Regexp(t, fmt.Sprintf(`\[torch\.\w+Storage of size %d\]$`, n), printed)
		if row.Untyped != nil {
			data := make([]byte, len(row.Bytes))
			for i, b := range row.Bytes {
				data[i] = byte(b)
			}
			assert.Equal(t, *row.Untyped, format.UntypedStorage(int64(len(data)), "cpu", func(i int64) dtype.Scalar {
				return dtype.IntScalar(int64(data[i]))
			}))
		}
	}
	assert.Equal(t, "...\n[torch.storage.TypedStorage(dtype=torch.float32, device=meta) of size 2]",
		format.TypedStorage(dtype.Float32, 2, "meta", nil))
	assert.Equal(t, "...\n[torch.storage.UntypedStorage(device=meta) of size 8]", format.UntypedStorage(8, "meta", nil))
	assert.Equal(t, " 4.0\n 1.0\n[torch.FloatStorage of size 2]",
		format.TypedStorage(dtype.Float32, 2, "cpu", func(i int64) dtype.Scalar { return dtype.FloatScalar(4 - 3*float64(i)) }))
}

func TestAttributes(t *testing.T) {
	ones := array{Type: "float32", Dims: []int64{2}, Values: []any{"1.0", "1.0"}}
	for want, a := range map[string]format.Attributes{
		"tensor([1., 1.])":                                    {},
		"tensor([1., 1.], device='cuda:1')":                   {Device: "cuda:1"},
		"tensor([1., 1.], names=('N',))":                      {Names: []string{"N"}},
		"tensor([1., 1.], requires_grad=True, names=(None,))": {RequiresGrad: true, Names: []string{""}},
		"tensor([1., 1.], grad_fn=<AddBackward0>)":            {GradFn: "AddBackward0", RequiresGrad: true},
	} {
		assert.Equal(t, want, format.Tensor(ones, a, format.Default()))
	}
}

func TestDefaultDTypeIsImplied(t *testing.T) {
	defer dtype.SetDefault(dtype.Default())
	require.True(t, dtype.SetDefault(dtype.Float64))
	for want, d := range map[string]string{
		"tensor([1.])":                      "float64",
		"tensor([1.], dtype=torch.float32)": "float32",
	} {
		source := array{Type: d, Dims: []int64{1}, Values: []any{"1.0"}}
		assert.Equal(t, want, format.Tensor(source, format.Attributes{}, format.Default()))
	}
	i := []any{[]any{"0.0", "1.0"}}
	for want, d := range map[string]string{
		"tensor([0.+1.j])":                        "complex128",
		"tensor([0.+1.j], dtype=torch.complex64)": "complex64",
	} {
		source := array{Type: d, Dims: []int64{1}, Values: i}
		assert.Equal(t, want, format.Tensor(source, format.Attributes{}, format.Default()))
	}
}

func TestProfiles(t *testing.T) {
	full, err := format.Profile("full")
	require.NoError(t, err)
	assert.Equal(t, int64(math.MaxInt64), full.Threshold)
	_, err = format.Profile("tiny")
	assert.ErrorContains(t, err, `got "tiny"`)
}

func ExampleSize() {
	fmt.Println(format.Size([]int64{}), format.Size([]int64{3}), format.Size([]int64{2, 3}))
	// Output: () (3,) (2, 3)
}
