package program

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

const folder = "../../../engine/program/testdata"

func load(t *testing.T, name string) *Program {
	t.Helper()
	p, err := Load(filepath.Join(folder, name+".pt2"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// leaves appends the tensors and numbers of a description in cases.json.
func leaves(t *testing.T, value any, to []any) []any {
	t.Helper()
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			to = leaves(t, item, to)
		}
	case map[string]any:
		if _, ok := v["dtype"]; ok {
			return append(to, tensorOf(t, v))
		}
		t.Fatal("the order of an object is unknown")
	case float64:
		to = append(to, int64(v))
	default:
		to = append(to, v)
	}
	return to
}

func numbers(value any) (all []float64) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			all = append(all, numbers(item)...)
		}
	case float64:
		all = append(all, v)
	case bool:
		all = append(all, map[bool]float64{true: 1}[v])
	}
	return all
}

func converted[T int64 | float32 | float64](values []float64) []T {
	made := make([]T, len(values))
	for i, v := range values {
		made[i] = T(v)
	}
	return made
}

func tensorOf(t *testing.T, v map[string]any) *Tensor {
	t.Helper()
	var sizes []int64
	for _, n := range v["shape"].([]any) {
		sizes = append(sizes, int64(n.(float64)))
	}
	var made *Tensor
	var err error
	switch v["dtype"] {
	case "float32":
		made, err = NewTensor(converted[float32](numbers(v["values"])), sizes...)
	case "float64":
		made, err = NewTensor(numbers(v["values"]), sizes...)
	case "int64":
		made, err = NewTensor(converted[int64](numbers(v["values"])), sizes...)
	default:
		t.Fatalf("the dtype %v has no conversion", v["dtype"])
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func elements(t *testing.T, value any) []float64 {
	t.Helper()
	if n, ok := value.(int64); ok {
		return []float64{float64(n)}
	}
	x, ok := value.(*Tensor)
	if !ok {
		t.Fatalf("%v is neither a tensor nor an integer", value)
	}
	switch x.DType() {
	case Float64:
		return widened[float64](t, x)
	case Float32:
		return widened[float32](t, x)
	case Int64:
		return widened[int64](t, x)
	}
	t.Fatalf("the dtype %v has no conversion", x.DType())
	return nil
}

func widened[T int64 | float32 | float64](t *testing.T, x *Tensor) []float64 {
	values, err := Elements[T](x)
	if err != nil {
		t.Fatal(err)
	}
	made := make([]float64, len(values))
	for i, v := range values {
		made[i] = float64(v)
	}
	return made
}

func TestPrograms(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string][]struct {
		Args, Result any
		Keywords     map[string]any
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for name, runs := range cases {
		p := load(t, name)
		for _, each := range runs {
			if len(each.Keywords) > 0 {
				continue // whose order is that of the program's structure
			}
			found, err := p.Run(leaves(t, each.Args, nil)...)
			if err != nil {
				t.Fatal(name, err)
			}
			expected := leaves(t, each.Result, nil)
			if len(found) != len(expected) {
				t.Fatalf("%s returns %d results, not %d", name, len(found), len(expected))
			}
			for i := range found {
				one, other := elements(t, found[i]), elements(t, expected[i])
				for k := range other {
					if math.Abs(one[k]-other[k]) > 1e-5*(1+math.Abs(other[k])) {
						t.Fatalf("%s: element %d of result %d is %v, not %v", name, k, i, one[k], other[k])
					}
				}
			}
			checked++
		}
	}
	if checked < 7 {
		t.Fatalf("%d cases were checked", checked)
	}
}

// classify returns the first result of the classifier for rows of ones.
func classify(p *Program, rows int64) ([]float32, error) {
	ones := make([]float32, 3*rows)
	for i := range ones {
		ones[i] = 1
	}
	x, err := NewTensor(ones, rows, 3)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	scale, err := NewTensor([]float32{0.5})
	if err != nil {
		return nil, err
	}
	defer scale.Close()
	bias, err := NewTensor([]float32{0, 0}, 2)
	if err != nil {
		return nil, err
	}
	defer bias.Close()
	results, err := p.Run(x, scale, bias)
	if err != nil {
		return nil, err
	}
	for _, r := range results[1:] {
		r.(*Tensor).Close()
	}
	first := results[0].(*Tensor)
	defer first.Close()
	return Elements[float32](first)
}

func TestDescriptions(t *testing.T) {
	p := load(t, "classifier")
	var shown []string
	for _, v := range p.Inputs() {
		shown = append(shown, v.Name+" "+v.DType.String()+v.Shape)
	}
	if got := strings.Join(shown, ", "); got != "x float32[s77, 3], scale float32[], extra_bias float32[2]" {
		t.Errorf("the inputs are %s", got)
	}
	in, out := p.Structure()
	if len(p.Outputs()) != 3 || !strings.Contains(in, "extra") || !strings.Contains(out, "parts") {
		t.Errorf("%d outputs with the structures %s and %s", len(p.Outputs()), in, out)
	}
}

func TestGoroutinesRunOneProgram(t *testing.T) {
	p := load(t, "classifier")
	expected, err := classify(p, 4)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 50 {
				found, err := classify(p, 4)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range expected {
					if found[i] != expected[i] {
						t.Errorf("element %d is %v, not %v", i, found[i], expected[i])
						return
					}
				}
			}
		})
	}
	group.Wait()
}

func TestABufferCountsEachRun(t *testing.T) {
	p := load(t, "counter")
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			x, err := NewTensor([]float32{1, 1}, 1, 2)
			if err == nil {
				_, err = p.Run(x)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	x, _ := NewTensor([]float32{1, 1}, 1, 2)
	results, err := p.Run(x)
	if err != nil {
		t.Fatal(err)
	}
	if found := elements(t, results[0]); found[0] < 20 {
		t.Errorf("the result after 21 runs is %v", found)
	}
}

func TestGradients(t *testing.T) {
	path := filepath.Join(folder, "classifier.pt2")
	p, err := Load(path, WithGradients())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	plain := load(t, "classifier")
	x, _ := NewTensor([]float32{1, 1, 1, 1, 1, 1}, 2, 3)
	scale, _ := NewTensor([]float32{0.5})
	bias, _ := NewTensor([]float32{0, 0}, 2)
	ones, err := NewTensor([]float32{1, 1, 1, 1}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.RequireGrad(true); err != nil {
		t.Fatal(err)
	}
	results, err := p.Run(x, scale, bias)
	if err != nil {
		t.Fatal(err)
	}
	others, err := plain.Run(x, scale, bias)
	if err != nil {
		t.Fatal(err)
	}
	found, _ := Elements[float32](results[0].(*Tensor))
	expected, _ := Elements[float32](others[0].(*Tensor))
	if !slices.Equal(found, expected) {
		t.Errorf("the results are %v, and %v without gradients", found, expected)
	}
	if err := results[0].(*Tensor).Backward(ones); err != nil {
		t.Fatal(err)
	}
	for tensor, want := range map[*Tensor]float32{p.State()["layers.3.bias"]: 0.1349, x: -0.0138} {
		gradient, err := tensor.Grad()
		if err != nil {
			t.Fatal(err)
		}
		elements, err := Elements[float32](gradient)
		if err != nil || math.Abs(float64(elements[0]-want)) > 1e-4 {
			t.Errorf("the gradient is %v, not %v (%v)", elements, want, err)
		}
	}
	if gradient, err := scale.Grad(); gradient != nil || err != nil || plain.State() != nil {
		t.Errorf("scale has the gradient %v (%v), the other program the state %v", gradient, err, plain.State())
	}
	if err := others[0].(*Tensor).Backward(ones); err == nil {
		t.Error("Backward of a result without gradients succeeds")
	}
}

func TestCloseWaitsForRuns(t *testing.T) {
	p := load(t, "classifier")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if _, err := classify(p, 2); err != nil {
					var closed *Error
					if !errors.As(err, &closed) || closed.Message != "program_run: the program is closed" {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	p.Close()
	group.Wait()
	if _, err := classify(p, 2); err == nil {
		t.Error("a closed program runs")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	if _, err := Load("no/such/file.pt2"); err == nil || !strings.Contains(err.Error(), "no/such/file.pt2") {
		t.Errorf("a missing file: %v", err)
	}
	for _, data := range [][]byte{nil, []byte("no program")} {
		if _, err := LoadBytes(data); err == nil {
			t.Errorf("%q is a program", data)
		}
	}
	p := load(t, "classifier")
	if _, err := classify(p, 9); err == nil || !strings.Contains(err.Error(), "s77 <= 8 is required") {
		t.Errorf("a size out of range: %v", err)
	}
	if _, err := p.Run(struct{}{}); err == nil || !strings.Contains(err.Error(), "input 0 is a struct {}") {
		t.Errorf("an input of another type: %v", err)
	}
	x, _ := NewTensor([]float32{1}, 1)
	x.Close()
	if _, err := p.Run(x); err == nil || !strings.Contains(err.Error(), "input 0 is a closed tensor") {
		t.Errorf("a closed tensor: %v", err)
	}
	for _, sizes := range [][]int64{{2}, {-1}, {math.MaxInt64, 2}} {
		if _, err := NewTensor([]float32{1}, sizes...); err == nil {
			t.Errorf("one element has the sizes %v", sizes)
		}
	}
	y, _ := NewTensor([]int64{1, 2}, 2)
	if _, err := Elements[float32](y); err == nil || !strings.Contains(err.Error(), "dtype int64, not float32") {
		t.Errorf("elements of another type: %v", err)
	}
}

func TestTensorsOfDTypesWithoutGoTypes(t *testing.T) {
	given := []byte{0x38, 0x39, 0x3a, 0x3b}
	for dtype, expected := range map[DType]struct {
		name string
		size int64
	}{Float8E4M3FN: {"float8_e4m3fn", 1}, Float8E8M0FNU: {"float8_e8m0fnu", 1}, BFloat16: {"bfloat16", 2}, Complex32: {"complex32", 4}} {
		x, err := NewTensorOf(dtype, given, 4/expected.size)
		if err != nil {
			t.Fatal(err)
		}
		bytes, err := x.Bytes()
		if err != nil || x.DType() != dtype || dtype.String() != expected.name || !slices.Equal(bytes, given) {
			t.Errorf("%v: %v, %v", dtype, bytes, err)
		}
		x.Close()
	}
}

func TestErrorsNameTheValue(t *testing.T) {
	x, _ := NewTensor([]float32{1}, 1)
	x.Close()
	_, closed := Elements[float32](x)
	_, dtype := NewTensorOf(DType(999), []byte{1}, 1)
	_, path := Load("a\x00b")
	for text, err := range map[string]error{"Elements: the tensor is closed": closed, "there is no dtype 999": dtype,
		`the path "a\x00b" has a NUL`: path} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, not %s", err, text)
		}
	}
}

func TestInputsOfAllTypes(t *testing.T) {
	type myInt int16
	p := load(t, "classifier")
	store := func(given any) (any, error) {
		text := ""
		_, err := p.Run(given)
		if err != nil {
			text = err.Error()
		}
		return text, err
	}
	for _, given := range []any{1, int8(1), int16(1), int32(1), int64(1), uint(1), uint8(1), uint16(1), uint32(1), uint64(1), uintptr(1),
		myInt(1), float32(1), 1.0, true, "a"} {
		if text, _ := store(given); strings.Contains(text.(string), "inputs are *program.Tensor") {
			t.Errorf("%T: %v", given, text)
		}
	}
	for given, text := range map[any]string{uint64(math.MaxUint64): "18446744073709551615; integers", "a\x00b": "strings have no NUL",
		complex(1, 2): "input 0 is a complex128"} {
		if found, err := store(given); err == nil || !strings.Contains(found.(string), text) {
			t.Errorf("%v: %v", given, err)
		}
	}
}

func TestLoadBytes(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(folder, "classifier.pt2"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := LoadBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data)
	found, err := classify(p, 4)
	expected, _ := classify(load(t, "classifier"), 4)
	if err != nil || found[0] != expected[0] {
		t.Errorf("%v, %v, not %v", found, err, expected)
	}
}

// The runtimes of the program and of the library share the process's signals.
func TestTheProgramKeepsItsSignals(t *testing.T) {
	if _, err := classify(load(t, "classifier"), 4); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	spun := make(chan int)
	go func() {
		n := 0
		for !stop.Load() {
			for i := range 1 << 30 { // without a call, in which the runtime could preempt it
				n += i
			}
		}
		spun <- n
	}()
	for range 5 {
		runtime.GC()
	}
	stop.Store(true)
	<-spun
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a nil pointer was dereferenced")
			}
		}()
		var p *Value
		p.Name = "x"
	}()
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	defer signal.Stop(got)
	syscall.Kill(os.Getpid(), syscall.SIGUSR1)
	<-got
}
