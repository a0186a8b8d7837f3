package owner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scopes finds the variables of one package's functions that hold a new scope, and those whose scope is closed.
type scopes struct {
	infallible map[string]bool // constructors that only return a literal, so that nothing in them fails
}

// isScope reports whether an expression makes a scope, or a type that embeds one, without calling anything that can fail.
func (p scopes) isScope(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.UnaryExpr:
		return x.Op == token.AND && p.isScope(x.X)
	case *ast.CallExpr:
		switch f := x.Fun.(type) {
		case *ast.Ident:
			return p.infallible[f.Name]
		case *ast.SelectorExpr:
			return text(f) == "build.New"
		}
	case *ast.CompositeLit:
		if text(x.Type) == "owner.Scope" || text(x.Type) == "build.Builder" {
			return true
		}
		for _, e := range x.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			if p.isScope(e) {
				return true
			}
		}
	}
	return false
}

// addConstructors notes the functions that consist of a return of a new scope.
func (p scopes) addConstructors(file *ast.File) (added bool) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Body == nil || len(f.Body.List) != 1 || p.infallible[f.Name.Name] {
			continue
		}
		if r, ok := f.Body.List[0].(*ast.ReturnStmt); ok && len(r.Results) == 1 && p.isScope(r.Results[0]) {
			p.infallible[f.Name.Name], added = true, true
		}
	}
	return added
}

// closedName returns the variable of a deferred Close(&err), or of a deferred ReleaseAll or Close of a scope without an error.
func closedName(s ast.Stmt) (name string, withError bool) {
	d, ok := s.(*ast.DeferStmt)
	if !ok {
		return "", false
	}
	f, ok := d.Call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Close" && f.Sel.Name != "ReleaseAll" {
		return "", false
	}
	return text(f.X), f.Sel.Name == "Close" && len(d.Call.Args) == 1
}

// returns reports whether a block returns a variable, first of its results.
func returns(list []ast.Stmt, name string) bool {
	return slices.ContainsFunc(list, func(s ast.Stmt) bool {
		r, ok := s.(*ast.ReturnStmt)
		return ok && len(r.Results) > 0 && text(r.Results[0]) == name
	})
}

// unclosed returns the complaints about one block of statements, and the number of scopes in it.
func (p scopes) unclosed(list []ast.Stmt) (complaints []string, found int) {
	for i, s := range list {
		if a, ok := s.(*ast.AssignStmt); ok && len(a.Lhs) == 1 && len(a.Rhs) == 1 && a.Tok == token.DEFINE && p.isScope(a.Rhs[0]) {
			found++
			name := text(a.Lhs[0])
			if returns(list, name) {
				continue // a constructor that returns errors, for a function that closes at once
			}
			if i+1 == len(list) {
				complaints = append(complaints, name+" is not closed")
			} else if closed, _ := closedName(list[i+1]); closed != name {
				complaints = append(complaints, "the statement after "+name+" is not its deferred Close")
			}
		}
		if name, withError := closedName(s); withError {
			made := i == 0 // the function closes a scope that it is given
			if i > 0 {
				a, ok := list[i-1].(*ast.AssignStmt)
				made = ok && len(a.Lhs) == 1 && text(a.Lhs[0]) == name && p.isScope(a.Rhs[0])
			}
			if !made {
				complaints = append(complaints, "the statement before the deferred Close of "+name+" may fail, or is not its scope")
			}
		}
	}
	return complaints, found
}

// returnedReleased lists the tensors among a function's named results that its body assigns while it owns a scope: an error that ended it
// would return them although they are released.
func returnedReleased(f *ast.FuncType, body *ast.BlockStmt) (names []string) {
	closes := func(s ast.Stmt) bool {
		_, withError := closedName(s)
		return withError
	}
	if f.Results == nil || body == nil || !slices.ContainsFunc(body.List, closes) {
		return nil
	}
	results := map[string]bool{}
	for _, r := range f.Results.List {
		of := r.Type
		if list, ok := of.(*ast.ArrayType); ok {
			of = list.Elt
		}
		if to, ok := of.(*ast.StarExpr); ok && text(to.X) == "tensor.Tensor" {
			for _, name := range r.Names {
				results[name.Name] = name.Name != "_"
			}
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for _, to := range a.Lhs {
				if i, ok := to.(*ast.IndexExpr); ok {
					to = i.X
				}
				if name := text(to); results[name] && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		return true
	})
	return names
}

// A function that an error ends returns no tensors: its scope has released them.
func TestEndedFunctionsReturnNothing(t *testing.T) {
	files := token.NewFileSet()
	for _, root := range []string{"../../engine", "../../cuda"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch f := n.(type) {
				case *ast.FuncDecl:
					assert.Empty(t, returnedReleased(f.Type, f.Body), "%v: name the results _", files.Position(n.Pos()))
				case *ast.FuncLit:
					assert.Empty(t, returnedReleased(f.Type, f.Body), "%v: name the results _", files.Position(n.Pos()))
				}
				return true
			})
			return nil
		}))
	}
}

// sharing lists the functions that call a function from several goroutines.
var sharing = map[string]bool{"parallel.For": true, "parallel.ForInterruptible": true, "shareRooms": true, "pieces": true}

// failing lists the methods of scopes that end a function.
var failing = map[string]bool{
	"Check": true, "CheckWritten": true, "Failf": true, "Track": true, "TrackAll": true, "Number": true, "ReturnNew": true,
}

// endedElsewhere lists the calls that would end a function on another goroutine than the one that closes the scope.
func endedElsewhere(n ast.Node) (calls []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok || !sharing[text(c.Fun)] {
			return true
		}
		for _, a := range c.Args {
			f, ok := a.(*ast.FuncLit)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					if s, ok := c.Fun.(*ast.SelectorExpr); ok && failing[s.Sel.Name] {
						calls = append(calls, text(s))
					}
				}
				return true
			})
		}
		return true
	})
	return calls
}

// The functions that goroutines share return errors: a scope ends only functions of the goroutine that closes it.
func TestScopesEndNoOtherGoroutines(t *testing.T) {
	files, found := token.NewFileSet(), 0
	for _, root := range []string{"../../engine", "../../cuda"} {
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok && sharing[text(c.Fun)] {
					found++
				}
				return true
			})
			assert.Empty(t, endedElsewhere(file), "%s: return the error from the function", path)
			return nil
		}))
	}
	assert.Greater(t, found, 50)
	file, err := parser.ParseFile(token.NewFileSet(), "",
		"package p\nfunc f() { parallel.For(n, 1, func(begin, end int64) { s.Check(g()) }); s.Check(h()) }", 0)
	require.NoError(t, err)
	assert.Equal(t, []string{"s.Check"}, endedElsewhere(file))
}

// An error between the creation of a scope and its deferred Close would not be returned but end the process: nothing is between them, and
// no constructor of a scope can fail.
func TestScopesAreClosedAtOnce(t *testing.T) {
	found := 0
	for _, root := range []string{"../../engine", "../../cuda"} {
		folders := map[string][]*ast.File{}
		files := token.NewFileSet()
		require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], file)
			return err
		}))
		for _, sources := range folders {
			p := scopes{map[string]bool{}}
			for again := true; again; {
				again = false
				for _, f := range sources {
					again = p.addConstructors(f) || again
				}
			}
			for _, f := range sources {
				ast.Inspect(f, func(n ast.Node) bool {
					var list []ast.Stmt
					switch n := n.(type) {
					case *ast.BlockStmt:
						list = n.List
					case *ast.CaseClause:
						list = n.Body
					}
					complaints, n2 := p.unclosed(list)
					found += n2
					for _, c := range complaints {
						assert.Fail(t, c, "%v", files.Position(n.Pos()))
					}
					return true
				})
			}
		}
	}
	assert.Greater(t, found, 400)
}

func TestUnclosedScopesAreFound(t *testing.T) {
	p := scopes{map[string]bool{"newScope": true}}
	for source, want := range map[string]string{
		"s := newScope(op); defer s.Close(&err); f()":                       "",
		"s := &pooler{newScope(op), k}; defer s.Close(&err)":                "",
		"s := owner.Scope{Op: op}; defer s.ReleaseAll()":                    "",
		"s := build.New(c, op); f(); defer s.Close(&err)":                   "the statement after s is not its deferred Close; the statement before the deferred Close of s may fail, or is not its scope",
		"s := newSampler(op); defer s.Close(&err)":                          "the statement before the deferred Close of s may fail, or is not its scope",
		"s := newScope(op)":                                                 "s is not closed",
		"defer s.Close(&err); f()":                                          "",
		"s := &steps{build.New(c, op)}; s.fill(); return s, nil":            "",
		"s := newScope(op); defer other.Close(&err)":                        "the statement after s is not its deferred Close; the statement before the deferred Close of other may fail, or is not its scope",
		"source, err := file.Open(op); defer source.Close()":                "",
		"p := pool{Builder: build.New(c, op), n: n}; defer p.Close(&err)":   "",
		"p := pool{Builder: build.Builder{C: c}}; defer p.Close(&err); q()": "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {"+source+"}", 0)
		require.NoError(t, err)
		complaints, _ := p.unclosed(file.Decls[0].(*ast.FuncDecl).Body.List)
		assert.Equal(t, want, strings.Join(complaints, "; "), source)
	}
}
