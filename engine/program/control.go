package program

// #include "plan.h"
import "C"

import (
	"slices"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// bindInputs returns the scope of a graph that is an argument: its inputs are the values of args.
func (p *planner) bindInputs(n *node, g *graph, args []arg, s scope) scope {
	inner := scope{}
	if len(g.inputs) != len(args) {
		p.setError("node %.100q calls a graph of %d inputs with %d arguments", n.name, len(g.inputs), len(args))
		return inner
	}
	for i := range args {
		if g.inputs[i].kind != argValue {
			continue // a number that the graph knows
		}
		outer, ok := s[args[i].text]
		if args[i].kind != argValue || !ok {
			p.setError("node %.100q: argument %d of its graph is no value", n.name, i)
			return inner
		}
		if _, twice := inner[g.inputs[i].text]; twice {
			p.setError("node %.100q: its graph has two inputs %.100q", n.name, g.inputs[i].text)
		}
		inner[g.inputs[i].text] = outer
	}
	return inner
}

// operandsOf returns the arguments that are values, with those of lists one by one.
func operandsOf(args []namedArg) (all []arg) {
	for _, a := range args {
		switch a.kind {
		case argTensors, argSymInts:
			all = append(all, a.items...)
		default:
			all = append(all, a.arg)
		}
	}
	return all
}

// useValues records that a step uses values of outer blocks.
func (st *step) useValues(args []arg, s scope) {
	for _, a := range args {
		if n, ok := s[a.text]; ok && a.kind == argValue {
			st.uses = append(st.uses, n)
		}
	}
}

// graphOf returns argument i of a node, which must be a graph.
func (p *planner) graphOf(n *node, i int) *graph {
	if i >= len(n.args) || n.args[i].kind != argGraph {
		p.setError("node %.100q has no graph as argument %d", n.name, i)
		return &graph{}
	}
	return n.args[i].graph
}

// planGradMode appends a step after which steps record gradients, or do not.
func (p *planner) planGradMode(n *node, noGrad bool, all *[]*step) {
	p.noGrad = noGrad
	p.spendBudget(200)
	*all = append(*all, &step{kind: C.LT_STEP_SYM, name: n.name,
		words: []int64{C.LT_SYM_SET_GRAD, 1, C.LT_ARG_BOOL, dtype.FromBool[int64](!noGrad), -1}})
}

// inlineGraph appends the nodes of a graph that a node calls with another mode of autograd or autocast, and reports whether the node is
// such a call.
func (p *planner) inlineGraph(n *node, s scope, all *[]*step) bool {
	var at int
	switch n.target {
	case "torch.ops.higher_order.wrap_with_set_grad_enabled":
		at = 1
	case "torch.ops.higher_order.wrap_with_autocast":
		at = 4
	default:
		return false
	}
	g := p.graphOf(n, at)
	if p.err != nil {
		return true
	}
	inner := p.bindInputs(n, g, operandsOf(n.args[at+1:]), s)
	if at == 1 {
		defer p.planGradMode(n, p.noGrad, all)
		p.planGradMode(n, n.args[0].kind == argBool && n.args[0].i == 0, all)
	} else {
		defer p.planAutocast(n, all)()
	}
	p.planNodes(g, inner, all)
	results := flattenResults(n.results)
	if len(results) != len(g.outputs) {
		p.setError("node %.100q has %d results, and its graph %d outputs", n.name, len(results), len(g.outputs))
		return true
	}
	for i, r := range results {
		found, ok := inner[g.outputs[i].text]
		if r.kind != argValue || g.outputs[i].kind != argValue || !ok {
			p.setError("node %.100q: output %d of its graph is no value", n.name, i)
		} else if _, twice := s[r.text]; twice {
			p.setError("the value %.100q is defined twice", r.text)
		} else {
			s[r.text] = found
		}
	}
	return true
}

// appendResults appends the list of values that control flow defines.
func (p *planner) appendResults(s scope, results []arg, st *step) {
	st.words = append(st.words, int64(len(results)))
	for i := range results {
		if results[i].kind != argValue {
			st.words = append(st.words, -1)
			continue
		}
		n := p.defineValue(s, results[i].text)
		st.uses = append(st.uses, n)
		st.words = append(st.words, n)
	}
}

// appendUsedValues appends the list of the values among operands that a graph uses, each once.
func (p *planner) appendUsedValues(s scope, g *graph, operands []arg, st *step) {
	used := map[string]bool{}
	p.spendBudget(64 * len(g.inputs))
	for i := range g.inputs {
		used[g.inputs[i].text] = false
	}
	note := func(args []arg) {
		for i := range args {
			if _, ok := used[args[i].text]; ok && args[i].kind == argValue {
				used[args[i].text] = true
			}
		}
	}
	note(g.outputs)
	for i := range g.nodes {
		note(operandsOf(g.nodes[i].args))
	}
	var values []int64
	for i := range min(len(operands), len(g.inputs)) {
		if n, ok := s[operands[i].text]; ok && operands[i].kind == argValue && used[g.inputs[i].text] && !slices.Contains(values, n) {
			values = append(values, n)
		}
	}
	st.words = append(append(st.words, int64(len(values))), values...)
}

// planCond plans cond(predicate, true_graph, false_graph, operands).
func (p *planner) planCond(n *node, s scope, st *step) {
	st.kind = C.LT_STEP_COND
	graphs := [2]*graph{p.graphOf(n, 1), p.graphOf(n, 2)}
	if p.err != nil {
		return
	}
	p.appendItem(s, &n.args[0].arg, st)
	operands := operandsOf(n.args[3:])
	st.useValues(operands, s)
	results := flattenResults(n.results)
	for _, g := range graphs {
		p.appendUsedValues(s, g, operands, st)
	}
	for _, g := range graphs {
		if len(g.outputs) != len(results) {
			p.setError("node %.100q has %d results, and its graph %d outputs", n.name, len(results), len(g.outputs))
			return
		}
		st.words = append(st.words, p.planBlock(g, p.bindInputs(n, g, operands, s), g.outputs)...)
	}
	p.appendResults(s, results, st)
}

// copyScope returns a copy of a scope, for the names of one graph.
func (p *planner) copyScope(s scope) scope {
	inner := scope{}
	for name, value := range s {
		inner[name] = value
	}
	p.spendBudget(64 * len(s))
	return inner
}

// defineOperands defines values that each iteration sets, appends their numbers, and returns them as operands.
func (p *planner) defineOperands(s scope, count int, st *step) []arg {
	operands := make([]arg, 0, count)
	for range count {
		name := status.Textf("%d", -p.values) // no name of the file, which would be in the scope
		operands = append(operands, arg{kind: argValue, text: name})
		st.words = append(st.words, p.defineValue(s, name))
	}
	return operands
}

// planWhile plans while_loop(cond_graph, body_graph, carried_inputs, additional_inputs).
func (p *planner) planWhile(n *node, s scope, st *step) {
	st.kind = C.LT_STEP_WHILE
	test, body := p.graphOf(n, 0), p.graphOf(n, 1)
	if p.err != nil || len(n.args) < 3 {
		p.setError("node %.100q has no inputs", n.name)
		return
	}
	carried, rest := operandsOf(n.args[2:3]), operandsOf(n.args[3:])
	st.useValues(rest, s)
	st.words = append(st.words, int64(len(carried)))
	for i := range carried {
		p.appendItem(s, &carried[i], st)
	}
	inner := p.copyScope(s)
	operands := append(p.defineOperands(inner, len(carried), st), rest...)
	results := flattenResults(n.results)
	if len(test.outputs) != 1 || len(body.outputs) != len(carried) || len(results) != len(carried) {
		p.setError("node %.100q has %d carried inputs, %d results, and graphs of %d and %d outputs", n.name, len(carried), len(results),
			len(test.outputs), len(body.outputs))
		return
	}
	for _, g := range []*graph{test, body} {
		st.words = append(st.words, p.planBlock(g, p.bindInputs(n, g, operands, inner), g.outputs)...)
	}
	p.appendResults(s, results, st)
}

// planScan plans scan(combine_graph, init, xs, additional_inputs), and without `carried` lists map_impl(graph, xs, additional_inputs).
func (p *planner) planScan(n *node, s scope, st *step, carried int) {
	st.kind = C.LT_STEP_SCAN
	body := p.graphOf(n, 0)
	if p.err != nil || len(n.args) < 2+carried {
		p.setError("node %.100q has no inputs", n.name)
		return
	}
	init, sliced, rest := operandsOf(n.args[1:1+carried]), operandsOf(n.args[1+carried:2+carried]), operandsOf(n.args[2+carried:])
	results := flattenResults(n.results)
	if len(sliced) == 0 || len(body.outputs) != len(results) || len(results) < len(init) {
		p.setError("node %.100q has %d carried inputs, %d sliced ones, %d results, and a graph of %d outputs", n.name, len(init), len(sliced),
			len(results), len(body.outputs))
		return
	}
	st.useValues(rest, s)
	for _, list := range [][]arg{init, sliced} {
		st.words = append(st.words, int64(len(list)))
		for i := range list {
			p.appendItem(s, &list[i], st)
		}
	}
	inner := p.copyScope(s)
	operands := append(p.defineOperands(inner, len(init)+len(sliced), st), rest...)
	st.words = append(st.words, p.planBlock(body, p.bindInputs(n, body, operands, inner), body.outputs)...)
	p.appendResults(s, results, st)
}

// planAssociativeScan plans associative_scan(combine_graph, xs, additional_inputs).
func (p *planner) planAssociativeScan(n *node, s scope, st *step) {
	st.kind = C.LT_STEP_ASSOCIATIVE
	body := p.graphOf(n, 0)
	if p.err != nil || len(n.args) < 2 {
		p.setError("node %.100q has no inputs", n.name)
		return
	}
	sliced, rest := operandsOf(n.args[1:2]), operandsOf(n.args[2:])
	results := flattenResults(n.results)
	if len(sliced) == 0 || len(body.outputs) != len(sliced) || len(results) != len(sliced) {
		p.setError("node %.100q has %d inputs, %d results, and a graph of %d outputs", n.name, len(sliced), len(results), len(body.outputs))
		return
	}
	st.useValues(rest, s)
	st.words = append(st.words, int64(len(sliced)))
	for i := range sliced {
		p.appendItem(s, &sliced[i], st)
	}
	inner := p.copyScope(s)
	operands := append(p.defineOperands(inner, 2*len(sliced), st), rest...)
	st.words = append(st.words, p.planBlock(body, p.bindInputs(n, body, operands, inner), body.outputs)...)
	p.appendResults(s, results, st)
}
