package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// cpuTier is a set of CPU instructions that kernels are compiled for.
type cpuTier struct {
	name, arch, flags string
	small             string // the architecture on which size counts more than speed, since few processors use the tier
}

// The tiers, each of which can run the kernels of those before it.
var tiers = []cpuTier{
	{"baseline", "", "", "amd64"},
	{"avx2", "amd64", " -march=x86-64-v3", ""},
	{"avx512", "amd64", " -march=x86-64-v4", ""},
}

// kernelFamily is the set of kernels that one package of each tier compiles, so that a change recompiles little, and cgo runs seldom.
type kernelFamily struct {
	name  string
	tiers int // the first of the tiers; the others use the kernels of the last of these
	units []string
}

const (
	every  = 3
	narrow = 2 // kernels limited by memory, branches or tables do not benefit from wider registers
)

var families = []kernelFamily{
	{amxFamily, every, []string{"convolution_amx", "gemm_amx"}},
	{"blocks", narrow, []string{"blocks", "weights"}},
	{"convolutions", every, []string{"convolution", "convolution_rows"}},
	{"copies", every, []string{"driver"}},
	{"elementwise", every, []string{"arithmetic", "bitwise", "classify", "comparison", "complex", "division", "extremum", "halves", "logical",
		"masks", "ranges", "rounding", "sign", "ternary"}},
	{"distributions", narrow, []string{"implicit"}},
	{"extremes", narrow, []string{"reduce_minmax"}},
	{"fourier", every, []string{"fft"}},
	{"functions", every, []string{"entropy", "exponential", "hyperbolic", "inverse_trigonometric", "logarithm", "normal", "power",
		"trigonometric"}},
	{"indexing", narrow, []string{"index", "scatter"}},
	{"linalg", every, []string{"lu", "small"}},
	{"neural", every, []string{"activation", "attention", "loss", "normalize"}},
	{"pooling", every, []string{"columns", "pooling", "resampling"}},
	{"products", every, []string{"dots", "gemm", "gemm_bfloat16", "gemm_bytes", "gemm_quantized", "quantize"}},
	{"recurrences", every, []string{"alignment", "recurrence"}},
	{"reductions", every, []string{"reduce_driver", "reduce_norm", "reduce_sum", "reduce_var"}},
	{"scans", every, []string{"distance", "scan", "softmax"}},
	{"sampling", narrow, []string{"sampling"}},
	{"sorting", narrow, []string{"histogram", "sort", "sort_rows", "unique"}},
	{"sparse", narrow, []string{"sparse", "sparse_product"}},
	{"special", every, []string{"bessel", "polynomials", "special"}},
	{"text", narrow, []string{"float8", "format"}},
	{"updates", every, []string{"update"}},
}

// amxFamily is the family of kernels that use the tile registers of AMX. With the build tag emulated_amx, which is for tests, those of
// every tier emulate the registers.
const amxFamily = "amx"

const kernelDir = "engine/kernel"

var importsC = regexp.MustCompile(`(?m)^import "C"$`)

var includeLine = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// templateComment matches a comment in a kernel source, with the white space before it.
var templateComment = regexp.MustCompile(`(?m)\s*//.*$`)

// templateHash returns the hash of the code of a source file and of all files that it includes from the project. Comments do not count, nor
// does white space.
func templateHash(path string) (string, error) {
	seen := map[string]bool{}
	h := sha256.New()
	var visit func(string) error
	visit = func(p string) error {
		p = filepath.Clean(p)
		if seen[p] {
			return nil
		}
		seen[p] = true
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		for _, word := range bytes.Fields(templateComment.ReplaceAll(text, nil)) {
			_, _ = h.Write(append(word, ' '))
		}
		for _, m := range includeLine.FindAllSubmatch(text, -1) {
			if err := visit(filepath.Join(filepath.Dir(p), string(m[1]))); err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(path); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:12]), nil
}

// checkFamilies returns an error for units of src/units that are in no family, or in several, and for names without a unit.
func checkFamilies() error {
	files, err := filepath.Glob(kernelDir + "/src/units/*.h")
	if err != nil {
		return err
	}
	var there, named []string
	for _, f := range files {
		there = append(there, strings.TrimSuffix(filepath.Base(f), ".h"))
	}
	for _, f := range families {
		named = append(named, f.units...)
	}
	slices.Sort(there)
	slices.Sort(named)
	if !slices.Equal(there, named) {
		return fmt.Errorf("the families of kernels name %v; %s/src/units has %v", named, kernelDir, there)
	}
	return nil
}

// generateKernels writes one small package per family and tier, and the tables that join them.
func generateKernels(out *output) error {
	if err := checkFamilies(); err != nil {
		return err
	}
	for i, t := range tiers {
		var imports, decls, tables strings.Builder
		for _, f := range families {
			from := tiers[min(i, f.tiers-1)]
			fmt.Fprintf(&imports, "\t_ \"github.com/libtensor/libtensor/%s/tiers/%s/%s\"\n", kernelDir, from.name, f.name)
			for _, u := range f.units {
				fmt.Fprintf(&decls, "// extern const lt_kernel lt_%s_%s[];\n", u, from.name)
				fmt.Fprintf(&tables, "lt_%s_%s, ", u, from.name)
			}
			if i < f.tiers {
				if err := generateFamily(out, t, f); err != nil {
					return err
				}
			}
		}
		out.write(fmt.Sprintf("%s/gen_%s.go", kernelDir, t.name), fmt.Sprintf(`%s
//go:build %s

package kernel

// #include "abi.h"
%s// static const lt_kernel *const lt_units_%s[] = {%sNULL};
// static const lt_kernel *const *lt_get_%s(void) { return lt_units_%s; }
import "C"

import (
	"unsafe"

%s)

func init() { register("%s", unsafe.Pointer(C.lt_get_%s())) }
`, strings.TrimSuffix(goBanner, "\n"), tableConstraint(t), decls.String(), t.name, tables.String(), t.name,
			t.name, imports.String(), t.name, t.name))
	}
	return nil
}

// generateFamily writes the package of a family for one tier. go's build cache does not look into the folder of the templates: their hash
// in each source makes it compile a unit again.
func generateFamily(out *output, t cpuTier, f kernelFamily) error {
	dir := fmt.Sprintf("%s/tiers/%s/%s/", kernelDir, t.name, f.name)
	for _, u := range f.units {
		hash, err := templateHash(kernelDir + "/src/units/" + u + ".h")
		if err != nil {
			return err
		}
		out.write(dir+"gen_"+u+".cpp", fmt.Sprintf("%s// Templates: %s\n#define LT_TIER %s\n#include \"../../../src/units/%s.h\"\n", cBanner,
			hash, t.name, u))
	}
	smaller := ""
	if t.small != "" {
		smaller = "// #cgo " + t.small + " CXXFLAGS: -O2\n"
	}
	out.write(dir+"gen_family.go", fmt.Sprintf(`%s%s
// Package %s holds the kernels of %s for the %s tier.
package %s

// #cgo CXXFLAGS: -O3 -std=c++17%s -fno-exceptions -fno-asynchronous-unwind-tables -fno-rtti -fvisibility=hidden -Wall -Wextra
%simport "C"

%s`, goBanner, buildConstraint(t), f.name, strings.Join(f.units, ", "), t.name, f.name, t.flags, smaller, cachedExport(t.name+"_"+f.name)))
	if f.name == amxFamily {
		out.write(dir+"gen_emulated.go", fmt.Sprintf(
			"%s//go:build amd64 && emulated_amx\n\npackage %s\n\n// #cgo CXXFLAGS: -DLT_EMULATED_AMX\nimport \"C\"\n",
			goBanner, f.name))
	}
	return nil
}

// cachedExport returns an export that makes go's build cache serve a package: for a shared library it looks for the header of every
// package that imports "C", and compiles those anew that have none.
func cachedExport(name string) string {
	return fmt.Sprintf("//export lt_cached_%s\nfunc lt_cached_%s() {}\n", name, name)
}

// generateCached writes such an export for the hand-written packages of the engine and of the CUDA backend that import "C".
func generateCached(out *output) error {
	return errors.Join(generateCachedIn(out, "engine"), generateCachedIn(out, "cuda"))
}

func generateCachedIn(out *output, folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && path == "engine/schema" {
			return filepath.SkipDir // it has no C, only templates of it
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasPrefix(entry.Name(), "gen_") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !importsC.Match(text) {
			return err
		}
		dir := filepath.Dir(path)
		name := filepath.Base(dir)
		out.write(dir+"/gen_cached.go", fmt.Sprintf("%spackage %s\n\nimport \"C\"\n\n%s", goBanner, name, cachedExport(name)))
		return nil
	})
}

// tableConstraint excludes a tier by a build tag. Only the tier's table imports it.
func tableConstraint(t cpuTier) string {
	if t.arch == "" {
		return "!without_" + t.name
	}
	return t.arch + " && !without_" + t.name
}

func buildConstraint(t cpuTier) string {
	if t.arch == "" {
		return ""
	}
	return "//go:build " + t.arch + "\n"
}
