package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema"
)

// generateOperators writes the dispatcher's table of operators: what boxed calls need, and what DispatchTable reports that the backends do
// not contain.
func generateOperators(out *output, ops []*schema.Operator, all []*function, served map[string]map[string]string) error {
	first, public := map[string]*schema.Operator{}, map[string][]*schema.Operator{}
	for _, o := range ops {
		if o.AliasOf == "" {
			first[o.GoName()] = o
		}
	}
	for _, o := range schema.Public(ops) {
		public[o.GoName()] = append(public[o.GoName()], o)
	}
	var boxed, unboxed strings.Builder
	var categories, nameRules stringTable
	for _, f := range all {
		o := first[f.name]
		if f.keysExpression() == "" && !f.any || o == nil {
			continue
		}
		dtypes, cuda := acceptedDTypes(o), deviceWord(served[o.ID()])
		var ids []string
		for _, a := range public[f.name] {
			if acceptedDTypes(a) != dtypes || a.NameRule() != o.NameRule() || deviceWord(served[a.ID()]) != cuda {
				return a.Wrong(fmt.Errorf("its dtypes, its rule for names or its support by devices is not that of %s", o.ID()))
			}
			ids = append(ids, a.ID())
		}
		steps := "nil"
		if f.table != "" {
			steps = "&" + f.table
		}
		params := paramsOfCall(f, o)
		rows := &boxed
		if f.any {
			rows = &unboxed
		}
		fmt.Fprintf(rows, "\t{%q, %q, %d, %q, %d, %#x, %#x, %d, %s, %#x, %q, Context.%s, %s},\n",
			o.Name, strings.Join(ids, " "), categories.add(o.Category), params.names, params.outs, params.writes, params.dims,
			nameRules.add(o.NameRule()), orZero(strings.Join(append(factsOf(f, o), cudaFacts[cuda]...), "|")), dtypes, f.name, f.name, steps)
	}
	text := fmt.Sprintf("\nvar (\n\tcategories = %s\n\tnameRules = %s\n)\n\n"+
		"// operators are those of tensors, in the order of the schema; the last %d are not boxed.\nvar operators = [...]Operator{\n%s}\n\n"+
		"const unboxed = %[3]d\n", categories.goArray(), nameRules.goArray(), strings.Count(unboxed.String(), "\n"),
		boxed.String()+unboxed.String())
	out.write(facadeDir+"/gen_operators.go", fileHeadOf("dispatch", text, nil))
	return nil
}

// cudaFacts are the facts for the words of deviceWord.
var cudaFacts = map[string][]string{"unsupported": {"CUDAUnsupported"}, "partly": {"CUDAPartly"}}

// factsOf returns the names of the facts of an operator, except for devices.
func factsOf(f *function, o *schema.Operator) (facts []string) {
	for _, tag := range []string{"elementwise", "view", "syncs", "random", "linear", "multilinear"} {
		if o.Tagged(tag) {
			facts = append(facts, strings.ToUpper(tag[:1])+tag[1:])
		}
	}
	for _, fact := range []struct {
		name  string
		holds bool
	}{
		{"MaybeView", o.Tagged("maybe_view")},
		{"Constant", f.constant},
		{"Derived", f.table != "" && len(o.Derivatives.Of) > 0},
		{"GradientRule", o.Derivatives.Composed != "" || len(o.Derivatives.Of) > 0 || o.Tagged("view") && f.table == ""},
		{"AnyKind", f.any},
	} {
		if fact.holds {
			facts = append(facts, fact.name)
		}
	}
	return facts
}

// callParams describes the parameters of a boxed call.
type callParams struct {
	names        string
	outs         int
	writes, dims uint32
}

func paramsOfCall(f *function, o *schema.Operator) (c callParams) {
	c.outs = len(f.params) - len(o.Args)
	var names []string
	for i, p := range f.params {
		name := "out"
		if i >= c.outs {
			name = o.Args[i-c.outs].Name
			if o.IsDim(i - c.outs) {
				c.dims |= 1 << i
			}
		}
		names = append(names, name)
		if slices.Contains(f.written, p) {
			c.writes |= 1 << i
		}
	}
	c.names = strings.Join(names, " ")
	return c
}

// acceptedDTypes returns a bit for each dtype that an operator takes.
func acceptedDTypes(o *schema.Operator) (dtypes uint32) {
	for i, d := range dtype.All {
		if o.Accepts(d) {
			dtypes |= 1 << i
		}
	}
	return dtypes
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
