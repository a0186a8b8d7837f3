package schema

import (
	"fmt"
	"slices"
	"strings"
)

// eachForms returns the entries that a schema with each_of represents: for each of its forms one that returns a list, and one that writes
// to the tensors of the first list.
func (o *Operator) eachForms() ([]*Operator, error) {
	if o.hasSignature() || o.AliasOf != "" || o.CopyOf != "" || o.Go != "" || o.Kernel != "" || o.Category != "" || o.Names != "" {
		return nil, fmt.Errorf("signature, alias_of, copy_of, go, kernel, category and names follow from each_of")
	}
	forms := o.Forms
	if len(forms) == 0 {
		forms = []string{"(Tensor[] self)"}
	}
	var made []*Operator
	for _, form := range forms {
		overload, params, ok := strings.Cut(form, "(")
		if !ok || !strings.HasSuffix(params, ")") || !strings.Contains(params, "Tensor[] ") {
			return nil, fmt.Errorf("the form %q is not OVERLOAD(ARGUMENTS), with a list of tensors", form)
		}
		for _, variant := range []string{"function", "inplace"} {
			if o.Variants != nil && !slices.Contains(o.Variants, variant) {
				continue
			}
			made = append(made, o.eachForm(variant == "inplace", overload, params))
		}
	}
	return made, nil
}

// eachForm returns the entry of one form, whose overload and parameters, up to their closing parenthesis, are given.
func (o *Operator) eachForm(inplace bool, overload, params string) *Operator {
	e := *o
	e.Forms, e.Variants, e.Names, e.Quantized, e.Category, e.Since = nil, []string{"function"}, "steps", "steps", "pointwise", "0.1"
	e.Python.Internal = true
	name, result := o.Name, "Tensor[]"
	others := ""
	if strings.Count(params, "[]") > 1 {
		others = ", with the corresponding items of the other lists"
	}
	e.Doc = fmt.Sprintf("Computes `%s` for each tensor of the list `self`%s. Returns a list.\n\n", o.EachOf, others)
	if inplace {
		name, result = o.Name+"_", "()"
		params = strings.Replace(params, "Tensor[] ", "Tensor(a!)[] ", 1)
		e.DTypes, e.Promotion = o.DTypesInPlace(), ""
		e.Go = Camel(o.Name+"."+overload, true) + "InPlace"
		e.Doc = fmt.Sprintf("Computes `%s` for each tensor of the list `self`%s, in place. If the shapes or dtypes of an item are not supported, "+
			"returns an error and changes nothing.\n\n", o.EachOf, others)
	}
	e.Doc = strings.TrimRight(e.Doc+o.Doc, "\n") + "\n"
	e.Called = "_" + name
	if overload != "" {
		name += ":" + overload
	}
	e.Func = name + "(" + params + " -> " + result
	return &e
}

// floatsOf are the sets of dtypes whose floats and complex numbers are those of another set.
var floatsOf = map[string]string{"all": "floats_complex", "numbers": "floats_complex", "signed": "floats_complex",
	"floating_complex": "floats_complex",
	"ordered":          "floats", "reals": "floats", "floating": "floats", "wide_floating_complex": "wide", "wide_floating": "doubles"}

// DTypesInPlace returns the dtypes that an operator takes in place: those of its results.
func (o *Operator) DTypesInPlace() string {
	floats, found := floatsOf[o.DTypes]
	switch {
	case o.Promotion == "float64 or complex128":
		return "wide_doubles"
	case o.DTypes == "all" && (o.Promotion == "accumulate" || o.Promotion == "promote_int"):
		return "numbers"
	case o.Promotion == "real":
		return "reals"
	case found && strings.HasSuffix(o.Promotion, "_float"):
		return floats
	}
	return o.DTypes
}
