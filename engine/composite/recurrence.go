package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/tensor"
)

// countGates returns the number of gates of a cell type.
func countGates(cells string) int64 {
	switch cells {
	case "lstm":
		return 4
	case "gru":
		return 3
	}
	return 1
}

// network is a stack of layers of cells, over all steps of some sequences.
type network struct {
	*build.Builder
	cells                string
	biases, twice, train bool
	plain                bool // whether no operand has a gradient or belongs to a transform
	dropout              float64
	layers               int64
	batches              []int64 // the rows of each step
	params               []*tensor.Tensor
}

func newNetwork(c dispatch.Context, op, cells string, params []*tensor.Tensor, biases bool, layers int64, dropout float64, train,
	both bool) *network {
	return &network{Builder: build.New(c, op), cells: cells, biases: biases, twice: both, train: train, dropout: dropout, layers: layers,
		params: params}
}

// checkArguments rejects a number of layers and a probability out of range.
func (n *network) checkArguments() {
	if n.layers < 1 {
		n.Failf("num_layers must be positive, but is %d", n.layers)
	}
	if !(n.dropout >= 0 && n.dropout <= 1) {
		n.Failf("dropout must be from 0 to 1, but is %v", n.dropout)
	}
}

// countDirections returns the number of directions of each layer.
func (n *network) countDirections() int64 {
	if n.twice {
		return 2
	}
	return 1
}

// mostSteps bounds the list of steps.
const mostSteps = 1 << 24

// states are those that all layers begin with: h, and for an LSTM c.
type states struct{ h, c *tensor.Tensor }

// unpackStates returns the initial hidden and cell states of an LSTM.
func (n *network) unpackStates(hx []*tensor.Tensor) states {
	if len(hx) != 2 {
		n.Failf("hx must have two tensors, hidden state and cell state, but has %d", len(hx))
	}
	return states{hx[0], hx[1]}
}

// weights are the parameters of a layer in one direction.
type weights struct{ input, state, inputBias, stateBias, projection *tensor.Tensor }

// splitWeights returns the weights of each layer and direction.
func (n *network) splitWeights(begin states) []weights {
	each := int64(2)
	if n.biases {
		each = 4
	}
	projected := begin.c != nil && begin.h.Dim() == 3 && begin.c.Dim() == 3 && begin.h.Sizes()[2] != begin.c.Sizes()[2]
	if projected {
		each++
	}
	count := shape.Times(n.layers, n.countDirections())
	if int64(len(n.params)) != shape.Times(count, each) {
		n.Failf("params must have %d tensors for each of %d layers and directions, but has %d tensors", each, count, len(n.params))
	}
	var list []weights
	for p := range slices.Chunk(n.params, int(each)) {
		w := weights{input: p[0], state: p[1]}
		if n.biases {
			w.inputBias, w.stateBias = p[2], p[3]
		}
		if projected {
			w.projection = p[each-1]
		}
		list = append(list, w)
	}
	return list
}

// checkOperands returns an error for tensors that are not of one dtype and device, and states of other sizes than (layers and directions,
// sequences, any).
func (n *network) checkOperands(data *tensor.Tensor, begin states, sequences int64) {
	n.Check(checkFloating(n.Op, data))
	for _, t := range append([]*tensor.Tensor{begin.h, begin.c}, n.params...) {
		if t != nil && (t.DType() != data.DType() || t.Device() != data.Device()) {
			n.Failf("all tensors must have the dtype and device of input, %v on %v, but one has %v on %v", data.DType(), data.Device(),
				t.DType(), t.Device())
		}
	}
	for i, t := range []*tensor.Tensor{begin.h, begin.c} {
		if want := []int64{shape.Times(n.layers, n.countDirections()), sequences}; t != nil && (t.Dim() != 3 || !slices.Equal(t.Sizes()[:2],
			want)) {
			n.Failf("%s must have shape (layers * directions, batch, hidden) with the first sizes %d and %d, but has %v", []string{"hx",
				"the cells of hx"}[i], want[0], want[1], t.Sizes())
		}
	}
}

// runPadded runs the layers on sequences of one length, whose steps dimension 0 counts, or with batchFirst dimension 1.
func (n *network) runPadded(input *tensor.Tensor, begin states, batchFirst bool) (output *tensor.Tensor, end states) {
	if input.Dim() != 3 {
		n.Failf("input must have shape (steps, batch, features), but has sizes %v", input.Sizes())
	}
	if batchFirst {
		input = n.ReorderDims(input, 1, 0, 2)
	}
	steps, sequences := input.Sizes()[0], input.Sizes()[1]
	if steps == 0 || steps > mostSteps {
		n.Failf("Expected sequence length to be larger than 0 in RNN, and at most %d, but input has sizes %v", mostSteps, input.Sizes())
	}
	n.checkOperands(input, begin, sequences)
	n.batches = slices.Repeat([]int64{sequences}, int(steps))
	output, end = n.runLayers(n.AsShape(input, shape.Times(steps, sequences), input.Sizes()[2]), begin)
	output = n.AsShape(output, steps, sequences, output.Sizes()[1])
	if batchFirst {
		output = n.ReorderDims(output, 1, 0, 2)
	}
	return output, end
}

// runPacked runs the layers on packed sequences.
func (n *network) runPacked(data, batchSizes *tensor.Tensor, begin states) (output *tensor.Tensor, end states) {
	var rows int64
	n.batches, rows = readBatchSizes(n.Builder, batchSizes, "batch_sizes")
	if data.Dim() != 2 || len(n.batches) == 0 || data.Sizes()[0] != rows {
		n.Failf("data must be a matrix with sum(batch_sizes) = %d rows, but has sizes %v", rows, data.Sizes())
	}
	n.checkOperands(data, begin, n.batches[0])
	return n.runLayers(data, begin)
}

// runLayers runs the layers on rows of steps. 16-bit numbers are computed with in float32.
func (n *network) runLayers(data *tensor.Tensor, begin states) (output *tensor.Tensor, end states) {
	all := n.splitWeights(begin)
	width, units := begin.stateSizes(2)
	for i, w := range all { // before any layer draws numbers for dropout
		features := data.Sizes()[1]
		if int64(i) >= n.countDirections() {
			features = shape.Times(width, n.countDirections())
		}
		n.checkWeights(features, width, units, w)
	}
	d := data.DType()
	wide := d.Compute()
	n.plain = n.C.Plain(append([]*tensor.Tensor{data, begin.h, begin.c}, n.params...)...)
	output = n.CastTo(data, wide)
	begin = states{n.CastTo(begin.h, wide), castIfGiven(n.Builder, begin.c, wide)}
	var hidden, cells []*tensor.Tensor
	for layer := range n.layers {
		var result []*tensor.Tensor
		input := output
		for direction := range n.countDirections() {
			i := layer*n.countDirections() + direction
			y, last := n.runLayer(input, begin.selectStates(n, i), all[i].castWeights(n, wide), direction == 1)
			result, hidden, cells = append(result, y), append(hidden, last.h), append(cells, last.c)
		}
		if output = result[0]; n.twice {
			output = n.Cat(result, 1)
			n.releaseAll(result...)
		}
		n.releaseAll(input)
		if n.train && n.dropout > 0 && layer < n.layers-1 {
			whole := output
			output = n.Dropout(whole, n.dropout, true)
			n.releaseAll(whole)
		}
	}
	end.h = n.CastTo(n.Stack(hidden, 0), d)
	if n.cells == "lstm" {
		end.c = n.CastTo(n.Stack(cells, 0), d)
	}
	if d == wide && !n.twice && output.Keys()&tensor.Gradient != 0 && n.C.Recording() {
		kept := output // which a gradient reads again, whatever becomes of the result
		output = n.CloneWith(kept, shape.Contiguous)
	}
	return n.CastTo(output, d), end
}

// releaseAll releases the temporaries of a layer before those of the next one are made. Autograd has references to those that it needs.
func (n *network) releaseAll(list ...*tensor.Tensor) {
	for _, t := range list {
		n.Drop(t)
	}
}

// castWeights returns the parameters in dtype d. Weights of inputs and states are read in the dtype that they are stored in if the kernels
// do that, and no transform or gradient needs others.
func (w weights) castWeights(n *network, d dtype.DType) weights {
	input, state := w.input, w.state
	rounded := backend.RoundsProducts(state.DType()) && state.Device().Type == device.CPU && n.plain
	if !rounded {
		input = castIfGiven(n.Builder, input, d)
	}
	if !rounded || w.projection != nil {
		state = castIfGiven(n.Builder, state, d)
	}
	return weights{input, state, castIfGiven(n.Builder, w.inputBias, d), castIfGiven(n.Builder, w.stateBias,
		d), castIfGiven(n.Builder, w.projection, d)}
}

// stateSizes returns the sizes of hidden and of cell states along dimension dim. They are equal if there are no cell states.
func (s states) stateSizes(dim int) (width, units int64) {
	width = s.h.Sizes()[dim]
	if s.c == nil {
		return width, width
	}
	return width, s.c.Sizes()[dim]
}

// selectStates returns the states of one layer and direction.
func (s states) selectStates(n *network, i int64) (own states) {
	own.h = n.Select(s.h, 0, i)
	if s.c != nil {
		own.c = n.Select(s.c, 0, i)
	}
	return own
}

// runLayer runs the cells of a layer in one direction: the products of all inputs are one product.
func (n *network) runLayer(data *tensor.Tensor, begin states, w weights, reverse bool) (output *tensor.Tensor, end states) {
	x, bias := n.projectInputs(data, begin, w)
	if w.projection != nil {
		h, hn, cn, err := n.C.NnRecurrenceSteps(x, begin.h, begin.c, w.state, bias, w.projection, n.batches, reverse, n.cells)
		n.Check(err)
		n.releaseAll(x)
		return n.Track(h, nil), states{n.Track(hn, nil), n.Track(cn, nil)}
	}
	h, hn, cn, gates, kept, err := n.C.NnRecurrence(x, begin.h, begin.c, w.state, bias, n.batches, reverse, n.cells)
	n.Track(gates, err)
	n.Track(kept, nil)
	n.releaseAll(x, gates, kept)
	return n.Track(h, nil), states{n.Track(hn, nil), n.Track(cn, nil)}
}

// projectInputs returns the products of inputs and weights, plus biases. In a GRU, the biases of the states are added to the products of
// the states.
func (n *network) projectInputs(data *tensor.Tensor, begin states, w weights) (x, stateBias *tensor.Tensor) {
	bias := w.inputBias
	switch {
	case n.cells == "gru":
		stateBias = w.stateBias
	case bias == nil:
		bias = w.stateBias
	case w.stateBias != nil:
		bias = n.Add(bias, w.stateBias)
	}
	if w.input.DType() != data.DType() {
		return n.NnLinearRounded(data, w.input, bias), stateBias
	}
	transposed := n.ReorderDims(w.input, 1, 0)
	if bias == nil {
		return n.Matmul(data, transposed), stateBias
	}
	return n.AddmmWith(bias, data, transposed, one, one), stateBias
}

// checkWeights returns an error for parameters with sizes that do not match the states.
func (n *network) checkWeights(features, width, units int64, w weights) {
	if w.projection == nil && width != units {
		n.Failf("hidden and cell states must have the same sizes, but those of hx have %d and %d units", width, units)
	}
	gates := shape.Times(countGates(n.cells), units)
	n.checkSizes("w_ih", w.input, gates, features)
	n.checkSizes("w_hh", w.state, gates, width)
	n.checkSizes("b_ih", w.inputBias, gates)
	n.checkSizes("b_hh", w.stateBias, gates)
	n.checkSizes("w_hr", w.projection, width, units)
}

func (n *network) checkSizes(name string, t *tensor.Tensor, sizes ...int64) {
	if t != nil && !slices.Equal(t.Sizes(), sizes) {
		n.Failf("%s must have sizes %v for this input and state, but has %v", name, sizes, t.Sizes())
	}
}

// returnThree returns the results of an LSTM.
func (n *network) returnThree(output *tensor.Tensor, end states) (y, h, c *tensor.Tensor, err error) {
	list := []*tensor.Tensor{output, end.h, end.c}
	if list, err = n.ReturnAll(list); err != nil {
		return nil, nil, nil, err
	}
	return list[0], list[1], list[2], nil
}

// returnTwo returns the results of the other cell types.
func (n *network) returnTwo(output *tensor.Tensor, end states) (y, h *tensor.Tensor, err error) {
	return n.ReturnBoth(output, end.h)
}

// Lstm runs layers of long short-term memory.
func Lstm(c dispatch.Context, input *tensor.Tensor, hx, params []*tensor.Tensor, biases bool, layers int64, dropout float64, train, both,
	batchFirst bool) (y, h, cells *tensor.Tensor, err error) {
	n := newNetwork(c, "lstm", "lstm", params, biases, layers, dropout, train, both)
	defer n.Close(&err)
	n.checkArguments()
	return n.returnThree(n.runPadded(input, n.unpackStates(hx), batchFirst))
}

// LstmData is Lstm for packed sequences.
func LstmData(c dispatch.Context, data, batchSizes *tensor.Tensor, hx, params []*tensor.Tensor, biases bool, layers int64, dropout float64,
	train, both bool) (y, h, cells *tensor.Tensor, err error) {
	n := newNetwork(c, "lstm", "lstm", params, biases, layers, dropout, train, both)
	defer n.Close(&err)
	n.checkArguments()
	return n.returnThree(n.runPacked(data, batchSizes, n.unpackStates(hx)))
}

// Gru runs layers of gated recurrent units.
func Gru(c dispatch.Context, input, hx *tensor.Tensor, params []*tensor.Tensor, biases bool, layers int64, dropout float64, train, both,
	batchFirst bool) (y, h *tensor.Tensor, err error) {
	n := newNetwork(c, "gru", "gru", params, biases, layers, dropout, train, both)
	defer n.Close(&err)
	n.checkArguments()
	return n.returnTwo(n.runPadded(input, states{h: hx}, batchFirst))
}

// GruData is Gru for packed sequences.
func GruData(c dispatch.Context, data, batchSizes, hx *tensor.Tensor, params []*tensor.Tensor, biases bool, layers int64, dropout float64,
	train, both bool) (y, h *tensor.Tensor, err error) {
	n := newNetwork(c, "gru", "gru", params, biases, layers, dropout, train, both)
	defer n.Close(&err)
	n.checkArguments()
	return n.returnTwo(n.runPacked(data, batchSizes, states{h: hx}))
}

// RnnTanh runs layers whose states are hyperbolic tangents.
func RnnTanh(c dispatch.Context, input, hx *tensor.Tensor, params []*tensor.Tensor, biases bool, layers int64, dropout float64, train, both,
	batchFirst bool) (y, h *tensor.Tensor, err error) {
	n := newNetwork(c, "rnn_tanh", "tanh", params, biases, layers, dropout, train, both)
	defer n.Close(&err)
	n.checkArguments()
	return n.returnTwo(n.runPadded(input, states{h: hx}, batchFirst))
}

// RnnTanhData is RnnTanh for packed sequences.
func RnnTanhData(c dispatch.Context, data, batchSizes, hx *tensor.Tensor, params []*tensor.Tensor, biases bool, layers int64,
	dropout float64, train, both bool) (y, h *tensor.Tensor, err error) {
	n := newNetwork(c, "rnn_tanh", "tanh", params, biases, layers, dropout, train, both)
	defer n.Close(&err)
	n.checkArguments()
	return n.returnTwo(n.runPacked(data, batchSizes, states{h: hx}))
}

// RnnRelu applies recurrent layers with relu.
func RnnRelu(c dispatch.Context, input, hx *tensor.Tensor, params []*tensor.Tensor, biases bool, layers int64, dropout float64, train, both,
	batchFirst bool) (y, h *tensor.Tensor, err error) {
	n := newNetwork(c, "rnn_relu", "relu", params, biases, layers, dropout, train, both)
	defer n.Close(&err)
	n.checkArguments()
	return n.returnTwo(n.runPadded(input, states{h: hx}, batchFirst))
}

// RnnReluData is RnnRelu for packed sequences.
func RnnReluData(c dispatch.Context, data, batchSizes, hx *tensor.Tensor, params []*tensor.Tensor, biases bool, layers int64,
	dropout float64, train, both bool) (y, h *tensor.Tensor, err error) {
	n := newNetwork(c, "rnn_relu", "relu", params, biases, layers, dropout, train, both)
	defer n.Close(&err)
	n.checkArguments()
	return n.returnTwo(n.runPacked(data, batchSizes, states{h: hx}))
}

// runCell runs cells for one step.
func (n *network) runCell(input *tensor.Tensor, begin states, w weights) states {
	n.Check(checkFloating(n.Op, input))
	for _, t := range []*tensor.Tensor{begin.h, begin.c, w.input, w.state, w.inputBias, w.stateBias} {
		if t != nil && (t.DType() != input.DType() || t.Device() != input.Device()) {
			n.Failf("all tensors must have the dtype and device of input, %v on %v, but one has %v on %v", input.DType(), input.Device(),
				t.DType(), t.Device())
		}
	}
	if input.Dim() != 2 || begin.h.Dim() != 2 || begin.c != nil && begin.c.Dim() != 2 || begin.h.Sizes()[0] != input.Sizes()[0] ||
		begin.c != nil && begin.c.Sizes()[0] != input.Sizes()[0] {
		each := [][]int64{begin.h.Sizes()}
		if begin.c != nil {
			each = append(each, begin.c.Sizes())
		}
		n.Failf("input and hx must be matrices with one row for each batch element, but input has sizes %v and hx %v", input.Sizes(), each)
	}
	width, units := begin.stateSizes(1)
	n.checkWeights(input.Sizes()[1], width, units, w)
	n.batches = []int64{input.Sizes()[0]}
	d := input.DType()
	wide := d.Compute()
	_, end := n.runLayer(n.CastTo(input, wide), states{castIfGiven(n.Builder, begin.h, wide), castIfGiven(n.Builder, begin.c, wide)},
		w.castWeights(n, wide), false)
	end.h = n.CastTo(end.h, d)
	if begin.c != nil {
		end.c = n.CastTo(end.c, d)
	}
	return end
}

// LstmCell is a step of long short-term memory.
func LstmCell(c dispatch.Context, input *tensor.Tensor, hx []*tensor.Tensor, inputs, state, inputBias,
	stateBias *tensor.Tensor) (h, cells *tensor.Tensor, err error) {
	n := &network{Builder: build.New(c, "lstm_cell"), cells: "lstm"}
	defer n.Close(&err)
	end := n.runCell(input, n.unpackStates(hx), weights{input: inputs, state: state, inputBias: inputBias, stateBias: stateBias})
	return n.returnTwo(end.h, states{h: end.c})
}

func runOneStep(c dispatch.Context, op, cells string, input, hx *tensor.Tensor, w weights) (_ *tensor.Tensor, err error) {
	n := &network{Builder: build.New(c, op), cells: cells}
	defer n.Close(&err)
	return build.WriteResult(n.Builder, nil, n.runCell(input, states{h: hx}, w).h)
}

// GruCell is a step of gated recurrent units.
func GruCell(c dispatch.Context, input, hx, inputs, state, inputBias, stateBias *tensor.Tensor) (*tensor.Tensor, error) {
	return runOneStep(c, "gru_cell", "gru", input, hx, weights{input: inputs, state: state, inputBias: inputBias, stateBias: stateBias})
}

// RnnTanhCell is a step whose state is a hyperbolic tangent.
func RnnTanhCell(c dispatch.Context, input, hx, inputs, state, inputBias, stateBias *tensor.Tensor) (*tensor.Tensor, error) {
	return runOneStep(c, "rnn_tanh_cell", "tanh", input, hx, weights{input: inputs, state: state, inputBias: inputBias,
		stateBias: stateBias})
}

// RnnReluCell applies one step of a recurrent layer with relu.
func RnnReluCell(c dispatch.Context, input, hx, inputs, state, inputBias, stateBias *tensor.Tensor) (*tensor.Tensor, error) {
	return runOneStep(c, "rnn_relu_cell", "relu", input, hx, weights{input: inputs, state: state, inputBias: inputBias,
		stateBias: stateBias})
}
