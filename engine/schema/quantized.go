package schema

import "fmt"

// QuantizedRules are the values of `quantized:` in a schema: the rule for quantized tensors. Each but the last four is implemented by a
// function of engine/quantized, such as applyMoveRule for move, which the generated code calls.
var QuantizedRules = map[string]string{
	"view":        "the view of the integers; channels follow their dimension, and return an error where it is split or joined with others",
	"move":        "the integers, elsewhere; channels follow where each index of a dimension of the result has one",
	"join":        "as move, of a list of tensors, which are all quantized as the first is",
	"rank":        "the integers that the operator finds by their order, which is that of the numbers; not across channels",
	"index":       "what the operator finds out about the order of the integers; not across channels",
	"place":       "the integers, among which the numbers that are put are quantized as those that are there, with the scale of their channel",
	"numbers":     "of the numbers, quantized as the first quantized tensor is",
	"answer":      "what the operator says of the numbers",
	"past":        "what the operator does with the tensor, of whose elements it sees nothing",
	"own":         "the operator is about quantized tensors, or sees to them itself",
	"steps":       "what the steps of a composition make of them",
	"unsupported": "the operator takes no quantized tensor",
}

// QuantizedRule returns the rule for quantized tensors: the schema's, or the one that follows from its other fields.
func (o *Operator) QuantizedRule() string {
	switch {
	case o.Quantized != "":
		return o.Quantized
	case o.Category == "quantized", o.Tagged("metadata"):
		return "own"
	case o.Category == "view" && len(o.Args) > 0 && o.Args[0].Type == (Type{Base: "Tensor"}):
		return "view"
	}
	return "unsupported"
}

func (o *Operator) checkQuantizedRule() error {
	if _, ok := QuantizedRules[o.Quantized]; !ok && o.Quantized != "" {
		return fmt.Errorf("quantized %q is not a known rule", o.Quantized)
	}
	return nil
}
