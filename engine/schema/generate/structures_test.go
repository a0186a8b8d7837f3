package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/schema"
)

// fieldTypes are the Go types of schema.FieldTypes.
var fieldTypes = map[string]reflect.Type{
	"bool": reflect.TypeFor[bool](), "float32": reflect.TypeFor[float32](),
	"float64": reflect.TypeFor[float64](), "int16": reflect.TypeFor[int16](), "int32": reflect.TypeFor[int32](),
	"int64": reflect.TypeFor[int64](),
	"int8":  reflect.TypeFor[int8](), "uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
	"uint8":   reflect.TypeFor[uint8](),
	"uintptr": reflect.TypeFor[uintptr](),
}

// goStruct returns the Go type with the fields of a structure.
func goStruct(t *testing.T, s schema.Structure, all map[string]schema.Structure) reflect.Type {
	var fields []reflect.StructField
	for _, f := range s.Fields {
		kind := fieldTypes[schema.FieldTypes[f.Type]]
		if kind == nil {
			require.Contains(t, all, f.Type)
			kind = goStruct(t, all[f.Type], all)
		}
		for i := range f.Lengths {
			kind = reflect.ArrayOf(f.Lengths[len(f.Lengths)-1-i], kind)
		}
		fields = append(fields, reflect.StructField{Name: schema.Camel(f.Name, true), Type: kind})
	}
	return reflect.StructOf(fields)
}

// Every structure must have the size and the offsets in C++ that its type has in Go.
func TestStructuresHaveTheSameLayoutInGoAndC(t *testing.T) {
	t.Chdir("../../..")
	list, err := schema.ReadStructures(structureSources...)
	require.NoError(t, err)
	all := map[string]schema.Structure{}
	for _, s := range list {
		all[s.Name] = s
	}
	var includes, declarations, checks strings.Builder
	included := map[string]bool{}
	declare := func(s schema.Structure) {
		fmt.Fprintf(&declarations, "struct %s {%s};\n", s.Name, s.Text)
	}
	declare(all["csr_matrix"]) // others contain it
	for _, s := range list {
		switch header, err := filepath.Abs(s.Path); {
		case strings.HasPrefix(s.Name, "lt_"):
			require.NoError(t, err)
			if !included[header] {
				included[header] = true
				fmt.Fprintf(&includes, "#include %q\n", header)
			}
		case s.Name != "csr_matrix":
			declare(s)
		}
		inGo := goStruct(t, s, all)
		fmt.Fprintf(&checks, "static_assert(sizeof(%s) == %d, \"%s\");\n", s.Name, inGo.Size(), s.Name)
		for i, f := range s.Fields {
			fmt.Fprintf(&checks, "static_assert(offsetof(%s, %s) == %d, \"%s.%s\");\n", s.Name, f.Name, inGo.Field(i).Offset, s.Name, f.Name)
		}
	}
	source := filepath.Join(t.TempDir(), "layout.cpp")
	require.NoError(t, os.WriteFile(source, []byte("#include <cstddef>\n"+includes.String()+declarations.String()+checks.String()), 0o600))
	said, err := exec.Command("g++", "-std=c++17", "-fsyntax-only", source).CombinedOutput()
	require.NoError(t, err, "%s", said)
}

// The arguments of CUDA kernels have the layout of their Go types: their headers, with the constants that they use, are compiled.
func TestLaunchArgumentsHaveTheSameLayoutInGoAndC(t *testing.T) {
	t.Chdir("../../..")
	list, err := schema.ReadNamedStructures(launchStructures, launchSources...)
	require.NoError(t, err)
	all := map[string]schema.Structure{}
	for _, s := range list {
		all[s.Name] = s
	}
	text := "#include <cstddef>\n#include <cstdint>\n#define LT_ALIGNED_16 alignas(16)\n"
	headers, err := filepath.Glob("engine/kernel/*.h")
	require.NoError(t, err)
	for _, header := range headers {
		path, err := filepath.Abs(header)
		require.NoError(t, err)
		text += fmt.Sprintf("#include %q\n", path)
	}
	constants := map[string]bool{}
	for _, s := range list {
		source, err := os.ReadFile(s.Path)
		require.NoError(t, err)
		for _, line := range regexp.MustCompile(`(?m)^constexpr int k\w+ = [^;]*;`).FindAllString(string(source), -1) {
			name := strings.Fields(line)[2]
			if strings.Contains(s.Text, "["+name+"]") && !constants[line] {
				constants[line] = true
				text += line + "\n"
			}
		}
	}
	declared := map[string]bool{}
	var declare func(s schema.Structure)
	declare = func(s schema.Structure) {
		if declared[s.Name] || strings.HasPrefix(s.Name, "lt_") {
			return
		}
		declared[s.Name] = true
		for _, f := range s.Fields {
			if inner, ok := all[f.Type]; ok {
				declare(inner)
			}
		}
		text += fmt.Sprintf("struct %s {%s};\n", s.Name, s.Text)
		inGo := goStruct(t, s, all)
		text += fmt.Sprintf("static_assert(sizeof(%s) == %d, \"%s\");\n", s.Name, inGo.Size(), s.Name)
		for i, f := range s.Fields {
			text += fmt.Sprintf("static_assert(offsetof(%s, %s) == %d, \"%s.%s\");\n", s.Name, f.Name, inGo.Field(i).Offset, s.Name, f.Name)
		}
	}
	for _, s := range list {
		declare(s)
	}
	assert.Len(t, declared, len(launchStructures))
	source := filepath.Join(t.TempDir(), "layout.cpp")
	require.NoError(t, os.WriteFile(source, []byte(text), 0o600))
	said, err := exec.Command("g++", "-std=c++17", "-fsyntax-only", source).CombinedOutput()
	require.NoError(t, err, "%s", said)
}

func TestNumberTypesNameFields(t *testing.T) {
	t.Chdir("../../..")
	list, err := schema.ReadStructures(structureSources...)
	require.NoError(t, err)
	launches, err := schema.ReadNamedStructures(launchStructures, launchSources...)
	require.NoError(t, err)
	fields := map[string]bool{}
	for _, s := range append(list, launches...) {
		for _, f := range s.Fields {
			fields[s.Name+"."+f.Name] = true
		}
	}
	for name := range numberTypes {
		assert.True(t, fields[name], name)
	}
}

func TestNamesOfStructures(t *testing.T) {
	for _, c := range []struct{ name, folder, want string }{
		{"lt_fft_plan", "engine/kernel", "FFTPlan"},
		{"lt_blas_product", "engine/blas", "Product"},
		{"lt_gemm_quantized", "engine/kernel", "GemmQuantized"},
		{"range_args", "engine/kernelapi", "RangeArgs"},
	} {
		assert.Equal(t, c.want, goName(c.name, c.folder, true))
	}
	assert.Equal(t, "sortStageArgs", goName("sort_stage_args", "engine/cpu", false))
}
