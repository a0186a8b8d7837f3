package program

// #include "plan.h"
import "C"

import "strings"

// predispatch begins the names of the functions that vmap calls in the graphs of PyTorch.
const predispatch = "torch._functorch.predispatch."

// vmapFunctions are the steps of the functions that convert tensors at a level of vmap, with the count of their arguments and the positions
// of the dimension and the level among these.
var vmapFunctions = map[string]struct{ code, count, dim, level int }{
	"_add_batch_dim":    {C.LT_SYM_VMAP_WRAP, 3, 1, 2},
	"_remove_batch_dim": {C.LT_SYM_VMAP_UNWRAP, 4, 3, 1},
}

// defineHidden returns the number of a new value that the graph does not name.
func (p *planner) defineHidden() int64 {
	p.spendBudget(64)
	p.values++
	return p.values - 1
}

// planTransform appends the steps of a function of vmap, and reports whether the node calls one.
func (p *planner) planTransform(n *node, s scope, all *[]*step) bool {
	function, ok := strings.CutPrefix(n.target, predispatch)
	if !ok {
		return false
	}
	st := &step{kind: C.LT_STEP_SYM, name: n.name}
	if st.name == "" {
		st.name = n.target
	}
	p.spendBudget(200)
	args := make([]arg, len(n.args))
	for i := range n.args {
		args[i] = n.args[i].arg
	}
	known, converts := vmapFunctions[function]
	switch {
	case function == "lazy_load_decompositions":
		return true
	case function == "_vmap_increment_nesting" && len(args) == 2:
		level := p.defineHidden()
		p.levels = append(p.levels, level)
		st.words, st.uses = []int64{C.LT_SYM_VMAP_BEGIN, 2}, []int64{level}
		p.appendArg(s, &args[0], st)
		p.appendArg(s, &args[1], st)
		st.words = append(st.words, level)
	case function == "_vmap_decrement_nesting" && len(args) == 0:
		if len(p.levels) == p.outerLevels {
			p.setError("node %.100q ends a vmap that the graph has not begun", n.name)
			return true
		}
		level := p.levels[len(p.levels)-1]
		p.levels = p.levels[:len(p.levels)-1]
		st.words, st.uses = []int64{C.LT_SYM_VMAP_END, 1, C.LT_ARG_VALUE, level, -1}, []int64{level}
	case converts && len(args) == known.count && args[known.level].kind == argInt:
		i := args[known.level].i
		if i < 1 || i > int64(len(p.levels)) {
			p.setError("node %.100q has the level %d; there are %d", n.name, i, len(p.levels))
			return true
		}
		level := p.levels[i-1]
		st.words, st.uses = []int64{int64(known.code), 3}, []int64{level}
		p.appendArg(s, &args[0], st)
		p.appendArg(s, &args[known.dim], st)
		st.words = append(st.words, C.LT_ARG_VALUE, level, p.defineResult(n, s, st))
	default:
		p.setUnsupported("node %.100q calls %.100q, a transform other than vmap, which is not supported: %s", n.name, n.target, decomposeHint)
	}
	*all = append(*all, st)
	return true
}

// planAutocast appends a step that sets autocast for wrap_with_autocast(device, dtype, enabled, ...). It returns the function that appends
// the step that sets the former state again.
func (p *planner) planAutocast(n *node, all *[]*step) (end func()) {
	if len(n.args) < 4 || n.args[0].kind != argString || n.args[2].kind != argBool {
		p.setError("node %.100q calls wrap_with_autocast without the type of a device and whether autocast is enabled", n.name)
		return func() {}
	}
	device := n.args[0].text
	if device != "cpu" && device != "cuda" {
		p.setUnsupported("node %.100q sets autocast of the device %.100q; it is supported for cpu and cuda", n.name, device)
	}
	before := p.defineHidden()
	st := &step{kind: C.LT_STEP_SYM, name: n.name, words: []int64{C.LT_SYM_ENTER_AUTOCAST, 4}, uses: []int64{before}}
	for i := range 4 {
		p.appendArg(nil, &n.args[i].arg, st)
	}
	st.words = append(st.words, before)
	*all = append(*all, st)
	return func() {
		*all = append(*all, &step{kind: C.LT_STEP_SYM, name: n.name, uses: []int64{before}, words: []int64{
			C.LT_SYM_LEAVE_AUTOCAST, 2, C.LT_ARG_STRING, p.textOffset(device), C.LT_ARG_VALUE, before, -1,
		}})
	}
}
