package gguf

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
)

// Type is an element type of the format: a dtype, or blocks of values that share scales.
type Type struct {
	Name   string
	Number uint32      // in files
	Values int64       // per block
	Bytes  int64       // per block
	DType  dtype.DType // None for blocks
	// Computed reports whether the blocks can be dequantized and multiplied; other blocks can only be loaded.
	Computed bool
}

// types are those of the specification (ggml, docs/gguf.md and ggml.h). Numbers that are missing were removed from the format.
var types = []Type{
	{"F32", 0, 1, 4, dtype.Float32, false}, {"F16", 1, 1, 2, dtype.Float16, false}, {"BF16", 30, 1, 2, dtype.BFloat16, false},
	{"F64", 28, 1, 8, dtype.Float64, false},
	{"I8", 24, 1, 1, dtype.Int8, false}, {"I16", 25, 1, 2, dtype.Int16, false}, {"I32", 26, 1, 4, dtype.Int32, false},
	{"I64", 27, 1, 8, dtype.Int64, false},
	{"Q4_0", 2, 32, 18, dtype.None, true}, {"Q4_1", 3, 32, 20, dtype.None, true}, {"Q5_0", 6, 32, 22, dtype.None, true},
	{"Q5_1", 7, 32, 24, dtype.None, true},
	{"Q8_0", 8, 32, 34, dtype.None, true}, {"Q8_1", 9, 32, 36, dtype.None, false},
	{"Q2_K", 10, 256, 84, dtype.None, false}, {"Q3_K", 11, 256, 110, dtype.None, false}, {"Q4_K", 12, 256, 144, dtype.None, true},
	{"Q5_K", 13, 256, 176, dtype.None, true},
	{"Q6_K", 14, 256, 210, dtype.None, true}, {"Q8_K", 15, 256, 292, dtype.None, false},
	{"IQ2_XXS", 16, 256, 66, dtype.None, false}, {"IQ2_XS", 17, 256, 74, dtype.None, false}, {"IQ3_XXS", 18, 256, 98, dtype.None, false},
	{"IQ1_S", 19, 256, 50, dtype.None, false},
	{"IQ4_NL", 20, 32, 18, dtype.None, false}, {"IQ3_S", 21, 256, 110, dtype.None, false}, {"IQ2_S", 22, 256, 82, dtype.None, false},
	{"IQ4_XS", 23, 256, 136, dtype.None, false},
	{"IQ1_M", 29, 256, 56, dtype.None, false}, {"TQ1_0", 34, 256, 54, dtype.None, false}, {"TQ2_0", 35, 256, 66, dtype.None, false},
	{"MXFP4", 39, 32, 17, dtype.None, false},
}

// TypeOf returns the type of a name, and whether there is one.
func TypeOf(name string) (Type, bool) {
	return findType(func(t Type) bool { return t.Name == name })
}

func findTypeByNumber(number uint32) (Type, bool) {
	return findType(func(t Type) bool { return t.Number == number })
}

func findType(is func(Type) bool) (Type, bool) {
	if i := slices.IndexFunc(types, is); i >= 0 {
		return types[i], true
	}
	return Type{}, false
}

// ComputedNames returns the names of the types of blocks that can be dequantized, for errors.
func ComputedNames() string {
	var names []string
	for _, t := range types {
		if t.Computed {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, ", ")
}
