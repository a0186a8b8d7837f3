package backend_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/backend"
)

// allowed lists the operators' files that access data, with the reason.
var allowed = map[string]string{
	"../ops/storage.go Data":         "data_ptr gives an address",
	"../ops/storage.go unsafe":       "takes addresses from callers and gives them",
	"../ops/storage_bytes.go Data":   "data_ptr of a storage",
	"../ops/storage_bytes.go unsafe": "addresses of storages",
	"../ops/copy_storage.go Data":    "whether an address is aligned",
	"../ops/files.go Bytes":          "files are made of storages' bytes",
	"../ops/query.go parallel":       "the number of threads, which a user sets",
	"../ops/update.go Data":          "whether parameters share memory, which their addresses tell",
	"../ops/kernels.go cpu":          "links the device that every build has",
}

// No kernel has more operands than a launch can pass.
func TestKernelsFitTheirWork(t *testing.T) {
	units, err := filepath.Glob("../kernel/src/units/*.h")
	require.NoError(t, err)
	signatures := 0
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`\{"(\w+)", "([^"]*[=>][^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			signatures++
			assert.LessOrEqual(t, len(m[2])-1, backend.MaxOperands, "%s of %s", m[1], unit)
		}
	}
	assert.NotZero(t, signatures)
}

// readers are the methods of tensors and storages that lead to bytes.
var readers = []string{"Data", "Bytes", "At", "IsMeta"}

// An operator checks, infers and launches: it does not access data, check for it or loop over elements. It gets results that depend on
// values from the device.
func TestOperatorsTouchNoBytes(t *testing.T) {
	files := token.NewFileSet()
	used := map[string]bool{}
	for _, folder := range []string{"../ops", "../composite"} {
		paths, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			touches := func(what string, at token.Pos) {
				used[path+" "+what] = true
				assert.Contains(t, allowed, path+" "+what, "%v: launch it (engine/backend)", files.Position(at))
			}
			for _, i := range file.Imports {
				switch name := filepath.Base(strings.Trim(i.Path.Value, `"`)); name {
				case "unsafe", "blas", "cpu", "kernel", "parallel":
					touches(name, i.Pos())
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if x, ok := n.(*ast.CallExpr); ok {
					if f, ok := x.Fun.(*ast.SelectorExpr); ok && slices.Contains(readers, f.Sel.Name) {
						touches(f.Sel.Name, f.Pos())
					}
				}
				return true
			})
		}
	}
	for name := range allowed {
		assert.Contains(t, used, name, "it touches nothing; take it off the list")
	}
}

// A device uses only the arguments of a launch, and nothing of another device.
func TestDevicesAreIndependent(t *testing.T) {
	for folder, other := range map[string]string{"../../cuda": "engine/cpu", "../cpu": "libtensor/cuda"} {
		paths, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			require.NoError(t, err)
			for _, i := range file.Imports {
				assert.NotContains(t, i.Path.Value, other, path)
			}
		}
	}
}

// Kernels are the CPU's: other packages name them by engine/kernelapi.
func TestKernelsAreImportedByTheCPUAlone(t *testing.T) {
	importers := map[string]bool{}
	for _, root := range []string{"../../engine", "../../cuda", "../../capi"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				return err
			}
			for _, i := range file.Imports {
				name := strings.Trim(i.Path.Value, `"`)
				if strings.HasSuffix(name, "engine/kernel") || strings.Contains(name, "engine/kernel/") {
					importers[strings.TrimPrefix(filepath.Dir(path), "../../")] = true
				}
			}
			return nil
		}))
	}
	for folder := range importers {
		assert.True(t, folder == "engine/cpu" || strings.HasPrefix(folder, "engine/kernel"), folder)
	}
	assert.Contains(t, importers, "engine/cpu")
}
