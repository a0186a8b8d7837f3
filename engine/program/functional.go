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
	if len(n.args) == 0 || n.args[0].kind != argString || strings.HasPrefix(n.args[0].text, "torch.ops.higher_order.") {
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

// views are the arguments of a call that describe views of copied tensors: a parameter NAME has _NAME_base_index, the index of a tensor,
// and a list of tensors _NAME_length, _NAME_0_base_index and so on. Other arguments with these prefixes have the geometry of a view.
type views struct {
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
	v := views{p: p, node: call.name, scope: s, all: all, given: map[string]arg{}}
	for i := range call.args {
		v.given[call.args[i].name] = call.args[i].arg
	}
	bases := v.given["_all_bases"].items
	first := len(call.results) - len(bases)
	if first < 0 {
		p.setError("node %.100q has %d results, and writes to %d tensors", call.name, len(call.results), len(bases))
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

// appendStep appends a step with one result, which it returns.
func (v *views) appendStep(target string, args ...arg) arg {
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

func (v *views) copyBase(base arg) arg {
	if base.kind != argValue {
		return arg{}
	}
	return v.appendStep("", base)
}

// replace returns the argument of the operator that an argument of the node is, or whose first one it is; false for others.
func (v *views) replace(a namedArg) (namedArg, bool) {
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

// isList reports whether a prefix is that of a list of views, or of none.
func (v *views) isList(prefix string) bool {
	length := v.given[prefix+"_length"]
	_, hasItem := v.given[prefix+"_0_base_index"]
	return strings.HasPrefix(prefix, "_") && (length.kind == argNone || length.kind == argInt && (hasItem || length.i == 0))
}

// isItem reports whether a prefix is that of an item of a list.
func (v *views) isItem(prefix string) bool {
	at := strings.LastIndexByte(prefix, '_')
	_, isListed := v.given[prefix[:at]+"_length"]
	return isListed && v.isList(prefix[:at]) && strings.Trim(prefix[at+1:], "0123456789") == ""
}

func (v *views) viewsOf(prefix string, length int64) arg {
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
func (v *views) viewOf(prefix string) arg {
	index := v.given[prefix+"_base_index"]
	if index.kind == argNone {
		return arg{}
	}
	if index.kind != argInt || index.i < 0 || index.i >= int64(len(v.copies)) {
		v.p.setError("node %.100q has an invalid argument %.100q", v.node, prefix+"_base_index")
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
