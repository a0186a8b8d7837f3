package ops_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// references lists, for each file of a package, the files that declare the names it uses.
func references(t *testing.T, folder string) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*.go")
	require.NoError(t, err)
	files, homes, methods := map[string]*ast.File{}, map[string]string{}, map[string][]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		name := filepath.Base(path)
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		files[name] = file
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				methods[f.Name.Name] = append(methods[f.Name.Name], name)
			}
		}
		for n := range file.Scope.Objects {
			homes[n] = name
		}
	}
	all := map[string][]string{}
	for name, file := range files {
		found := map[string]bool{}
		keys := map[*ast.Ident]bool{} // of struct literals, which name fields
		packages := map[string]bool{}
		for _, i := range file.Imports {
			packages[filepath.Base(strings.Trim(i.Path.Value, `"`))] = true
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.SelectorExpr: // a method, where a single type has one of that name
				of, _ := x.X.(*ast.Ident)
				if homes := methods[x.Sel.Name]; len(homes) == 1 && (of == nil || !packages[of.Name]) {
					found[homes[0]] = true
				}
			case *ast.KeyValueExpr:
				if id, ok := x.Key.(*ast.Ident); ok {
					keys[id] = true
				}
			}
			return true
		})
		for _, id := range file.Unresolved {
			if home, ok := homes[id.Name]; ok && !keys[id] {
				found[home] = true
			}
		}
		delete(found, name)
		all[name] = slices.Sorted(maps.Keys(found))
	}
	return all
}

// No file refers, directly or indirectly, to one that refers back to it: general files do not depend on specific ones.
func TestFilesReferDownwards(t *testing.T) {
	for _, folder := range []string{".", "../composite", "../cpu", "../tensoriter", "../backend"} {
		uses := references(t, folder)
		require.NotEmpty(t, uses)
		done := map[string]bool{}
		var way []string
		var visit func(file string)
		visit = func(file string) {
			if i := slices.Index(way, file); i >= 0 {
				t.Errorf("%s: %s -> %s", folder, strings.Join(way[i:], " -> "), file)
				return
			}
			if done[file] {
				return
			}
			way = append(way, file)
			for _, other := range uses[file] {
				visit(other)
			}
			way = way[:len(way)-1]
			done[file] = true
		}
		for _, file := range slices.Sorted(maps.Keys(uses)) {
			visit(file)
		}
	}
	assert.NotEmpty(t, references(t, ".")["arithmetic.go"])
}
