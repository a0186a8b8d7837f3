package autograd

import (
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// recurrenceGradient returns the gradient of operand i of a layer of cells: of x, h, c, weight or bias.
func (s *steps) recurrenceGradient(given, givenLast, givenCell, x, h, c, weight, bias, output, gates, kept *tensor.Tensor, batches []int64,
	reverse bool, cells string, i int64) *tensor.Tensor {
	return s.evaluateOnce(func() []*tensor.Tensor {
		if s.record {
			return s.recurrenceSteps([]*tensor.Tensor{given, givenLast, givenCell}, []*tensor.Tensor{x, h, c, weight, bias}, batches, reverse, cells)
		}
		slopes, ofState, ofCell, previous, err := s.C.NnRecurrenceGradient(given, givenLast, givenCell, gates, kept, output, h, c, weight,
			batches, reverse, cells)
		s.Track(slopes, err)
		s.Track(ofState, nil)
		s.Track(ofCell, nil)
		s.Track(previous, nil)
		ofInputs, ofStates := slopes, slopes
		units := h.Sizes()[1]
		turned := func(t *tensor.Tensor) *tensor.Tensor { return t }
		if cells == "gru" { // which has the states' part of the last gate first
			ofInputs, ofStates = s.Narrow(slopes, 1, units, 3*units), s.Narrow(slopes, 1, 0, 3*units)
			turned = func(t *tensor.Tensor) *tensor.Tensor {
				return s.Cat([]*tensor.Tensor{s.Narrow(t, 0, units, 2*units), s.Narrow(t, 0, 0, units)}, 0)
			}
		}
		var ofWeight, ofBias *tensor.Tensor
		if s.needsGrad(3) {
			ofWeight = turned(s.Matmul(s.Transpose(ofStates, 0, 1), previous))
		}
		if s.needsGrad(4) {
			ofBias = turned(s.Sum(ofStates, []int64{0}, false))
		}
		return []*tensor.Tensor{ofInputs, ofState, ofCell, ofWeight, ofBias}
	})[i]
}

// recurrenceSteps computes the same gradients by a backward pass through a graph recorded step by step, on aliases that do not depend on
// each other.
func (s *steps) recurrenceSteps(given, operands []*tensor.Tensor, batches []int64, reverse bool, cells string) []*tensor.Tensor {
	own := make([]*tensor.Tensor, len(operands))
	var wanted []*tensor.Tensor
	var places []int
	for i, t := range operands {
		if t == nil {
			continue
		}
		if own[i] = s.ViewAs(t, t); s.needsGrad(i) {
			wanted, places = append(wanted, own[i]), append(places, i)
		}
	}
	output, hn, cn, err := s.C.NnRecurrenceSteps(own[0], own[1], own[2], own[3], own[4], nil, batches, reverse, cells)
	results := []*tensor.Tensor{s.Track(output, err), s.Track(hn, nil), s.Track(cn, nil)}
	if own[2] == nil {
		results, given = results[:2], given[:2]
	}
	made := make([]*tensor.Tensor, len(operands))
	for j, t := range s.TrackAll(AutogradGrad(s.C, results, wanted, given, ops.True, true, false, true)) {
		made[places[j]] = t
	}
	return made
}
