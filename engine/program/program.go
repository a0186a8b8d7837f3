// Package program reads exported programs, which torch.export.save wrote: archives with a graph in JSON and weights in raw records. It
// validates the whole file, and compiles the graph to a plan: the steps of a run as 64-bit words (plan.h), which capi executes. No code
// of a file is executed, and the memory for reading is bounded by the size of the file.
package program

// #include "plan.h"
import "C"

import (
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// Major is the version of the schema that is read, with any minor version: those differ by fields that were added.
const Major, minor = 8, 20

// assumedSize is the lower bound that PyTorch writes for sizes without one: its export assumes that variable sizes are neither 0 nor 1. It
// enforces guards instead, and lower bounds above this one.
const assumedSize = 2

// Program is a program that was read.
type Program struct {
	Words []int64
	Text  []byte // the strings of the words, each with a NUL behind it
	State []*tensor.Tensor
}

// loader reads an archive.
type loader struct {
	op      string
	source  *file.Source
	archive *archive.Archive
	budget  *file.Budget
	prefix  string // of the names of all records
	name    string // of the model
}

// Load reads a program. Weights are mapped where the source is a file, and share memory with it until they are written to.
func Load(op string, source *file.Source) (*Program, error) {
	l := &loader{op: op, source: source, budget: source.BudgetOf(op, 12)}
	defer l.budget.Close()
	m, err := l.openModel()
	if err != nil {
		return nil, err
	}
	w, err := l.readWeights(m)
	if err != nil {
		return nil, err
	}
	p := &planner{op: op, spend: l.budget.Spend, seen: map[string]int64{}, symbols: map[string]int64{}}
	words := p.planProgram(m, w)
	if p.err != nil {
		for _, t := range w.tensors {
			t.Release()
		}
		return nil, p.err
	}
	return &Program{words, p.text, w.tensors}, nil
}

// openModel finds the records and reads the model.
func (l *loader) openModel() (*model, error) {
	head, err := l.source.Bytes(l.op, 0, min(l.source.Size, 4))
	if err != nil {
		return nil, err
	}
	if !archive.IsArchive(head) {
		return nil, status.Runtimef("%s: the file is not a zip archive, as torch.export.save writes: it begins with %q", l.op, head)
	}
	if l.archive, err = archive.Open(l.op, l.source, l.budget); err != nil {
		return nil, err
	}
	var models []*archive.Entry
	for _, e := range l.archive.Entries {
		if !e.Stored() {
			return nil, status.NotImplementedf("%s: record %.100q is compressed; exported programs are stored uncompressed, as torch.export.save does",
				l.op, e.Name)
		}
		folder, name, _ := strings.Cut(e.Name, "/")
		if strings.HasPrefix(name, "models/") && strings.HasSuffix(name, ".json") {
			models = append(models, e)
			l.prefix, l.name = folder+"/", strings.TrimSuffix(strings.TrimPrefix(name, "models/"), ".json")
		}
	}
	switch {
	case len(models) == 0 && (l.archive.Find("serialized_exported_program.json") != nil):
		return nil, status.NotImplementedf("%s: the file has the format of PyTorch 2.7 and older; load and save it with PyTorch 2.9 or newer",
			l.op)
	case len(models) == 0:
		return nil, status.Runtimef("%s: the archive has no record models/NAME.json: torch.export.save did not write it", l.op)
	case len(models) > 1:
		return nil, status.NotImplementedf("%s: the archive has %d models, such as %.100q and %.100q; one is supported", l.op, len(models),
			models[0].Name, models[1].Name)
	}
	if e := l.archive.Find(l.prefix + "byteorder"); e != nil {
		order, err := l.archive.Read(e)
		if err != nil {
			return nil, err
		}
		if string(order) != "little" {
			return nil, status.NotImplementedf("%s: the file has byte order %.20q; only little-endian files can be loaded", l.op, order)
		}
	}
	return l.readModel(models[0])
}

// newReader returns a reader of a record.
func (l *loader) newReader(e *archive.Entry) (*reader, error) {
	data, err := l.archive.Read(e)
	if err != nil {
		return nil, err
	}
	return &reader{op: l.op, name: e.Name, data: data, spend: l.budget.Spend}, nil
}

func (l *loader) readModel(e *archive.Entry) (*model, error) {
	r, err := l.newReader(e)
	if err != nil {
		return nil, err
	}
	m := r.readModel()
	if err := r.checkEnd(); err != nil {
		return nil, err
	}
	if m.major != Major {
		return nil, status.NotImplementedf("%s: the program has schema version %d.%d (PyTorch %.40s); this version of libtensor reads version %d (such as %d.%d, of PyTorch 2.15): export it again with a PyTorch that writes this version",
			l.op, m.major, m.minor, m.producer, Major, Major, minor)
	}
	if m.graph == nil {
		return nil, status.Runtimef("%s: the file is damaged: record %.100q has no graph", l.op, e.Name)
	}
	return m, nil
}

// appendShape appends the codes of the sizes, and returns the sizes as text.
func (p *planner) appendShape(words []int64, m *meta) ([]int64, string) {
	var shown []string
	words = append(words, int64(len(m.sizes)))
	for _, s := range m.sizes {
		if s.expr == "" {
			words = append(words, 2, dimNumber, s.n)
			shown = append(shown, status.Textf("%d", s.n))
			continue
		}
		p.spendBudget(24 * len(s.expr))
		e := parseExpression(s.expr)
		if e == nil {
			words = append(words, 0)
			shown = append(shown, "?")
			continue
		}
		code, ok := e.compileTo(nil, p.symbols)
		if !ok {
			code = nil
		}
		words = append(append(words, int64(len(code))), code...)
		shown = append(shown, e.String())
	}
	text := "[" + strings.Join(shown, ", ") + "]"
	p.spendBudget(2 * len(text))
	return words, text
}

// planProgram returns the words of a whole program.
func (p *planner) planProgram(m *model, w *weights) []int64 {
	s := scope{}
	state := []int64{int64(len(w.names))}
	at := map[string]int64{} // state by its name
	for i, name := range w.names {
		at[name] = int64(i)
	}
	values := make([]int64, len(w.names))
	for i := range values {
		values[i] = -1
	}
	var inputs []int64
	count := int64(0)
	place := map[string]int64{} // user inputs by name
	for i := range m.inputs {
		in := &m.inputs[i]
		switch in.kind {
		case "parameter", "buffer", "tensor_constant":
			n, ok := at[in.target]
			if !ok || values[n] >= 0 {
				p.setError("%s %.100q has no tensor, or is an input twice", in.kind, in.target)
				return nil
			}
			values[n] = p.defineValue(s, in.arg.text)
		case "user_input":
			place[in.arg.text] = count
			inputs = p.appendInput(inputs, in, m.graph, s)
			count++
		case "constant_input":
			inputs = p.appendConstant(append(inputs, p.textOffset(in.target)), in, s)
			count++
		case "token":
		default:
			p.setUnsupported("the input %.100q is of the kind %.100q; supported are parameter, buffer, tensor_constant, user_input, constant_input "+
				"and token", in.arg.text, in.kind)
			return nil
		}
	}
	for i, name := range w.names {
		state = append(state, p.textOffset(name), int64(w.kinds[i]), values[i], dtype.FromBool[int64](w.grads[i]))
	}
	var results []arg
	var outputs, mutations []int64
	changed := int64(0)
	for i := range m.outputs {
		out := &m.outputs[i]
		var to int64
		known := true
		switch out.kind {
		case "user_output", "loss_output":
			outputs = p.appendOutput(outputs, out, len(results), m.graph)
			results = append(results, out.arg)
			continue
		case "token":
			continue
		case "buffer_mutation", "parameter_mutation":
			to, known = at[out.target]
		case "user_input_mutation":
			to, known = place[out.target]
			to = -1 - to
		default:
			p.setUnsupported("the output %.100q is of the kind %.100q; supported are user_output, loss_output, token, buffer_mutation, "+
				"parameter_mutation and user_input_mutation", out.arg.text, out.kind)
			return nil
		}
		if !known {
			p.setError("the output %.100q changes %.100q, which is no input", out.arg.text, out.target)
			return nil
		}
		mutations = append(mutations, to)
		changed++
	}
	shown := int64(len(results))
	for i := range m.outputs {
		if k := m.outputs[i].kind; strings.HasSuffix(k, "_mutation") {
			results = append(results, m.outputs[i].arg)
		}
	}
	shownGraph := p.textOffset(m.graph.String())
	m.graph.nodes = append(guardNodes(m), m.graph.nodes...)
	block := p.planBlock(m.graph, s, results)
	ranges := []int64{int64(len(p.symbols))}
	named := make([]string, len(p.symbols))
	for name, n := range p.symbols {
		named[n] = name
	}
	for _, name := range named {
		b, ok := m.ranges[name]
		if !ok {
			b = bounds{minInt, maxInt}
		}
		if m.guarded && b.low <= assumedSize {
			b.low = minInt
		}
		ranges = append(ranges, p.textOffset(name), b.low, b.high)
	}
	words := []int64{p.values, p.textOffset(m.inSpec), p.textOffset(m.outSpec), shownGraph}
	words = append(append(words, state...), ranges...)
	words = append(append(words, count), inputs...)
	words = append(append(words, shown), outputs...)
	words = append(append(words, changed), mutations...)
	return append(words, block...)
}

// appendInput appends the words of a user input: its name, its kind, its value, and for a tensor its dtype, text and sizes.
func (p *planner) appendInput(words []int64, in *spec, g *graph, s scope) []int64 {
	words = append(words, p.textOffset(in.arg.text))
	if in.arg.kind != argValue {
		return p.appendConstant(words, in, s)
	}
	words = append(words, C.LT_ARG_VALUE, p.defineValue(s, in.arg.text))
	m := g.metas[in.arg.text]
	if m == nil {
		return append(words, -1, p.textOffset("int"), 0)
	}
	sizes, text := p.appendShape(nil, m)
	return append(append(words, int64(p.lookupDType(m.dtype)), p.textOffset(text)), sizes...)
}

// appendConstant appends the words of an input that was constant in the export: a number, a bool, a string or none.
func (p *planner) appendConstant(words []int64, in *spec, s scope) []int64 {
	switch in.arg.kind {
	case argNone, argInt, argFloat, argBool, argString:
	default:
		p.setError("a constant input is neither a number, a bool, a string nor none")
		return words
	}
	st := &step{name: "input"}
	p.appendArg(s, &in.arg, st)
	return append(words, st.words...)
}

// appendOutput appends the words of user output i: its name, dtype and text. A constant has no name in the file: it is output_i.
func (p *planner) appendOutput(words []int64, out *spec, i int, g *graph) []int64 {
	name := out.arg.text
	if out.arg.kind != argValue {
		name = status.Textf("output_%d", i)
	}
	words = append(words, p.textOffset(name))
	m := g.metas[name]
	if out.arg.kind != argValue || m == nil {
		return append(words, -1, p.textOffset(""))
	}
	_, text := p.appendShape(nil, m)
	return append(words, int64(p.lookupDType(m.dtype)), p.textOffset(text))
}
