package program

// #include "plan.h"
import "C"

import (
	"strings"

	"github.com/libtensor/libtensor/engine/status"
)

// planFunctionalized appends the steps of a node that calls an operator with copies of the tensors that the operator writes to, and reports
// whether the node is such a call. The copies are the last results of the node.
func (p *planner) planFunctionalized(n *node, g *graph, s scope, all *[]*step) bool {
	version, ok := strings.CutPrefix(n.target, "torch.ops.higher_order.auto_functionalized")
	if !ok || version != "" && version != "_v2" {
		return false
	}
	if len(n.args) == 0 || !p.checkApplied(n, "auto_functionalized", &n.args[0].arg) {
		p.setError("node %.100q calls no operator", n.name)
		return true
	}
	p.spendBudget(nodeCost + 2*argCost*len(n.args))
	call := node{target: n.args[0].text, name: n.name, args: n.args[1:], results: n.results}
	if version == "_v2" {
		p.copyBases(&call, s, all)
	}
	if len(call.results) > 0 && call.results[0].kind == argNone {
		call.results = call.results[1:] // of an operator without results
	}
	if p.err != nil {
		return true
	}
	st := p.planNode(&call, s)
	if version == "" && st.kind == C.LT_STEP_CALL {
		st.kind = C.LT_STEP_FUNCTIONAL
	}
	*all = append(*all, st)
	p.planChecks(&call, g, s, all)
	return true
}

// viewArguments are the arguments of a call that describe views of copied tensors: a parameter NAME has _NAME_base_index, the index of a
// tensor, and a list of tensors _NAME_length, _NAME_0_base_index and so on. Other arguments with these prefixes have the geometry of a
// view.
type viewArguments struct {
	p      *planner
	node   string
	scope  scope
	all    *[]*step
	given  map[string]arg
	copies []arg
}

var viewSuffixes = []string{"_base_index", "_alias", "_size", "_stride", "_storage_offset", "_slice_dim", "_slice_start", "_slice_end"}

// copyBases appends steps that copy the tensors of the argument _all_bases of a call, and removes the last results of the call, which are
// the copies. Views of the copies replace the arguments that describe them.
func (p *planner) copyBases(call *node, s scope, all *[]*step) {
	v := viewArguments{p: p, node: call.name, scope: s, all: all, given: map[string]arg{}}
	for i := range call.args {
		v.given[call.args[i].name] = call.args[i].arg
	}
	bases := v.given["_all_bases"].items
	first := len(call.results) - len(bases)
	if first < 0 {
		p.setError("node %.100q has %d results; at least %d are required, one for each tensor in _all_bases", call.name, len(call.results),
			len(bases))
		return
	}
	for i, r := range call.results[first:] {
		v.copies = append(v.copies, v.copyBase(bases[i]))
		if r.kind != argValue || v.copies[i].kind != argValue {
			continue
		}
		if _, twice := s[r.text]; twice {
			p.setError("the value %.100q is defined twice", r.text)
		}
		s[r.text] = s[v.copies[i].text]
	}
	call.results = call.results[:first]
	var args []namedArg
	for i := range call.args {
		if a, ok := v.replace(call.args[i]); ok {
			args = append(args, a)
		}
	}
	call.args = args
}

// appendStep appends a call of an operator, or a copy of a tensor for the target "", and returns the value of its result.
func (v *viewArguments) appendStep(target string, args ...arg) arg {
	result := arg{kind: argValue, text: status.Textf("%d", -v.p.values)} // no name of the file, which would be in the scope
	n := node{target: target, name: v.node, results: []arg{result}}
	for _, a := range args {
		n.args = append(n.args, namedArg{arg: a})
	}
	v.p.spendBudget(nodeCost + argCost*len(args))
	st := &step{name: v.node}
	if target == "" {
		v.p.planNumbers(&n, v.scope, st, C.LT_SYM_CLONE, 1)
	} else {
		st = v.p.planNode(&n, v.scope)
	}
	*v.all = append(*v.all, st)
	return result
}

// copyBase appends a step that copies a tensor, and returns the copy; none for none.
func (v *viewArguments) copyBase(base arg) arg {
	if base.kind != argValue {
		return arg{}
	}
	return v.appendStep("", base)
}

// replace returns the operator's argument for a node's argument; false if another argument of the node already describes it.
func (v *viewArguments) replace(a namedArg) (namedArg, bool) {
	if a.name == "_all_bases" {
		return a, false
	}
	if list, ok := strings.CutSuffix(a.name, "_length"); ok && v.isList(list) {
		a.name = list[1:]
		if a.kind != argNone {
			a.arg = v.viewsOf(list, a.i)
		}
		return a, true
	}
	for _, suffix := range viewSuffixes {
		prefix, ok := strings.CutSuffix(a.name, suffix)
		if _, isView := v.given[prefix+"_base_index"]; !ok || !isView || !strings.HasPrefix(prefix, "_") {
			continue
		}
		if suffix != "_base_index" || v.isItem(prefix) {
			return a, false
		}
		a.name, a.arg = prefix[1:], v.viewOf(prefix)
		return a, true
	}
	return a, true
}

// isList reports whether arguments with a prefix describe a list of views, which can be empty or none.
func (v *viewArguments) isList(prefix string) bool {
	length := v.given[prefix+"_length"]
	_, hasItem := v.given[prefix+"_0_base_index"]
	return strings.HasPrefix(prefix, "_") && (length.kind == argNone || length.kind == argInt && (hasItem || length.i == 0))
}

// isItem reports whether arguments with a prefix describe an item of a list (isList), as in _NAME_0.
func (v *viewArguments) isItem(prefix string) bool {
	at := strings.LastIndexByte(prefix, '_')
	_, isListed := v.given[prefix[:at]+"_length"]
	return isListed && v.isList(prefix[:at]) && strings.Trim(prefix[at+1:], "0123456789") == ""
}

// viewsOf returns the list of views that the arguments with a prefix describe.
func (v *viewArguments) viewsOf(prefix string, length int64) arg {
	list := arg{kind: argTensors}
	for i := range length {
		item := status.Textf("%s_%d", prefix, i)
		if _, ok := v.given[item+"_base_index"]; !ok {
			v.p.setError("node %.100q has no argument %.100q", v.node, item+"_base_index")
			break
		}
		list.items = append(list.items, v.viewOf(item))
	}
	return list
}

// viewOf returns the view that the arguments with a prefix describe: the whole copy, a slice, or any other geometry.
func (v *viewArguments) viewOf(prefix string) arg {
	index := v.given[prefix+"_base_index"]
	if index.kind == argNone {
		return arg{}
	}
	if index.kind != argInt || len(v.copies) == 0 {
		v.p.setError("node %.100q: argument %.100q is no index of the %d tensors in _all_bases", v.node, prefix+"_base_index", len(v.copies))
		return arg{}
	}
	if index.i < 0 || index.i >= int64(len(v.copies)) {
		v.p.setError("node %.100q: argument %.100q is %d; it must be from 0 to %d", v.node, prefix+"_base_index", index.i, len(v.copies)-1)
		return arg{}
	}
	base := v.copies[index.i]
	if offset, ok := v.given[prefix+"_storage_offset"]; ok {
		return v.appendStep("torch.ops.aten.as_strided.default", base, v.given[prefix+"_size"], v.given[prefix+"_stride"], offset)
	}
	if dim, ok := v.given[prefix+"_slice_dim"]; ok {
		return v.appendStep("torch.ops.aten.slice.Tensor", base, dim, v.given[prefix+"_slice_start"], v.given[prefix+"_slice_end"])
	}
	return base
}
