package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tier is a set of CPU instructions that every kernel is compiled for.
type tier struct {
	name, arch, flags string
}

var tiers = []tier{
	{"baseline", "", ""},
	{"avx2", "amd64", " -march=x86-64-v3"},
	{"avx512", "amd64", " -march=x86-64-v4"},
}

const kernelDir = "engine/kernel"

var importsC = regexp.MustCompile(`(?m)^import "C"$`)

var includeLine = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// templateHash covers a source file and everything that it includes from the project, so that go's build cache, which does
// not look into other folders, sees an edit there as a change of the unit.
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
		h.Write(text)
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

// kernelUnits lists src/units.
func kernelUnits() ([]string, error) {
	files, err := filepath.Glob(kernelDir + "/src/units/*.h")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".h"))
	}
	slices.Sort(names)
	return names, nil
}

// generateKernels writes one tiny package per unit and tier, and the tables that join them.
func generateKernels(out *output) error {
	units, err := kernelUnits()
	if err != nil {
		return err
	}
	for _, t := range tiers {
		for _, u := range units {
			hash, err := templateHash(kernelDir + "/src/units/" + u + ".h")
			if err != nil {
				return err
			}
			dir := fmt.Sprintf("%s/tiers/%s/%s/", kernelDir, t.name, u)
			out.write(dir+"gen_unit.cpp", fmt.Sprintf("%s// Templates: %s\n#define LT_TIER %s\n#include \"../../../src/units/%s.h\"\n", cBanner, hash, t.name, u))
			out.write(dir+"gen_unit.go", fmt.Sprintf(`%s%s
// Package %s holds the %s kernels for the %s tier.
package %s

// #cgo CXXFLAGS: -O3 -std=c++17%s -fno-exceptions -fno-rtti -fvisibility=hidden -Wall -Wextra
import "C"

%s`, goBanner, constraint(t), u, u, t.name, u, t.flags, cached(t.name+"_"+u)))
		}
		var imports, decls, tables strings.Builder
		for _, u := range units {
			fmt.Fprintf(&imports, "\t_ \"github.com/libtensor/libtensor/%s/tiers/%s/%s\"\n", kernelDir, t.name, u)
			fmt.Fprintf(&decls, "// extern const lt_kernel lt_%s_%s[];\n", u, t.name)
			fmt.Fprintf(&tables, "lt_%s_%s, ", u, t.name)
		}
		out.write(fmt.Sprintf("%s/gen_%s.go", kernelDir, t.name), fmt.Sprintf(`%s%s
package kernel

// #include "abi.h"
%s// static const lt_kernel *const lt_units_%s[] = {%sNULL};
// static const lt_kernel *const *lt_get_%s(void) { return lt_units_%s; }
import "C"

import (
	"unsafe"

%s)

func init() { register("%s", unsafe.Pointer(C.lt_get_%s())) }
`, goBanner, tableConstraint(t), decls.String(), t.name, tables.String(), t.name, t.name, imports.String(), t.name, t.name))
	}
	return nil
}

// cached is an export that makes go's build cache serve a package: for a shared library it looks for the header of every
// package that imports "C", and compiles those anew that have none.
func cached(name string) string {
	return fmt.Sprintf("//export lt_cached_%s\nfunc lt_cached_%s() {}\n", name, name)
}

// generateCached gives the hand-written packages of the engine that import "C" such an export.
func generateCached(out *output) error {
	return filepath.WalkDir("engine", func(path string, entry fs.DirEntry, err error) error {
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
		out.write(dir+"/gen_cached.go", fmt.Sprintf("%spackage %s\n\nimport \"C\"\n\n%s", goBanner, name, cached(name)))
		return nil
	})
}

// tableConstraint lets a build tag leave a tier out, which nothing but its table imports (capi/test/laws/sanitize).
func tableConstraint(t tier) string {
	if t.arch == "" {
		return ""
	}
	return "//go:build " + t.arch + " && !without_" + t.name + "\n"
}

func constraint(t tier) string {
	if t.arch == "" {
		return ""
	}
	return "//go:build " + t.arch + "\n"
}
