package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

const builderFile = "engine/build/gen_operators.go"

// trackers are the methods that keep results, by the type.
var trackers = map[string]string{tensorType: "Track", tensorsType: "TrackAll"}

// readBuilderCalls returns the names that files of packages with builders select from a Builder, or from another value that is not a
// dispatcher.
func readBuilderCalls() (map[string]bool, error) {
	called := map[string]bool{}
	for _, pattern := range []string{"engine/*", "cuda"} {
		folders, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, folder := range folders {
			if err := readSelections(folder, called); err != nil {
				return nil, err
			}
		}
	}
	return called, nil
}

// readSelections adds the names that the files of a folder select, if one of them imports build or is in it.
func readSelections(folder string, called map[string]bool) error {
	paths, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		return err
	}
	names := map[string]bool{}
	builds := folder == filepath.Dir(builderFile)
	for _, path := range paths {
		if path == builderFile {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		builds = builds || slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+module+`engine/build"` })
		ast.Inspect(file, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok && !isDispatcher(x.X) {
				names[x.Sel.Name] = true
			}
			return true
		})
	}
	if builds {
		maps.Copy(called, names)
	}
	return nil
}

// isDispatcher reports whether an expression is a dispatcher's context or table by its form: c, x.c, x.C or a call.
func isDispatcher(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return strings.EqualFold(x.Sel.Name, "c")
	case *ast.Ident:
		return x.Name == "c" || x.Name == "ops"
	case *ast.CallExpr:
		return true
	}
	return false
}

// builderMethods writes the methods of build.Builder that are called: one for an operator that returns an error, with the arguments of its
// schema. Keyword-only arguments with defaults are left out; a second method whose name ends in With takes them too.
func builderMethods(ops []*schema.Operator, all []*function, imports map[string]string) (string, error) {
	called, err := readBuilderCalls()
	if err != nil {
		return "", err
	}
	operators := map[string]*schema.Operator{}
	for _, o := range ops {
		if operators[o.GoName()] == nil {
			operators[o.GoName()] = o
		}
	}
	var b strings.Builder
	for _, f := range all {
		o := operators[f.name]
		if n := len(f.results); f.table == "autograd" || n == 0 || f.results[n-1] != "error" || o.EachOf != "" || o.Deprecated != "" ||
			o.Category == "file" {
			continue
		}
		short, shortened := builderMethod(f, o, true)
		if called[f.name] {
			b.WriteString(short)
		}
		if shortened && called[f.name+"With"] {
			long, _ := builderMethod(f, o, false)
			b.WriteString(long)
		}
	}
	return fileHeadOf("build", b.String(), imports), nil
}

// builderMethod returns one method, and whether keyword-only arguments were left out.
func builderMethod(f *function, o *schema.Operator, short bool) (text string, shortened bool) {
	outs := len(f.params) - len(o.Args)
	var params []param
	args := make([]string, len(f.params))
	for i, p := range f.params {
		if i < outs {
			args[i] = "nil"
			continue
		}
		a := o.Args[i-outs]
		if value, ok := goDefault(a.Default, p.typ); short && ok && a.KwOnly {
			args[i], shortened = value, true
			continue
		}
		if p.name == "b" { // the builder
			p.name = "second"
		}
		args[i] = p.name
		params = append(params, p)
	}
	if last := len(params) - 1; last >= 0 && short && params[last].typ == "[]int64" {
		params[last].typ = "...int64"
	}
	name := f.name
	if !short {
		name += "With"
	}
	of := &function{params: params, results: f.results[:len(f.results)-1]}
	writes := slices.ContainsFunc(o.Args, func(a schema.Arg) bool { return a.Mutated })
	if writes {
		of.results = nil
	}
	call := fmt.Sprintf("b.C.%s(%s)", f.name, strings.Join(args, ", "))
	head := fmt.Sprintf("\nfunc (b *Builder) %s%s {\n", name, of.builderSignature())
	switch {
	case len(f.results) == 1:
		return head + fmt.Sprintf("b.Check(%s)\n}\n", call), shortened
	case writes:
		return head + fmt.Sprintf("%serr := %s\nb.Check(err)\n}\n", strings.Repeat("_, ", len(f.results)-1), call), shortened
	case len(of.results) == 1 && trackers[of.results[0]] != "":
		return head + fmt.Sprintf("return b.%s(%s)\n}\n", trackers[of.results[0]], call), shortened
	}
	var made, kept []string
	for i, typ := range of.results {
		r := fmt.Sprintf("r%d", i)
		made = append(made, r)
		if track := trackers[typ]; track != "" {
			r = "b." + track + "(" + r + ", nil)"
		}
		kept = append(kept, r)
	}
	results, owned := strings.Join(made, ", "), strings.Join(kept, ", ")
	return head + fmt.Sprintf("%s, err := %s\nb.Check(err)\nreturn %s\n}\n", results, call, owned), shortened
}

// builderSignature returns the parameters and the results without the error.
func (f *function) builderSignature() string {
	params, _, _ := strings.Cut(f.formatSignature(false), ") (")
	switch len(f.results) {
	case 0:
		return params + ")"
	case 1:
		return params + ") " + f.results[0]
	}
	return params + ") (" + strings.Join(f.results, ", ") + ")"
}
