package main

import (
	"fmt"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// copiesFile contains the composite operators that copy the result of a view.
const copiesFile = compositeDir + "/gen_copies.go"

// generateCopies returns the text of copiesFile.
func generateCopies(ops []*schema.Operator, declared map[string]*function) (string, error) {
	byID := map[string]*schema.Operator{}
	for _, o := range ops {
		byID[o.ID()] = o
	}
	var functions strings.Builder
	for _, o := range ops {
		if o.CopyOf == "" {
			continue
		}
		of := byID[o.CopyOf]
		f := declared[of.GoName()]
		if f == nil {
			return "", o.Wrong(fmt.Errorf("copy_of: there is no func %s", of.GoName()))
		}
		outs := len(f.params) - len(of.Args)
		params, args := []string{"c dispatch.Context"}, []string{}
		for i, p := range f.params {
			if i < outs {
				args = append(args, "nil")
				continue
			}
			name := of.Args[i-outs].Name
			params, args = append(params, name+" "+p.typ), append(args, name)
		}
		call, result := "copyViews(c, %q, view, err)", "[]*tensor.Tensor"
		if !o.Returns[0].Type.List {
			result, call = "*tensor.Tensor", "copyView(c, %q, out, view, err)"
			params = append(params[:1:1], append([]string{"out *tensor.Tensor"}, params[1:]...)...)
		}
		fmt.Fprintf(&functions, "\n// %s returns a copy of the result of %s.\nfunc %s(%s) (%s, error) {\n\tview, err := c.%s(%s)\n\treturn "+call+
			"\n}\n",
			o.GoName(), of.Name, o.GoName(), strings.Join(params, ", "), result, of.GoName(), strings.Join(args, ", "), o.Name)
	}
	imports := "import (\n"
	for _, name := range []string{"dispatch", "dtype", "ops", "tensor"} {
		if strings.Contains(functions.String(), name+".") {
			imports += "\t\"" + module + "engine/" + name + "\"\n"
		}
	}
	return goBanner + "package composite\n\n" + imports + ")\n" + functions.String(), nil
}
