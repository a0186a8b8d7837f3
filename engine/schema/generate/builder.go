package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

const builderFile = "engine/build/gen_operators.go"

// trackers are the methods that keep results, by the type.
var trackers = map[string]string{tensorType: "Track", tensorsType: "TrackAll"}

// builderMethods writes the methods of build.Builder: one for each operator that returns an error, with the arguments of its schema.
// Keyword-only arguments with defaults are left out; a second method whose name ends in With takes them too.
func builderMethods(ops []*schema.Operator, all []*function, imports map[string]string) string {
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
		if writeBuilderMethod(&b, f, o, true) {
			writeBuilderMethod(&b, f, o, false)
		}
	}
	return fileHeadOf("build", "\n"+b.String(), imports)
}

// writeBuilderMethod writes one method, and reports whether keyword-only arguments were left out.
func writeBuilderMethod(b *strings.Builder, f *function, o *schema.Operator, short bool) (shortened bool) {
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
	head := fmt.Sprintf("func (b *Builder) %s%s", name, of.builderSignature())
	switch {
	case len(f.results) == 1:
		fmt.Fprintf(b, "%s { b.Check(%s) }\n", head, call)
	case writes:
		fmt.Fprintf(b, "\n%s {\n%serr := %s\nb.Check(err)\n}\n\n", head, strings.Repeat("_, ", len(f.results)-1), call)
	case len(of.results) == 1 && trackers[of.results[0]] != "":
		fmt.Fprintf(b, "%s { return b.%s(%s) }\n", head, trackers[of.results[0]], call)
	default:
		var made, kept []string
		for i, typ := range of.results {
			r := fmt.Sprintf("r%d", i)
			made = append(made, r)
			if track := trackers[typ]; track != "" {
				r = "b." + track + "(" + r + ", nil)"
			}
			kept = append(kept, r)
		}
		fmt.Fprintf(b, "\n%s {\n%s, err := %s\nb.Check(err)\nreturn %s\n}\n\n", head, strings.Join(made, ", "), call, strings.Join(kept, ", "))
	}
	return shortened
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
