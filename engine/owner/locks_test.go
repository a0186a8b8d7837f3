package owner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// undeferred are the functions with sections under a lock that end before the function does, and why nothing in them can panic: a
// lock that a panic leaves taken stops every later call that needs it.
var undeferred = map[string]string{
	"engine/autograd/api.go SetGrad":             "assignments",
	"engine/autograd/api.go DetachInplace":       "assignments",
	"engine/autograd/handles.go NodeSetContext":  "assignments",
	"engine/autograd/node.go releaseContents":    "assignments",
	"engine/autograd/node.go endUse":             "assignments",
	"engine/autograd/autograd_meta.go setGradFn": "assignments, and addRetained, which appends",
	"engine/cpu/fourier.go planFor":              "a look at a map",
	"engine/storage/region.go release":           "a look at a map",
	"engine/storage/slabs.go returnBlock":        "appends to what has room; trimming follows without the lock",
	"engine/tensor/parked.go put":                "an append, for every tensor that is dropped",
	"engine/tensor/parked.go take":               "a look at a list, for every tensor that is made",
	"engine/tensor/parked.go lockAll":            "Held and Empty, which call it, unlock: they add up, and free what nobody has",
	"capi/slots.go returnSlot":                   "assignments",
	"cuda/allocator.go Free":                     "a look at a map",
	"cuda/allocator.go releaseFreeBlocks":        "a look at a list",
	"cuda/allocator.go Empty":                    "a look at a map",
	"cuda/pinned_allocator.go Unpin":             "a look at a map",
	"cuda/pinned_allocator.go emptyCache":        "lengths",
	"cuda/events.go FreeEvent":                   "a look at a map",
	"cuda/events.go Elapsed":                     "assignments",
}

// foreign lists the packages whose functions call back into the application, or into operators: these may need a lock that is held
// meanwhile.
var foreign = map[string]bool{"program": true, "dispatch": true, "ops": true, "composite": true}

// allocating lists the functions that allocate tensor memory: without free memory they release that of other tensors, which takes further
// locks and may wait for a device.
var allocating = map[string]bool{
	"storage.New": true, "storage.NewPinned": true, "storage.Reserve": true, "storage.EmptyCache": true, "storage.FromFile": true,
	"storage.FromOpenFile": true, "storage.FromDescriptor": true, "tensor.Empty": true, "tensor.EmptyStrided": true,
}

// held is a section of a function under a lock.
type held struct {
	lock     string // the locked mutex
	from, to token.Pos
	deferred bool
}

// sections are those of a function's body, without the functions in it, which have their own.
func sections(body *ast.BlockStmt) (list []held) {
	var open []held
	var walk func(n ast.Node, deferred bool)
	walk = func(root ast.Node, deferred bool) {
		ast.Inspect(root, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return n == root
			case *ast.DeferStmt:
				walk(n.Call, true)
				return false
			case *ast.CallExpr:
				call, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || len(n.Args) > 0 {
					return true
				}
				lock := text(call.X)
				switch name := call.Sel.Name; {
				case (name == "Lock" || name == "RLock" || name == "TryLock") && !deferred:
					open = append(open, held{lock: lock, from: n.End(), to: body.End()})
				case name == "Unlock" || name == "RUnlock":
					for i := len(open) - 1; i >= 0; i-- {
						if open[i].lock == lock && !open[i].deferred {
							if open[i].deferred = deferred; !deferred {
								open[i].to = n.Pos()
								list = append(list, open[i])
								open = append(open[:i], open[i+1:]...)
							}
							break
						}
					}
				}
			}
			return true
		})
	}
	walk(body, false)
	return append(list, open...)
}

func text(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return text(x.X) + "." + x.Sel.Name
	case *ast.IndexExpr:
		return text(x.X) + "[]"
	}
	return "?"
}

// A lock is released on every path out of the function that takes it, including panics, only the project's code runs under one, and no
// tensor is created.
func TestLocksAreReleased(t *testing.T) {
	files, used, found := token.NewFileSet(), map[string]bool{}, 0
	for _, folder := range []string{"engine", "capi", "cuda"} {
		err := filepath.WalkDir("../../"+folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			name := ""
			ast.Inspect(file, func(n ast.Node) bool {
				var body *ast.BlockStmt
				switch n := n.(type) {
				case *ast.FuncDecl:
					name, body = n.Name.Name, n.Body
				case *ast.FuncLit:
					body = n.Body
				}
				if body == nil {
					return true
				}
				where := strings.TrimPrefix(filepath.ToSlash(path), "../../") + " " + name
				for _, h := range sections(body) {
					found++
					if !h.deferred {
						used[where] = true
						assert.Contains(t, undeferred, where, "%v: defer the Unlock of %s, or say why nothing before it can panic", files.Position(h.from),
							h.lock)
					}
					assert.Empty(t, visited(body, h), "%v: %s is locked meanwhile", files.Position(h.from), h.lock)
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	assert.Greater(t, found, 80)
	for name := range undeferred {
		assert.Contains(t, used, name, "it defers all; take it off the list")
	}
}

// visited are the foreign and the allocating functions that are called under a lock.
func visited(body *ast.BlockStmt, h held) (names []string) {
	ast.Inspect(body, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		if n, ok := n.(*ast.CallExpr); ok && n.Pos() > h.from && n.Pos() < h.to {
			if call, ok := n.Fun.(*ast.SelectorExpr); ok && (foreign[text(call.X)] || allocating[text(call)]) {
				names = append(names, text(call))
			}
		}
		return true
	})
	return names
}

func TestSectionsUnderLocksAreFound(t *testing.T) {
	for source, want := range map[string]string{
		"a.Lock(); defer a.Unlock(); program.Call()":                              "a deferred program.Call",
		"a.Lock(); b(); a.Unlock(); program.Call()":                               "a",
		"a.mu.Lock(); if x { a.mu.Unlock(); return }; program.Call()":             "a.mu",
		"if a.TryLock() { defer a.Unlock(); b() }; func() { program.Call() }()":   "a deferred",
		"a.Lock(); defer a.Unlock(); tensor.Empty(op)":                            "a deferred tensor.Empty",
		"defer func() { a.Lock() }()":                                             "",
		"a.RLock(); program.Call(); a.RUnlock(); b.Lock(); defer b.Unlock(); c()": "a program.Call; b deferred",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {"+source+"}", 0)
		require.NoError(t, err)
		body := file.Decls[0].(*ast.FuncDecl).Body
		var all []string
		for _, h := range sections(body) {
			words := []string{h.lock}
			if h.deferred {
				words = append(words, "deferred")
			}
			all = append(all, strings.Join(append(words, visited(body, h)...), " "))
		}
		assert.Equal(t, want, strings.Join(all, "; "), source)
	}
}
