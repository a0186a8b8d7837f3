package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/schema"
)

// entriesIn is a folder of schemas with a unit of three kernels.
func entriesIn(t *testing.T, text string) string {
	t.Helper()
	engine := t.TempDir()
	units := `LT_UNIT(some){{"less", "b>TT", LT_ALL(Less)}, {"up", "T>T", LT_ALL(Up)}, {"join", "C>TT", LT_ALL(Join)}, LT_END};`
	for file, text := range map[string]string{"schema/operators/family.yaml": text, schema.Units + "/some.h": units} {
		file = filepath.Join(engine, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return engine
}

func loadEntries(t *testing.T, text string) []*schema.Operator {
	t.Helper()
	ops, err := schema.Load(entriesIn(t, text))
	require.NoError(t, err)
	return ops
}

// elementwise is an entry with a kernel.
func elementwise(signature, facts string) string {
	return "- func: " + signature + "\n  category: pointwise\n  dtypes: all\n  tags: [elementwise]\n  since: '0.1'\n  doc: |\n    Says what\n    it does.\n" + facts
}

// A schema with a kernel generates a row of its facts, and the function that runs it where no file has one.
func TestRowsAndFunctionsOfEntries(t *testing.T) {
	ops := loadEntries(t, elementwise("special.more(Tensor self, Tensor|Scalar type) -> Tensor",
		"  variants: [method, inplace]\n  promotion: bool\n  kernel: less\n  runs: [swapped, exact]\n")+
		elementwise("polar:parts(Tensor polar_parts, Tensor polarParts) -> Tensor",
			"  variants: [function]\n  promotion: complex\n  kernel: join\n")+
		elementwise("up(Tensor self, *, float by=1) -> Tensor", "  variants: [function, out]\n  promotion: promote_float\n  kernel: up\n"))
	text, err := generatePointwise(ops, map[string]*function{"Up": {}})
	require.NoError(t, err)
	out := newOutput()
	out.write(pointwiseFile, text)
	require.NoError(t, out.err)
	assert.Equal(t, goBanner+`package ops

import (
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/tensor"
)

var (
	specialMore = &pointwise{name: "special_more", kernel: kernelapi.Less, rule: compare, swapped: true, exact: true}
	polarParts  = &pointwise{name: "polar", kernel: kernelapi.Join, rule: complexOf}
	up          = &pointwise{name: "up", kernel: kernelapi.Up, rule: promoteFloat}
)

// SpecialMore implements the operator special.more.
//
// Says what
// it does.
func SpecialMore(out, self, type_ *tensor.Tensor) (*tensor.Tensor, error) {
	return specialMore.runKernel(out, nil, self, type_)
}

// PolarParts implements the operator polar.
//
// Says what
// it does.
func PolarParts(polar_parts, polarParts_ *tensor.Tensor) (*tensor.Tensor, error) {
	return polarParts.runKernel(nil, nil, polar_parts, polarParts_)
}
`, string(out.files[pointwiseFile]))
}

// A schema without all fields of a generated operator needs a function, and a name that Go code already uses needs another.
func TestRowsThatCannotBe(t *testing.T) {
	const facts = "  variants: [function]\n  promotion: promote\n  kernel: up\n"
	for signature, want := range map[string]string{
		"lift(Tensor self, *, float by=1) -> Tensor": "there is no func Lift in engine/ops",
		"lift(Tensor? self) -> Tensor":               "there is no func Lift in engine/ops",
		"range(Tensor self) -> Tensor":               "a row cannot be called range in Go",
		"max(Tensor self) -> Tensor":                 "a row cannot be called max in Go",
	} {
		_, err := generatePointwise(loadEntries(t, elementwise(signature, facts)), map[string]*function{})
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "family.yaml: "+signature+": ")
	}
	text, err := generatePointwise(loadEntries(t, elementwise("max(Tensor self) -> Tensor", facts+"  go: Largest\n")), map[string]*function{})
	require.NoError(t, err)
	assert.Contains(t, text, "return largest.runKernel(nil, nil, self)")
}

// The functions in engine/ops with rows do more than the rows.
func TestHandWrittenFunctionsSayMore(t *testing.T) {
	t.Chdir("../../..")
	ops, err := schema.Load("engine")
	require.NoError(t, err)
	files, err := filepath.Glob(opsDir + "/*.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if file == pointwiseFile {
			continue
		}
		for _, o := range ops {
			if o.Kernel != "" && o.Plain() {
				assert.NotRegexp(t, `func `+o.GoName()+`\([^{]*\{\s*return `+rowName(o)+`\.run\(\w+, nil, `, string(text), "%s: the entry %s says that",
					file, o.ID())
			}
		}
	}
}
