package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/schema/dtypes"
)

// nodeEntry is a name in JavaScript and the overloads behind it.
type nodeEntry struct {
	path       string // "add", "linalg.norm"
	overloads  []*schema.Operator
	functional bool // whether it is in the namespace nn, too
	spelling   spelling
}

// nodeName turns a_name into aName, keeping underscores at the end, which mark operators that work in place.
func nodeName(name string) string {
	parts := strings.Split(name, ".")
	for i, part := range parts {
		core := strings.Trim(part, "_")
		at := strings.Index(part, core)
		parts[i] = part[:at] + schema.Camel(core, false) + part[at+len(core):]
	}
	return strings.Join(parts, ".")
}

// nodeArgName returns the argument's name in options and declarations. Functions show self as input.
func nodeArgName(name string) string {
	if name == "self" {
		return "input"
	}
	return schema.Camel(strings.Trim(name, "_"), false)
}

// nodeHas reports whether an operator can be called from JavaScript: it has no addresses but those of a function. Hooks on saved
// tensors, which asynchronous calls inherit, are pushed and popped by the addon itself.
func nodeHas(o *schema.Operator) bool {
	isPointer := func(a schema.Arg) bool { return a.Type.Base == "pointer" && !nodeIsCallback(a) }
	return !slices.ContainsFunc(nodeArgs(o), isPointer) && !slices.ContainsFunc(o.Returns, isPointer) && o.Name != "pop_saved_tensors_hooks"
}

func nodeIsCallback(a schema.Arg) bool { return a.Type.Function == "tensor_callback" }

// nodeArgs returns the arguments in JavaScript, where a function replaces a callback with its context and its deleter, which are last.
func nodeArgs(o *schema.Operator) []schema.Arg {
	if i := slices.IndexFunc(o.Args, nodeIsCallback); i >= 0 {
		return o.Args[:i+1]
	}
	return o.Args
}

// owner is the class other than Tensor of which an operator is a method: storage_nbytes of Storage, generator_seed of Generator.
func nodeOwner(o *schema.Operator) string {
	if len(o.Args) > 0 && o.Args[0].Name == "self" {
		switch base := o.Args[0].Type.Base; base {
		case "Storage", "Generator":
			return base
		}
	}
	return ""
}

func nodeEntries(ops []*schema.Operator) []*nodeEntry {
	var entries []*nodeEntry
	byPath := map[string]*nodeEntry{}
	spelling := nodeSpelling(ops)
	for _, o := range ops {
		if !nodeHas(o) {
			continue
		}
		e := byPath[o.Name]
		if e == nil {
			name := o.Name
			if owner := nodeOwner(o); owner != "" {
				name = strings.TrimPrefix(name, strings.ToLower(owner)+"_")
			}
			e = &nodeEntry{path: nodeName(name), functional: alsoFunctional(o, ops), spelling: spelling}
			byPath[o.Name] = e
			entries = append(entries, e)
		}
		e.overloads = append(e.overloads, o)
	}
	return entries
}

// hasVariant reports whether an overload has a variant.
func (e *nodeEntry) hasVariant(variant string) bool {
	return slices.ContainsFunc(e.overloads, func(o *schema.Operator) bool { return o.Has(variant) })
}

// isWrapped reports whether the package declares the form, a function or method, itself.
func (e *nodeEntry) isWrapped(form string) bool {
	return slices.Contains(e.overloads[0].Node.Wrapped, form)
}

// isInternal reports whether the package exports the operator in another form only (lib/grad.js, lib/names.js).
func (e *nodeEntry) isInternal() bool {
	first := e.overloads[0]
	return first.Category == "gradient" || first.Node.Internal
}

func (e *nodeEntry) ownerClass() string { return nodeOwner(e.overloads[0]) }

func (e *nodeEntry) lastName() string { return e.path[strings.LastIndex(e.path, ".")+1:] }

func (e *nodeEntry) isFunction() bool { return e.ownerClass() == "" && e.hasVariant("function") }

func (e *nodeEntry) isMethod() bool { return e.ownerClass() != "" || e.hasVariant("method") }

// isAsync reports whether the function also exists off the event loop: when it returns tensors, runs a backward pass, or accesses files.
func (e *nodeEntry) isAsync() bool {
	return e.isFunction() && slices.ContainsFunc(e.overloads, takesTime)
}

func takesTime(o *schema.Operator) bool {
	return o.Category == "file" || o.Name == "backward" || slices.ContainsFunc(o.Returns, func(r schema.Arg) bool {
		return r.Type.Base == "Tensor"
	})
}

// nodePlaces returns the names of the addon's functions that the package has at other paths than the addon.
func nodePlaces(entries []*nodeEntry) string {
	list := func(chosen func(*nodeEntry) bool) string {
		var text string
		for _, e := range entries {
			if !chosen(e) {
				continue
			}
			text += fmt.Sprintf("    '%s',\n", e.path)
			if e.isAsync() {
				text += fmt.Sprintf("    '%sAsync',\n", e.path)
			}
		}
		return text
	}
	return cBanner + "'use strict';\n\nmodule.exports = {\n" +
		"  // What lib/grad.js and lib/names.js have in a form of their own.\n  internal: [\n" + list((*nodeEntry).isInternal) + "  ],\n" +
		"  // What PyTorch has in torch and in torch.nn.functional.\n  functional: [\n" + list(func(e *nodeEntry) bool {
		return e.functional && e.isFunction()
	}) + "  ],\n};\n"
}

// generateNode writes the addon's tables, the ES module's exports and the type declarations.
func generateNode(out *output, ops []*schema.Operator, rows []dtypes.DType) error {
	entries := nodeEntries(ops)
	out.write("bindings/node/lib/gen_places.js", nodePlaces(entries))
	out.write("bindings/node/gen_index.mjs", nodeModule(entries))
	declarations, err := nodeDeclarations(entries, rows)
	out.write("bindings/node/gen_index.d.ts", declarations)
	return err
}
