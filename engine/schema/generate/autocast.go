package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// generateAutocast writes the policies of operators, by the dispatcher's methods. It returns an error for an operator that cannot be boxed.
func generateAutocast(out *output, ops []*schema.Operator, all []*function, policies map[string][]string) error {
	rows := map[string]string{}
	for _, o := range ops {
		of, ok := policies[o.Name]
		if !ok || o.AliasOf != "" {
			continue
		}
		i := slices.IndexFunc(all, func(f *function) bool { return f.name == o.GoName() })
		if i < 0 || all[i].keysExpression() == "" {
			return o.Wrong(fmt.Errorf("autocast.yaml names it, but calls of it are not boxed"))
		}
		words := make([]string, len(of))
		for k, policy := range of {
			if words[k] = "AsGiven"; policy != "" {
				words[k] = schema.Camel(policy, true)
			}
		}
		rows[all[i].name] = fmt.Sprintf("\t%q: {%s},\n", all[i].name, strings.Join(words, ", "))
	}
	var b strings.Builder
	b.WriteString("\n// policies are what autocast does with the arguments of the dispatcher's methods, for each of AutocastDevices.\nvar policies = map[string][len(AutocastDevices)]Policy{\n")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		b.WriteString(rows[name])
	}
	b.WriteString("}\n")
	out.write(facadeDir+"/gen_autocast.go", fileHeadOf("dispatch", b.String(), nil))
	return nil
}
