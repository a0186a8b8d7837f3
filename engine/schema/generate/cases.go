package main

import (
	"encoding/json"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// testOperator describes an operator for the tests that call all operators.
type testOperator struct {
	Name     string   `json:"name"`
	ID       string   `json:"id"` // with the overload
	Go       string   `json:"go"` // other names of an operator share its function
	Node     string   `json:"node"`
	Variants []string `json:"variants"`
	Category string   `json:"category"`
	// Variadic operators take their tensors one by one in Python.
	Variadic bool       `json:"variadic"`
	Forms    []testForm `json:"forms"`
	Args     []testArg  `json:"args"`
	Returns  []string   `json:"returns"`
	Example  string     `json:"example"`
}

// testForm is one C function.
type testForm struct {
	C    string `json:"c"`
	Mode string `json:"mode"` // function, inplace, out
	// Method is set where the operator is a method only, so that the bindings have no function of its name.
	Method bool     `json:"method"`
	Types  []string `json:"types"` // of the arguments
}

type testArg struct {
	Name   string `json:"name"`
	Python string `json:"python"`
	Node   string `json:"node"`
	KwOnly bool   `json:"kwonly"`
	// Mutated arguments are written in place by every form, shared ones share their memory with a result.
	Mutated bool   `json:"mutated"`
	Shared  bool   `json:"shared"`
	Dim     bool   `json:"dim"` // may be given by name
	Default string `json:"default"`
}

// generateCases writes the list of all operators and their C functions as JSON, for tests.
func generateCases(out *output, ops []*schema.Operator) error {
	list := make([]testOperator, 0, len(ops))
	for _, o := range ops {
		t := testOperator{Name: o.Name, ID: o.ID(), Go: o.GoName(), Node: nodeName(o.Name), Variants: o.Variants, Category: o.Category,
			Variadic: o.Python.Variadic, Example: o.Example, Forms: []testForm{}, Args: []testArg{}, Returns: []string{}}
		for _, a := range o.Args {
			python := a.Name
			if python == "self" {
				python = "input"
			}
			t.Args = append(t.Args, testArg{a.Name, python, nodeArgName(a.Name), a.KwOnly, a.Mutated, a.AliasSet != "", a.Dim, a.Default})
		}
		for _, r := range o.Returns {
			t.Returns = append(t.Returns, r.Type.String())
		}
		for _, f := range listFunctions(o) {
			types := []string{}
			for i, a := range o.Args {
				kind := a.Type
				kind.Base = f.baseType(i)
				types = append(types, kind.String())
			}
			t.Forms = append(t.Forms, testForm{f.cName(), f.mode, !o.Has("function"), types})
		}
		list = append(list, t)
	}
	var text strings.Builder
	for i, t := range list {
		line, err := json.Marshal(t)
		if err != nil {
			return err
		}
		text.WriteString(map[bool]string{true: "[\n", false: ",\n"}[i == 0] + string(line))
	}
	out.write("capi/test/gen_operators.json", text.String()+"\n]\n")
	return nil
}
