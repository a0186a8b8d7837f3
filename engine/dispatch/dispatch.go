package dispatch

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// DispatchTable describes the implementations of the operators with a name. It returns a line for each tensor kind, device type and dtype,
// with tab-separated fields: the operator, which of the three the line describes, its name, and one word.
func (c Context) DispatchTable(name string) (string, error) {
	var b strings.Builder
	for i := range operators {
		o := &operators[i]
		for id := range strings.FieldsSeq(o.ids) {
			if id == name || strings.HasPrefix(id, name+".") && !strings.Contains(id[len(name)+1:], ".") {
				o.writeRows(&b, id)
			}
		}
	}
	if b.Len() == 0 {
		return "", status.Runtimef("dispatch_table: operator '%s' does not exist", name)
	}
	return b.String(), nil
}

// writeRows writes the lines of DispatchTable for the operator by one of its names.
func (o *Operator) writeRows(b *strings.Builder, id string) {
	line := func(about, name, word string) { fmt.Fprintf(b, "%s\t%s\t%s\t%s\n", id, about, name, word) }
	plain := "kernel"
	if o.Composed() {
		plain = "composite"
	}
	line("kind", "dense", plain)
	for number := range tensor.KeyCount {
		if k := kindOf(tensor.DispatchKeys(1) << number); k != unknownKind && tensor.DispatchKeys(1)<<number != tensor.Autocast {
			line("kind", k.Name, o.implementationFor(k, tensor.DispatchKeys(1)<<number))
		}
	}
	for t := range device.Type(device.TypeCount) {
		word := plain
		if !backend.Registered(t) || device.Count(t) == 0 || t == device.Meta && o.Is(Syncs) || t == device.CUDA && o.Is(CUDAUnsupported) {
			word = "unsupported"
		} else if t == device.CUDA && o.Is(CUDAPartly) {
			word = "partly"
		}
		line("device", t.String(), word)
	}
	for i, d := range dtype.All {
		word := "unsupported"
		if o.dtypes&(1<<i) != 0 {
			word = plain
		}
		line("dtype", d.String(), word)
	}
	if k := kindOf(tensor.Quantized); k != unknownKind {
		for _, d := range []dtype.DType{dtype.QUint8, dtype.QInt8, dtype.QInt32} {
			line("dtype", d.String(), o.implementationFor(k, tensor.Quantized))
		}
	}
}

// implementationFor returns the implementation of the operator for a kind: kernel, composite, rule, constant or unsupported.
func (o *Operator) implementationFor(k *TensorKind, key tensor.DispatchKeys) string {
	has := func(b *Backend) bool {
		field := reflect.ValueOf(b).Elem().FieldByName(o.method)
		return field.IsValid() && !field.IsNil()
	}
	switch {
	case key == tensor.Gradient && (o.Is(AnyKind) || o.Is(Constant)):
		return "constant"
	case key == tensor.Gradient && o.Is(GradientRule):
		return "rule"
	case key == tensor.Gradient:
	case key == tensor.Named && o.Names() == "unsupported":
		return "unsupported"
	case o.Is(AnyKind):
		return "kernel"
	case key == tensor.Quantized && has(&sparseOps):
		return "unsupported"
	case has(&k.Backend) || key == tensor.Named:
		return "rule"
	}
	if o.Composed() {
		return "composite"
	}
	return "unsupported"
}
