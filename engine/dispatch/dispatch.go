package dispatch

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// entry describes an operator for DispatchTable. The words for its implementation are kernel, composite, rule, constant and unsupported.
type entry struct {
	id, method      string // add, and the dispatcher's method
	plain, gradient string // the implementation for plain tensors, and for those that require grad
	named           bool   // it takes tensors with names
	any             bool   // it takes tensors of every kind
	syncs           bool   // it returns an error for meta tensors
	dtypes          uint32 // a bit for each dtype that it takes
	cuda            string // the support by CUDA devices, if not complete: partly or unsupported
}

// DispatchTable describes the implementations of the operators with a name. It returns a line for each tensor kind, device type and dtype,
// with tab-separated fields: the operator, which of the three the line describes, its name, and one word.
func (c Context) DispatchTable(name string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(entryLines) {
		if id, _, _ := strings.Cut(line, " "); id != name && (!strings.HasPrefix(id, name+".") || strings.Contains(id[len(name)+1:], ".")) {
			continue
		}
		parseEntry(line).writeRows(&b)
	}
	if b.Len() == 0 {
		return "", status.Runtimef("dispatch_table: operator '%s' does not exist", name)
	}
	return b.String(), nil
}

// parseEntry reads a line of entryLines, whose last field may be missing.
func parseEntry(line string) *entry {
	f := strings.Fields(line)
	dtypes, _ := strconv.ParseUint(f[7], 0, 32)
	e := &entry{f[0], f[1], f[2], f[3], f[4] == "true", f[5] == "true", f[6] == "true", uint32(dtypes), ""}
	if len(f) > 8 {
		e.cuda = f[8]
	}
	return e
}

func (e *entry) writeRows(b *strings.Builder) {
	line := func(about, name, word string) { fmt.Fprintf(b, "%s\t%s\t%s\t%s\n", e.id, about, name, word) }
	line("kind", "dense", e.plain)
	for number := range tensor.KeyCount {
		if k := kindOf(tensor.DispatchKeys(1) << number); k != unknownKind && tensor.DispatchKeys(1)<<number != tensor.Autocast {
			line("kind", k.Name, e.implementationFor(k, tensor.DispatchKeys(1)<<number))
		}
	}
	for t := range device.Type(device.TypeCount) {
		word := e.plain
		if !backend.Registered(t) || device.Count(t) == 0 || t == device.Meta && e.syncs {
			word = "unsupported"
		} else if t == device.CUDA && e.cuda != "" {
			word = e.cuda
		}
		line("device", t.String(), word)
	}
	for i, d := range dtype.All {
		word := "unsupported"
		if e.dtypes&(1<<i) != 0 {
			word = e.plain
		}
		line("dtype", d.String(), word)
	}
	if k := kindOf(tensor.Quantized); k != unknownKind {
		for _, d := range []dtype.DType{dtype.QUint8, dtype.QInt8, dtype.QInt32} {
			line("dtype", d.String(), e.implementationFor(k, tensor.Quantized))
		}
	}
}

// implementationFor returns the implementation of the operator for a kind: one of the words of entry.
func (e *entry) implementationFor(k *TensorKind, key tensor.DispatchKeys) string {
	has := func(b *Backend) bool {
		field := reflect.ValueOf(b).Elem().FieldByName(e.method)
		return field.IsValid() && !field.IsNil()
	}
	switch {
	case key == tensor.Gradient:
		return e.gradient
	case key == tensor.Named && !e.named:
		return "unsupported"
	case e.any:
		return "kernel"
	case key == tensor.Quantized && has(&sparseOps):
		return "unsupported"
	case has(&k.Backend) || key == tensor.Named:
		return "rule"
	case e.plain == "composite":
		return "composite"
	}
	return "unsupported"
}
