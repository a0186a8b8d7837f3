package schema

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Derivatives are the gradients of an operator's arguments, as expressions of the gradient of its result, which the generator
// compiles. The text "none" represents an operator whose results do not depend on its arguments smoothly anywhere.
type Derivatives struct {
	None     bool
	Composed string            // instead of derivatives: the operator in terms of others
	Node     string            // the name of the node, if it is not that of the operator
	Of       map[string]string // by argument
}

// UnmarshalYAML reads the word none or the map.
func (d *Derivatives) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		d.None = node.Value == "none"
		if !d.None {
			return fmt.Errorf("derivatives: %q is neither none nor a map", node.Value)
		}
		return nil
	}
	if err := node.Decode(&d.Of); err != nil {
		return err
	}
	d.Composed, d.Node = d.Of["composed"], d.Of["node"]
	delete(d.Of, "composed")
	delete(d.Of, "node")
	return nil
}

// Given reports whether the schema has a derivative of the operator.
func (d *Derivatives) Given() bool { return d.Composed != "" || len(d.Of) > 0 }

// checkDerivatives holds the names to the arguments.
func (o *Operator) checkDerivatives() error {
	d := &o.Derivatives
	if d.Composed != "" && len(d.Of) > 0 {
		return fmt.Errorf("derivatives: what is composed has the derivatives of its parts")
	}
	if o.AliasOf != "" && (d.None || d.Given()) {
		return fmt.Errorf("derivatives are those of %s", o.AliasOf)
	}
	for name := range d.Of {
		i := slices.IndexFunc(o.Args, func(a Arg) bool { return a.Name == name })
		if i < 0 {
			return fmt.Errorf("derivatives: no argument is called %s", name)
		}
		if base := o.Args[i].Type.Base; base != "Tensor" && base != "Operand" {
			return fmt.Errorf("derivatives: %s is no tensor", name)
		}
	}
	return nil
}

// constantCategories lists the categories of operators whose results do not depend on the values of their arguments.
var constantCategories = []string{"creation", "random", "query", "storage", "file", "comparison", "gradient"}

// Constant reports whether no gradient flows through the operator: it returns no tensor, or none that has one.
func (o *Operator) Constant() bool {
	if o.Derivatives.Given() || o.Derivatives.Node != "" { // whose node has that name
		return false
	}
	changes := slices.ContainsFunc(o.Args, func(a Arg) bool { return a.Mutated })
	gives := slices.ContainsFunc(o.Returns, func(r Arg) bool { return r.Type.Base == "Tensor" })
	return o.Derivatives.None || !changes && (!gives || o.Promotion == "bool" || slices.Contains(constantCategories, o.Category))
}
