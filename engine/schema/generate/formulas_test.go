package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/schema"
)

// compilerOf is the compiler of an operator with a tensor, a number, sizes and a list of tensors, in a world of two operators and
// a method of steps.
func compilerOf(t *testing.T) *compiler {
	t.Helper()
	ops := loadEntries(t, "- func: op(Tensor self, Scalar alpha, int[] dim, Tensor[] tensors) -> Tensor\n  variants: [function]\n  category: pointwise\n  dtypes: all\n  since: '0.1'\n  doc: Words.\n")
	tensors := func(n int) (params []param) {
		for range n {
			params = append(params, param{"x", tensorType})
		}
		return params
	}
	return &compiler{
		op: ops[0], uses: map[string]bool{}, captured: map[string]string{}, flows: map[int]bool{},
		f: &function{name: "Op", params: []param{{"self", tensorType}, {"alpha", scalarType}, {"dim", "[]int64"}, {"tensors", tensorsType}},
			results: []string{tensorType, "error"}},
		ops: map[string]*function{
			"exp": {name: "Exp", params: tensors(2), results: []string{tensorType, "error"}}, // the first is its output
			"sum": {name: "Sum", params: append(tensors(1), param{"dim", "[]int64"}, param{"keepdim", "bool"}),
				results: []string{tensorType, "error"}},
		},
		defaults: map[string][]string{"exp": {""}, "sum": {"", "None", "False"}},
		helpers:  map[string]*function{"conj": {name: "conj", params: tensors(1), results: []string{tensorType}}},
	}
}

func TestFormulas(t *testing.T) {
	for formula, want := range map[string]string{
		"grad * self.conj()":                  "s.binary('*', s.take(0), s.conj(s.saved(self_)), left)",
		"grad * grad":                         "s.mul(s.grad(0), s.grad(0))",
		"-grad / (2 * result)":                "s.binary('/', s.negOver(s.take(0)), (s.mul(s.int(2), s.saved(result_))), left|right)",
		"grad.sum()":                          "s.release(1, s.Track(s.C.Sum(s.consume(s.take(0)), nil, false)))",
		"exp(grad).sum(dim, true)":            "s.release(1, s.Track(s.C.Sum(s.consume(s.release(1, s.Track(s.C.Exp(nil, s.consume(s.take(0)))))), dim, true)))",
		"exp(grad) * grad":                    "s.binary('*', s.Track(s.C.Exp(nil, s.grad(0))), s.grad(0), left)",
		"grad.sum(self.sizes) * alpha":        "s.binary('*', s.release(1, s.Track(s.C.Sum(s.consume(s.take(0)), selfSizes, false))), s.number(alpha), left)",
		"cond(alpha == 1, grad, grad * 0.5)":  "s.cond(alpha.Float() == dtype.IntScalar(1).Float(), func() *tensor.Tensor { return s.take(0) }, func() *tensor.Tensor { return s.binary('*', s.take(0), s.float(0.5), left) })",
		"grad * (alpha - 1)":                  "s.binary('*', s.take(0), s.number((computeScalars('-', alpha, dtype.IntScalar(1)))), left)",
		"cond(self.dim > 1, grad, grad)":      "s.cond((selfDim > 1), func() *tensor.Tensor { return s.take(0) }, func() *tensor.Tensor { return s.take(0) })",
		"cond(dim == none && true, grad, -1)": "s.cond(dim==nil && true, func() *tensor.Tensor { return s.take(0) }, func() *tensor.Tensor { return s.int(-1) })",
	} {
		code, err := compilerOf(t).compileFormula(formula, tensorType)
		require.NoError(t, err, formula)
		assert.Equal(t, want, code, formula)
	}
	k := compilerOf(t)
	_, err := k.compileFormula("grad.sum(dim) * self.numel", tensorType)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"dim": "copyValues(dim)", "selfNumel": "self.Numel()"}, k.captured)
	assert.Empty(t, k.uses, "what is known of a tensor without its elements saves none")
}

func TestInvalidFormulasAreRejected(t *testing.T) {
	for formula, why := range map[string]string{
		"grad * othr":        "othr is no name of the operator",
		"grad.expp()":        "there is no operator expp",
		"exp(grad, self)":    "exp takes 1 arguments, not 2",
		"conj()":             "conj takes 1 arguments, not 0",
		"exp()":              "argument x is missing",
		"grad.sum(alpha)":    "alpha is dtype.Scalar, and []int64 is wanted",
		"grad.size":          "tensors have no attribute size",
		"grad % self":        "the language has no % for tensors",
		"cond(grad, 1, 2)":   "is *tensor.Tensor, and bool is wanted",
		"grad[0]":            "the language has no *ast.IndexExpr",
		"grad +":             "expected operand",
		"dim":                "dim is []int64, and *tensor.Tensor is wanted",
		"cond(true, grad)":   "cond takes a test and two values",
		"alpha.sizes + grad": "alpha is dtype.Scalar, which has no attributes",
	} {
		_, err := compilerOf(t).compileFormula(formula, tensorType)
		assert.ErrorContains(t, err, why, formula)
	}
}

func TestDerivativesOfMissingOperands(t *testing.T) {
	for facts, why := range map[string]string{
		"other: grad":                       "no argument is called other",
		"dim: grad":                         "dim is no tensor",
		"{self: grad, composed: exp(self)}": "what is composed has the derivatives of its parts",
	} {
		text := "- func: op(Tensor self, int dim) -> Tensor\n  variants: [function]\n  category: pointwise\n  dtypes: all\n  since: '0.1'\n  doc: Words.\n  derivatives:\n    " + facts + "\n"
		assert.ErrorContains(t, loadFails(t, text), why)
	}
}

func loadFails(t *testing.T, text string) error {
	t.Helper()
	_, err := schema.Load(entriesIn(t, text))
	return err
}
