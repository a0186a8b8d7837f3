package program

// #include "plan.h"
import "C"

import (
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

const (
	symAdd, symMul, symFloorDiv       = C.LT_SYM_ADD, C.LT_SYM_MUL, C.LT_SYM_FLOORDIV
	symMod, symMax, symMin            = C.LT_SYM_MOD, C.LT_SYM_MAX, C.LT_SYM_MIN
	dimNumber, dimSymbol, dimOperator = C.LT_DIM_NUMBER, C.LT_DIM_SYMBOL, C.LT_DIM_OPERATOR
)

// symbolicFunctions are the functions of Python that compute numbers, by their names without the module.
var symbolicFunctions = map[string]struct{ code, operands int }{
	"add": {C.LT_SYM_ADD, 2}, "sub": {C.LT_SYM_SUB, 2}, "mul": {C.LT_SYM_MUL, 2}, "floordiv": {C.LT_SYM_FLOORDIV, 2}, "mod": {C.LT_SYM_MOD, 2},
	"truediv": {C.LT_SYM_TRUEDIV, 2}, "pow": {C.LT_SYM_POW, 2}, "eq": {C.LT_SYM_EQ, 2}, "ne": {C.LT_SYM_NE, 2}, "lt": {C.LT_SYM_LT, 2},
	"le": {C.LT_SYM_LE, 2}, "gt": {C.LT_SYM_GT, 2}, "ge": {C.LT_SYM_GE, 2}, "and_": {C.LT_SYM_AND, 2}, "or_": {C.LT_SYM_OR, 2},
	"xor": {C.LT_SYM_XOR, 2}, "lshift": {C.LT_SYM_LSHIFT, 2}, "rshift": {C.LT_SYM_RSHIFT, 2}, "sym_max": {C.LT_SYM_MAX, 2},
	"sym_min": {C.LT_SYM_MIN, 2}, "max": {C.LT_SYM_MAX, 2}, "min": {C.LT_SYM_MIN, 2}, "neg": {C.LT_SYM_NEG, 1}, "pos": {C.LT_SYM_POS, 1},
	"sym_not": {C.LT_SYM_NOT, 1}, "not_": {C.LT_SYM_NOT, 1}, "sym_int": {C.LT_SYM_INT, 1}, "sym_float": {C.LT_SYM_FLOAT, 1},
	"sym_sqrt": {C.LT_SYM_SQRT, 1}, "_sym_sqrt": {C.LT_SYM_SQRT, 1}, "sqrt": {C.LT_SYM_SQRT, 1}, "floor": {C.LT_SYM_FLOOR, 1},
	"_sym_log2": {C.LT_SYM_LOG2, 1}, "log2": {C.LT_SYM_LOG2, 1}, "ceil": {C.LT_SYM_CEIL, 1},
	"trunc": {C.LT_SYM_TRUNC, 1}, "round": {C.LT_SYM_ROUND, 1}, roundTo: {C.LT_SYM_ROUND_TO, 2},
	"sym_ite": {C.LT_SYM_ITE, 3}, "sym_sum": {C.LT_SYM_SUM, 1},
}

// numberOperators are the operators of ATen that return or check numbers.
var numberOperators = map[string]struct{ code, operands int }{
	"aten.sym_size.int": {C.LT_SYM_SIZE, 2}, "aten.sym_stride.int": {C.LT_SYM_STRIDE, 2}, "aten.sym_numel.default": {C.LT_SYM_NUMEL, 1},
	"aten.sym_storage_offset.default": {C.LT_SYM_OFFSET, 1}, "aten.item.default": {C.LT_SYM_ITEM, 1},
	"aten._local_scalar_dense.default": {C.LT_SYM_ITEM, 1}, "aten._assert_scalar.default": {C.LT_SYM_ASSERT, 2},
	"aten.sym_constrain_range.default": {C.LT_SYM_CONSTRAIN, 3}, "aten.sym_constrain_range_for_size.default": {C.LT_SYM_CONSTRAIN, 3},
	"aten._assert_tensor_metadata.default": {C.LT_SYM_ASSERT_META, 6}, "aten._assert_async.default": {C.LT_SYM_ASSERT_TENSOR, 1},
	"aten._assert_async.msg": {C.LT_SYM_ASSERT_TENSOR, 2},
}

var formats = map[int64]shape.MemoryFormat{1: shape.Contiguous, 2: shape.ChannelsLast, 3: shape.ChannelsLast3d, 4: shape.Preserve}

// fileLayouts are those of the numbers in the file.
var fileLayouts = map[int64]tensor.Layout{1: tensor.COO, 2: tensor.CSR, 3: tensor.CSC, 4: tensor.BSR, 5: tensor.BSC, 7: tensor.Strided}

// scope are the values of a graph by name.
type scope map[string]int64

// step is a node whose arguments are known.
type step struct {
	kind  int64
	name  string
	words []int64 // without the freed values
	uses  []int64 // the values that it reads or defines
	freed []int64
}

// planner makes the words of a plan.
type planner struct {
	op     string
	spend  func(int64) error
	values int64
	text   []byte
	seen   map[string]int64 // offsets in text
	err    error
	noGrad bool // whether the graph that is planned does not record gradients
	// levels are the open vmap levels, innermost last; the first outerLevels belong to enclosing graphs.
	levels      []int64
	outerLevels int
	// symbols are the numbers of the symbolic sizes that codes of dimensions refer to.
	symbols map[string]int64
}

func (p *planner) setError(format string, args ...any) {
	if p.err == nil {
		p.err = status.Runtimef("%s: the graph is invalid: "+format, append([]any{p.op}, args...)...)
	}
}

// decomposeHint is the end of errors that run_decompositions() avoids.
const decomposeHint = "PyTorch removes this from a program with run_decompositions(); call it before torch.export.save"

// setUnsupported sets the error for a valid program.
func (p *planner) setUnsupported(format string, args ...any) {
	if p.err == nil {
		p.err = status.NotImplementedf("%s: the program is not supported: "+format, append([]any{p.op}, args...)...)
	}
}

func (p *planner) spendBudget(n int) {
	if p.err == nil {
		p.err = p.spend(int64(n))
	}
}

// textOffset returns the offset of a string in text, which is added on first use.
func (p *planner) textOffset(text string) int64 {
	if at, ok := p.seen[text]; ok {
		return at
	}
	at := int64(len(p.text))
	p.spendBudget(3*len(text) + 64)
	p.text = append(append(p.text, text...), 0)
	p.seen[text] = at
	return at
}

// defineValue returns the number of a new value of the graph.
func (p *planner) defineValue(s scope, name string) int64 {
	if _, ok := s[name]; ok {
		p.setError("the value %.100q is defined twice", name)
	}
	p.spendBudget(64)
	n := p.values
	s[name] = n
	p.values++
	return n
}

// findValue returns the number of a value that a node uses.
func (p *planner) findValue(s scope, name string, st *step) int64 {
	n, ok := s[name]
	if !ok {
		p.setError("node %.100q uses the value %.100q, which is not defined before it", st.name, name)
	}
	st.uses = append(st.uses, n)
	return n
}

// appendArg appends the words of an argument.
func (p *planner) appendArg(s scope, a *arg, st *step) {
	words := st.words
	switch a.kind {
	case argNone:
		words = append(words, C.LT_ARG_NONE)
	case argValue:
		words = append(words, C.LT_ARG_VALUE, p.findValue(s, a.text, st))
	case argInt:
		words = append(words, C.LT_ARG_INT, a.i)
	case argFloat:
		words = append(words, C.LT_ARG_FLOAT, a.i)
	case argBool:
		words = append(words, C.LT_ARG_BOOL, a.i)
	case argComplex:
		words = append(words, C.LT_ARG_COMPLEX, a.i, a.im)
	case argString:
		words = append(words, C.LT_ARG_STRING, p.textOffset(a.text))
	case argDType:
		words = append(words, C.LT_ARG_DTYPE, int64(p.lookupDType(a.i)))
	case argLayout:
		layout, ok := fileLayouts[a.i]
		if !ok {
			p.setError("node %.100q has the unknown layout %d", st.name, a.i)
		}
		words = append(words, C.LT_ARG_LAYOUT, int64(layout))
	case argFormat:
		format, ok := formats[a.i]
		if !ok {
			p.setError("node %.100q has the unknown memory format %d", st.name, a.i)
		}
		words = append(words, C.LT_ARG_FORMAT, int64(format))
	case argDevice:
		words = append(words, C.LT_ARG_STRING, p.textOffset(deviceName(a)))
	case argInts, argFloats, argBools:
		kind := map[int]int64{argInts: C.LT_ARG_INTS, argFloats: C.LT_ARG_FLOATS, argBools: C.LT_ARG_BOOLS}[a.kind]
		words = append(append(words, kind, int64(len(a.ints))), a.ints...)
	case argTensors, argStrings, argSymInts, argSymFloats, argSymBools:
		p.appendList(s, a, st)
		return
	case argGraph:
		p.setError("node %.100q has a graph as an argument of an operator", st.name)
	default:
		p.setUnsupported("node %.100q has an argument of the type %.100q; supported are tensors, numbers, strings, lists of them, dtypes, "+
			"devices, layouts and memory formats", st.name, a.text)
	}
	st.words = words
}

// appendList appends the words of a list whose items are values of the graph, or strings.
func (p *planner) appendList(s scope, a *arg, st *step) {
	kind := map[int]int64{argTensors: C.LT_ARG_TENSORS, argStrings: C.LT_ARG_STRINGS, argSymInts: C.LT_ARG_SYM_INTS,
		argSymFloats: C.LT_ARG_SYM_FLOATS, argSymBools: C.LT_ARG_SYM_BOOLS}[a.kind]
	st.words = append(st.words, kind, int64(len(a.items)))
	for i := range a.items {
		item := &a.items[i]
		switch k := item.kind; {
		case a.kind == argStrings:
			st.words = append(st.words, p.textOffset(item.text))
		case a.kind == argTensors && k == argValue:
			st.words = append(st.words, p.findValue(s, item.text, st))
		case a.kind == argTensors && k == argNone:
			st.words = append(st.words, -1)
		case a.kind == argTensors:
			p.setError("node %.100q has a list of tensors with something else", st.name)
		case k != argValue && k != argInt && k != argFloat && k != argBool:
			p.setError("node %.100q has a list of numbers with something else", st.name)
		default:
			p.appendArg(s, item, st)
		}
	}
}

// appendItem appends the words of an argument that is no list: a run has memory for the lists of calls alone.
func (p *planner) appendItem(s scope, a *arg, st *step) {
	switch a.kind {
	case argTensors, argInts, argFloats, argBools, argStrings, argSymInts, argSymFloats, argSymBools:
		p.setError("node %.100q has a list where a tensor or a number is expected", st.name)
	default:
		p.appendArg(s, a, st)
	}
}

func (p *planner) lookupDType(n int64) dtype.DType {
	d, ok := dtype.OfExported(n)
	if !ok {
		p.setError("the dtype %d is unknown", n)
	}
	return d
}

func deviceName(a *arg) string {
	if a.im < 0 || a.text == "cpu" {
		return a.text
	}
	return status.Textf("%s:%d", a.text, a.im)
}

// appendResult appends where a result is stored.
func (p *planner) appendResult(s scope, a *arg, st *step) {
	switch a.kind {
	case argValue:
		n := p.defineValue(s, a.text)
		st.uses = append(st.uses, n)
		st.words = append(st.words, C.LT_ARG_VALUE, n)
	case argTensors:
		st.words = append(st.words, C.LT_ARG_TENSORS, int64(len(a.items)))
		for i := range a.items {
			if a.items[i].kind != argValue {
				st.words = append(st.words, -1)
				continue
			}
			n := p.defineValue(s, a.items[i].text)
			st.uses = append(st.uses, n)
			st.words = append(st.words, n)
		}
	case argNone, argInt, argFloat, argBool: // numbers that are known; nothing refers to them
		st.words = append(st.words, C.LT_ARG_NONE)
	default:
		p.setUnsupported("node %.100q has a result of the type %.100q; supported are tensors, lists of tensors and numbers", st.name, a.text)
	}
}

// flattenResults returns the results one by one, also those of lists.
func flattenResults(results []arg) (names []arg) {
	for _, r := range results {
		if r.kind == argTensors {
			names = append(names, r.items...)
		} else {
			names = append(names, r)
		}
	}
	return names
}

// planBlock returns the words of a graph whose inputs are in the scope, with outputs.
func (p *planner) planBlock(g *graph, s scope, outputs []arg) []int64 {
	first := p.values
	var all []*step
	p.planNodes(g, s, &all)
	outs := &step{name: "output", words: []int64{int64(len(outputs))}}
	for i := range outputs {
		p.appendItem(s, &outputs[i], outs)
	}
	if p.err != nil {
		return nil
	}
	return p.finishBlock(all, first, outs)
}

// planNodes appends the steps of a graph's nodes.
func (p *planner) planNodes(g *graph, s scope, all *[]*step) {
	defer func(outer int) { p.outerLevels = outer }(p.outerLevels)
	p.outerLevels = len(p.levels)
	for i := range g.nodes {
		if n := &g.nodes[i]; !p.inlineGraph(n, s, all) && !p.planTransform(n, s, all) && !p.planFunctionalized(n, g, s, all) {
			p.spendBudget(200 + 32*len(n.args))
			*all = append(*all, p.planNode(n, s))
			p.planChecks(n, g, s, all)
		}
		if p.err != nil {
			return
		}
	}
	if len(p.levels) > p.outerLevels {
		p.setError("the graph begins %d vmap that it does not end", len(p.levels)-p.outerLevels)
	}
}

// finishBlock computes the last uses of the values of a block, which are those from first on, and returns the block's words.
func (p *planner) finishBlock(all []*step, first int64, outs *step) []int64 {
	kept := map[int64]bool{}
	for _, n := range outs.uses {
		kept[n] = true
	}
	last := make([]int32, p.values-first)
	p.spendBudget(4 * len(last))
	for i, st := range all {
		for _, n := range st.uses {
			if n >= first {
				last[n-first] = int32(i) + 1
			}
		}
	}
	for n, i := range last {
		if i > 0 && !kept[first+int64(n)] {
			st := all[i-1]
			st.freed = append(st.freed, first+int64(n))
		}
	}
	words := []int64{first, p.values, int64(len(all))}
	for _, st := range all {
		words = append(words, st.kind, p.textOffset(st.name), int64(len(st.freed)))
		words = append(append(words, st.freed...), st.words...)
	}
	p.spendBudget(16 * len(words))
	return append(words, outs.words...)
}

func (p *planner) planNode(n *node, s scope) *step {
	st := &step{kind: C.LT_STEP_CALL, name: n.name}
	if st.name == "" {
		st.name = n.target
	}
	short, isOperator := strings.CutPrefix(n.target, "torch.ops.")
	if !isOperator {
		function := n.target[strings.LastIndexByte(n.target, '.')+1:]
		known, ok := symbolicFunctions[function]
		if !ok {
			p.setUnsupported("node %.100q calls %.100q, which is neither an operator nor a function of numbers; those are Python's operators, "+
				"min, max, round, math.sqrt, math.floor, math.ceil, math.trunc and torch.sym_*", st.name, n.target)
		}
		if !ok {
			return st
		}
		p.planNumbers(n, s, st, known.code, known.operands)
		return st
	}
	if known, ok := numberOperators[short]; ok {
		p.planNumbers(n, s, st, known.code, known.operands)
		return st
	}
	switch short {
	case "higher_order.with_effects":
		return p.planEffect(n, s)
	case "higher_order.cond":
		p.planCond(n, s, st)
		return st
	case "higher_order.while_loop":
		p.planWhile(n, s, st)
		return st
	case "higher_order.scan":
		p.planScan(n, s, st, 1)
		return st
	case "higher_order.map_impl":
		p.planScan(n, s, st, 0)
		return st
	case "higher_order.associative_scan":
		p.planAssociativeScan(n, s, st)
		return st
	}
	// aten.add.Tensor is aten::add.Tensor
	namespace, name, _ := strings.Cut(short, ".")
	if namespace == "higher_order" {
		p.setUnsupported("node %.100q calls %.100q: %s", st.name, n.target, decomposeHint)
	}
	if !strings.Contains(name, ".") {
		p.setError("node %.100q calls %.100q, which has no overload", st.name, n.target)
	}
	st.words = append(st.words, p.textOffset(namespace+"::"+name), int64(len(n.args)))
	for i := range n.args {
		a := &n.args[i]
		keyword := int64(-1)
		if a.name != "" {
			keyword = p.textOffset(a.name)
		} else if a.keyword {
			p.setError("node %.100q has a keyword argument without a name", st.name)
		}
		st.words = append(st.words, keyword)
		p.appendArg(s, &a.arg, st)
	}
	st.words = append(st.words, int64(len(n.results)))
	for i := range n.results {
		p.appendResult(s, &n.results[i], st)
	}
	return st
}

// planChecks appends steps that compare the results of a custom operator with the dtypes and sizes that the program has for them.
func (p *planner) planChecks(n *node, g *graph, s scope, all *[]*step) {
	target, results := n.target, n.results
	if target == "torch.ops.higher_order.with_effects" && len(n.args) > 1 && len(results) > 0 {
		target, results = n.args[1].text, results[1:]
	}
	short, isOperator := strings.CutPrefix(target, "torch.ops.")
	namespace, name, _ := strings.Cut(short, ".")
	if !isOperator || namespace == "aten" || namespace == "higher_order" {
		return
	}
	for _, r := range flattenResults(results) {
		m, value := g.metas[r.text], s[r.text]
		if r.kind != argValue || m == nil || p.err != nil {
			continue
		}
		p.spendBudget(200)
		sizes, text := p.appendShape(nil, m)
		words := []int64{
			value, p.textOffset(namespace + "::" + strings.TrimSuffix(name, ".default")), int64(p.lookupDType(m.dtype)), p.textOffset(text),
		}
		*all = append(*all, &step{kind: C.LT_STEP_CHECK, name: n.name, words: append(words, sizes...), uses: []int64{value}})
	}
}

// checkApplied reports whether the argument of a higher-order operator is an operator, and sets an error if it is a higher-order one.
func (p *planner) checkApplied(n *node, higherOrder string, operator *arg) bool {
	if operator.kind != argString || !strings.HasPrefix(operator.text, "torch.ops.higher_order.") {
		return operator.kind == argString
	}
	p.setUnsupported("node %.100q applies %s to %.100q, which is supported for other operators only; call operators that write to their "+
		"arguments or have other side effects outside of it", n.name, higherOrder, operator.text)
	return false
}

// planEffect plans with_effects(token, operator, ...), whose results are a token and those of the operator. Tokens only order the nodes of
// PyTorch's graphs, whose order is that of a run, too; they are no values.
func (p *planner) planEffect(n *node, s scope) *step {
	if len(n.args) < 2 || len(n.results) == 0 || !p.checkApplied(n, "with_effects", &n.args[1].arg) {
		p.setError("node %.100q calls no operator", n.name)
		return &step{}
	}
	inner := node{target: n.args[1].text, name: n.name, args: n.args[2:], results: n.results[1:]}
	if len(inner.results) == 1 && inner.results[0].kind == argNone {
		inner.results = nil
	}
	return p.planNode(&inner, s)
}

// argumentOrders are the argument names of the operators that are computed as numbers.
var argumentOrders = map[int][]string{
	C.LT_SYM_CONSTRAIN:   {"size", "min", "max"},
	C.LT_SYM_ASSERT_META: {"a", "size", "stride", "dtype", "device", "layout"},
	C.LT_SYM_SIZE:        {"self", "dim"}, C.LT_SYM_STRIDE: {"self", "dim"},
	C.LT_SYM_ASSERT: {"self", "assert_msg"},
}

// planNumbers plans a step of arithmetic on numbers.
func (p *planner) planNumbers(n *node, s scope, st *step, code, operands int) {
	st.kind = C.LT_STEP_SYM
	args := make([]arg, operands)
	for i := range n.args {
		at := i
		for k, name := range argumentOrders[code] {
			if name == n.args[i].name {
				at = k
			}
		}
		if at >= operands {
			p.setError("node %.100q has %d arguments; %.100q takes %d", st.name, len(n.args), n.target, operands)
			return
		}
		args[at] = n.args[i].arg
	}
	st.words = append(st.words, int64(code), int64(operands))
	for i := range args {
		p.appendArg(s, &args[i], st)
	}
	st.words = append(st.words, p.defineResult(n, s, st))
}

// defineResult returns the number of the value that is the only result of a node; -1 if it has none.
func (p *planner) defineResult(n *node, s scope, st *step) int64 {
	results := flattenResults(n.results)
	if len(results) > 1 {
		p.setError("node %.100q has %d results", st.name, len(results))
	}
	if len(results) != 1 || results[0].kind != argValue {
		return -1
	}
	out := p.defineValue(s, results[0].text)
	st.uses = append(st.uses, out)
	return out
}
