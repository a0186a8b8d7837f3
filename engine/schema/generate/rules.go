package main

import (
	"fmt"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// transforms are the packages of transforms, with the type whose methods are their rules.
var transforms = []struct {
	name, receiver, comment string
	rule                    func(o *schema.Operator) string
}{
	{"vmap", "*batch", "the batching rule derived from an operator's properties. A rule returns false to fall back to that rule, or to the loop.",
		func(o *schema.Operator) string { return o.VMap }},
	{"jvp", "*jvpCall", "the JVP derived from an operator's properties. A rule returns false to fall back to it.",
		func(o *schema.Operator) string { return o.JVP }},
}

// generateTransformRules writes the rules of transforms that the schemas name. The overloads of a name have the same rule.
func generateTransformRules(out *output, ops []*schema.Operator) error {
	for _, t := range transforms {
		var rows strings.Builder
		found := map[string]string{}
		for _, o := range ops {
			rule := t.rule(o)
			if o.AliasOf != "" {
				continue
			}
			if before, seen := found[o.Name]; seen && before != rule {
				return o.Wrong(fmt.Errorf("%s is %q, but %q for another overload", t.name, rule, before))
			} else if !seen && rule != "" {
				fmt.Fprintf(&rows, "\t%q: (%s).%s,\n", o.Name, t.receiver, rule)
			}
			found[o.Name] = rule
		}
		text := fmt.Sprintf("\n// rules override, by operator name, %s\nvar rules = map[string]func(%s) bool{\n%s}\n", t.comment, t.receiver,
			rows.String())
		out.write("engine/"+t.name+"/gen_rules.go", fileHeadOf(t.name, text, nil))
	}
	return nil
}
