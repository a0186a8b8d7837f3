package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// generateBoxed writes the table of boxed operators, with the properties that generic boxed code needs.
func generateBoxed(out *output, ops []*schema.Operator, all []*function) {
	first := map[string]*schema.Operator{}
	for _, o := range ops {
		if o.AliasOf == "" {
			first[o.GoName()] = o
		}
	}
	var rows strings.Builder
	var categories, nameRules stringTable
	for _, f := range all {
		if f.keysExpression() == "" && f.table == "" {
			continue
		}
		o := first[f.name]
		if f.any || f.keysExpression() == "" || o == nil {
			continue
		}
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
		if o.Tagged("maybe_view") {
			facts = append(facts, "MaybeView")
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
		fmt.Fprintf(&rows, "\t{%q, %d, %q, %d, %#x, %#x, %d, %s, %q, Context.%s, %s},\n", o.Name, categories.add(o.Category),
			strings.Join(names, " "), outs, writes, dims, nameRules.add(o.NameRule()),
			orZero(strings.Join(facts, "|")), f.name, f.name, steps)
	}
	out.write(facadeDir+"/gen_operators.go", fileHeadOf("dispatch", "\nvar (\n\tcategories = "+categories.goArray()+"\n\tnameRules = "+
		nameRules.goArray()+"\n)\n\n// operators are those that calls are boxed of.\nvar operators = [...]Operator{\n"+rows.String()+"}\n", nil))
}

// stringTable numbers distinct strings.
type stringTable []string

// add returns the number of a string, which is added if it is new.
func (x *stringTable) add(s string) int {
	if i := slices.Index(*x, s); i >= 0 {
		return i
	}
	*x = append(*x, s)
	return len(*x) - 1
}

// goArray returns the strings as an array in Go.
func (x *stringTable) goArray() string {
	text := ""
	for _, s := range *x {
		text += fmt.Sprintf("%q, ", s)
	}
	return "[...]string{" + text + "}"
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}
