package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// arity is how many parameters and results, but for the error, a method of the façade has.
type arity struct{ params, results int }

// name is what the names of its type and its function end with.
func (a arity) name() string { return fmt.Sprintf("%dx%d", a.params, a.results) }

// list is a comma-separated list of n items.
func list(n int, item func(i int) string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item(i)
	}
	return strings.Join(items, ", ")
}

// declares is the function of an arity: what boxes the calls of a method. Inlined it would be there once for each row of the table.
func (a arity) declares() string {
	p := func(i int) string { return fmt.Sprintf("P%d", i) }
	r := func(i int) string { return fmt.Sprintf("R%d", i) }
	all := append(strings.Split(list(a.params, p), ", "), strings.Split(list(a.results, r), ", ")...)
	names := strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), ", ")
	typed := func(prefix string, n int, last string) string {
		return list(n+1, func(i int) string {
			if i == n {
				return last
			}
			return fmt.Sprintf("%s%d %s%d", strings.ToLower(prefix), i, prefix, i)
		})
	}
	places := func(of, prefix string, n int) string {
		return list(n, func(i int) string { return fmt.Sprintf("%s%s%d", of, prefix, i) })
	}
	method := fmt.Sprintf("func(Ctx, %s) (%s)", list(a.params, p), strings.TrimPrefix(list(a.results, r)+", error", ", "))
	var b strings.Builder
	fmt.Fprintf(&b, "\n//go:noinline\nfunc box%s[%s any](whole %s) boxer {\nreturn func(o *Operator, does Boxed) any {\n", a.name(), names, method)
	fmt.Fprintf(&b, "return func(c Ctx, %s) (%s) {\n", strings.TrimSuffix(typed("P", a.params, ""), ", "), typed("R", a.results, "err error"))
	fmt.Fprintf(&b, "err = does(c, &Call{o, []any{%s}, []any{%s}, func(c Ctx, does any) (err error) {\n", places("&", "p", a.params), places("&", "r", a.results))
	fmt.Fprintf(&b, "run := whole\nif does != nil {\nrun = does.(%s)\n}\n", method)
	fmt.Fprintf(&b, "%s = run(c, %s)\nreturn err\n}})\nreturn %s\n}\n}\n}\n", strings.TrimPrefix(places("", "r", a.results)+", err", ", "), places("", "p", a.params), strings.TrimPrefix(places("", "r", a.results)+", err", ", "))
	return b.String()
}

// generateBoxed writes the table of boxed operators: what a layer that serves all of them alike knows of each.
func generateBoxed(out *output, ops []*schema.Operator, all []*function) {
	first := map[string]*schema.Operator{}
	for _, o := range ops {
		if o.AliasOf == "" {
			first[o.GoName()] = o
		}
	}
	arities := map[arity]bool{}
	var rows strings.Builder
	for _, f := range all {
		if f.keys() == "" && f.table == "" {
			continue
		}
		o := first[f.name]
		if f.any || f.keys() == "" || o == nil {
			continue
		}
		a := arity{len(f.params), len(f.results) - 1}
		arities[a] = true
		outs := len(f.params) - len(o.Args)
		var names []string
		var writes, dims uint32
		for i, p := range f.params {
			name := "out"
			if i >= outs {
				name = o.Args[i-outs].Name
				if o.IsDim(i - outs) {
					dims |= 1 << i
				}
			}
			names = append(names, name)
			if slices.Contains(f.written, p) {
				writes |= 1 << i
			}
		}
		var facts []string
		for _, tag := range []string{"elementwise", "view", "syncs", "random", "linear", "multilinear"} {
			if o.Tagged(tag) {
				facts = append(facts, strings.ToUpper(tag[:1])+tag[1:])
			}
		}
		if f.constant {
			facts = append(facts, "Constant")
		}
		if f.table != "" && len(o.Derivatives.Of) > 0 {
			facts = append(facts, "Derived")
		}
		steps := "nil"
		if f.table != "" {
			steps = "&" + f.table
		}
		fmt.Fprintf(&rows, "\t{%q, %q, %q, %d, %#x, %#x, %q, %s, %q, box%s(Ctx.%s), %s},\n", o.Name, o.Category, strings.Join(names, " "), outs, writes, dims, o.NameRule(),
			orZero(strings.Join(facts, "|")), f.name, a.name(), f.name, steps)
	}
	var types strings.Builder
	for _, a := range slices.SortedFunc(maps.Keys(arities), func(a, b arity) int { return (a.params-b.params)*100 + a.results - b.results }) {
		types.WriteString(a.declares())
	}
	out.write(facadeDir+"/gen_boxed.go", headerOf("aten", types.String(), nil))
	out.write(facadeDir+"/gen_operators.go", headerOf("aten", "\n// operators are those that calls are boxed of.\nvar operators = [...]Operator{\n"+rows.String()+"}\n", nil))
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}
