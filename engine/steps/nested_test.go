package steps

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// making are the methods of scopes that make tensors, which are nil after an error.
var making = map[string]bool{"Step": true, "Unary": true, "Binary": true, "Unbind": true}

// returnsTensor reports whether a function returns a single tensor, as steps do.
func returnsTensor(f *ast.FuncDecl) bool {
	if f.Recv == nil || f.Type.Results == nil {
		return false
	}
	for _, r := range f.Type.Results.List {
		star, ok := r.Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		if x, ok := star.X.(*ast.SelectorExpr); !ok || x.Sel.Name != "Tensor" {
			return false
		}
	}
	return true
}

// A step must not be an argument of another step's call: on an error the outer call would run with a nil tensor. The function of a step makes one
// call, with results of earlier steps.
func TestStepsAreNotMadeWithinSteps(t *testing.T) {
	files, found := token.NewFileSet(), 0
	parsed := map[string]*ast.File{}
	for _, folder := range []string{"steps", "composite", "sparse", "quantized"} {
		list, err := os.ReadDir("../" + folder)
		require.NoError(t, err)
		for _, entry := range list {
			name := filepath.Join("..", folder, entry.Name())
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			parsed[name] = file
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && returnsTensor(f) {
					making[f.Name.Name] = true
				}
			}
		}
	}
	for _, plain := range []string{"Int", "Float", "Number"} { // which do not fail
		delete(making, plain)
	}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || method(call) != "Step" && method(call) != "Track" {
				return true
			}
			found++
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					if inner, ok := n.(*ast.CallExpr); ok && making[method(inner)] && !ofContext(inner) {
						assert.Fail(t, "a step within a step", "%s: %s", files.Position(inner.Pos()), method(inner))
					}
					return true
				})
			}
			return true
		})
	}
	assert.Greater(t, found, 100)
}

func method(call *ast.CallExpr) string {
	if f, ok := call.Fun.(*ast.SelectorExpr); ok {
		return f.Sel.Name
	}
	return ""
}

// ofContext reports whether a call returns an error itself: those of the dispatcher and of package tensor.
func ofContext(call *ast.CallExpr) bool {
	switch x := call.Fun.(*ast.SelectorExpr).X.(type) {
	case *ast.Ident:
		return x.Name == "c" || x.Name == "tensor"
	case *ast.SelectorExpr:
		return x.Sel.Name == "C"
	}
	return false
}
