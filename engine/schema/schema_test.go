package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/libtensor/libtensor/engine/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func load(t *testing.T, text string) ([]*schema.Operator, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "family.yaml"), []byte(text), 0o600))
	return schema.Load(dir)
}

const rest = "\n  variants: [function]\n  category: pointwise\n  dtypes: all\n  since: \"0.1\"\n  doc: Words.\n"

func TestSignature(t *testing.T) {
	ops, err := load(t, "- func: max:dim(Tensor self, int dim, bool keepdim=False, *, Scalar? p=None, int[] size=[1, 2]) -> (Tensor values, Tensor indices)"+rest)
	require.NoError(t, err)
	o := ops[0]
	assert.Equal(t, []string{"max", "dim", "max.dim", "max_dim", "MaxDim", "family"}, []string{o.Name, o.Overload, o.ID(), o.CName(), o.GoName(), o.Family})
	assert.Equal(t, "False", o.Args[2].Default)
	assert.False(t, o.Args[2].KwOnly)
	assert.True(t, o.Args[3].KwOnly)
	assert.Equal(t, schema.Type{Base: "Scalar", Optional: true}, o.Args[3].Type)
	assert.Equal(t, "[1, 2]", o.Args[4].Default)
	assert.Equal(t, []string{"values", "indices"}, []string{o.Returns[0].Name, o.Returns[1].Name})

	ops, err = load(t, "- func: add_(Tensor(a!) self, Tensor|Scalar other) -> ()"+rest)
	require.NoError(t, err)
	assert.True(t, ops[0].Args[0].Mutated)
	assert.Equal(t, []int{1}, ops[0].Operands())
	assert.Empty(t, ops[0].Returns)
}

func TestMistakesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"- func: add Tensor self" + rest:                                           "no argument list",
		"- func: add(Tensor self" + rest:                                           "not closed",
		"- func: add(Tensor self)" + rest:                                          "no result",
		"- func: add(Tensr self) -> Tensor" + rest:                                 `type "Tensr" is not one of`,
		"- func: add(Tensor) -> Tensor" + rest:                                     "has no name",
		"- func: f(Tensor self) -> Tensor\n  nonsense: 1" + rest:                   "nonsense",
		"- func: f(Tensor self) -> Tensor\n  variants: [sideways]\n":               "sideways",
		"- func: f(Tensor self) -> Tensor\n  variants: [function]\n":               "category",
		"- func: f(Tensor self) -> Tensor\n  promotion: upwards" + rest:            "upwards",
		"- func: f(Tensor self) -> Tensor" + rest + "- func: f() -> Tensor" + rest: "also defined",
	} {
		_, err := load(t, text)
		assert.ErrorContains(t, err, want)
	}
}

func TestEveryEntryIsComplete(t *testing.T) {
	ops, err := schema.Load("operators")
	require.NoError(t, err)
	assert.Greater(t, len(ops), 300)
	for _, o := range ops {
		assert.NotEmpty(t, o.Doc, o.ID())
	}
}
