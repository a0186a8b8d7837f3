package main

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/schema"
)

func loaded(t *testing.T) []*schema.Operator {
	t.Helper()
	t.Chdir("../../..")
	ops, err := schema.Load("engine")
	require.NoError(t, err)
	return ops
}

// Whatever C can call, C++ can.
func TestCppCallsEveryFormOnce(t *testing.T) {
	ops := loaded(t)
	out := newOutput()
	generateCpp(out, ops)
	text := string(out.files["include/tensor/gen_operators.hpp"])
	calls := map[string]int{}
	for _, found := range regexp.MustCompile(`[ (]::(\w+)[(,)]`).FindAllStringSubmatch(text, -1) {
		calls[found[1]]++
	}
	for _, o := range ops {
		for _, f := range listFunctions(o) {
			assert.Equal(t, 1, calls[f.cName()], f.cName())
		}
	}
}

// No arguments, numbers, flags, tensors, lists or strings, may mean two functions of one name.
func TestCppOverloadsAreDistinguished(t *testing.T) {
	byName := map[string][]*cppFunction{}
	for _, f := range cppFunctions(loaded(t)) {
		name := f.namespaceOf() + "::" + f.name
		for _, g := range byName[name] {
			if len(f.op.Returns) != len(g.op.Returns) && f.mode == "out" {
				continue // there are as many tensors more, or fewer
			}
			for n := max(f.countRequired(), g.countRequired()); n <= min(len(f.params), len(g.params)); n++ {
				assert.False(t, isAmbiguous(f, g, n), "%s and %s with %d arguments", f.op.ID(), g.op.ID(), n)
			}
		}
		byName[name] = append(byName[name], f)
	}
	assert.Greater(t, len(byName), 1000)
}

func TestCppNames(t *testing.T) {
	var names []string
	for _, f := range cppFunctions(loaded(t)) {
		if f.op.Name == "squeeze" || f.op.Name == "arange" && f.mode == "function" {
			names = append(names, f.name+"("+f.declaredParams(0, true)+")")
		}
	}
	assert.Subset(t, names, []string{
		"squeeze(const Tensor &self, Int dim)", "squeeze_dims(const Tensor &self, const Ints &dim)",
		"squeeze_dims_(const Tensor &self, const Ints &dim)",
		"arange(const Scalar &end, const Options &options = {})",
		"arange(const Scalar &start, const Scalar &end, const Scalar &step, const Options &options = {})",
	})
}
