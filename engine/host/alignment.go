package host

import (
	"math"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/launch"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// align sums the probabilities of alignments, or takes the gradients of their logarithms; threads share examples.
//
// The recursions are those of A. Graves et al., Connectionist Temporal Classification, ICML 2006, in logarithms.
func align(op string, w launch.Alignment) error {
	classes := w.Logs.Sizes()[2]
	targets := elements[int64](w.Targets)
	for i, n := range w.Labels {
		for _, label := range targets[w.Starts[i] : w.Starts[i]+n] {
			if label < 0 || label >= classes {
				return status.Indexf("%s: targets must be classes, from 0 to %d, but one is %d", op, classes-1, label)
			}
		}
	}
	run := alignEach[float64]
	if w.Logs.DType() == dtype.Float32 {
		run = alignEach[float32]
	}
	s := owner.Scope{Op: op}
	defer s.Close()
	most := w.Forward.Sizes()[2]
	examples := int64(len(w.Steps))
	rooms := make(chan []float64, min(int64(parallel.Threads()), examples))
	for range cap(rooms) {
		room := s.Step(func() (*tensor.Tensor, error) {
			return tensor.Empty(op, []int64{2*most + classes}, dtype.Float64, device.Host)
		})
		if s.Err != nil {
			return s.Err
		}
		rooms <- elements[float64](room)
	}
	parallel.For(examples, max(Grain/max(w.Forward.Numel()/max(examples, 1)*8, 1), 1), func(begin, end int64) {
		room := <-rooms
		for i := begin; i < end; i++ {
			run(w, i, targets[w.Starts[i]:w.Starts[i]+w.Labels[i]], room)
		}
		rooms <- room
	})
	return nil
}

// labelling is a sequence of labels with a blank before each of them and behind the last.
type labelling struct {
	labels []int64
	blank  int64
}

func (l labelling) len() int { return 2*len(l.labels) + 1 }
func (l labelling) at(s int) int64 {
	if s%2 == 0 {
		return l.blank
	}
	return l.labels[s/2]
}

// skips tells whether a way may go from s to s+2, past a blank between labels that differ.
func (l labelling) skips(s int) bool { return s >= 0 && s+2 < l.len() && l.at(s) != l.at(s+2) }

var none = math.Inf(-1)

// together is the logarithm of a sum of numbers with these logarithms.
func together(a, b, c float64) float64 {
	if b > a {
		a, b = b, a
	}
	if c > a {
		a, c = c, a
	}
	if a == none {
		return none
	}
	sum := 1.0
	if b != none {
		sum += math.Exp(b - a)
	}
	if c != none {
		sum += math.Exp(c - a)
	}
	return a + math.Log(sum)
}

// alignEach is align for example i.
func alignEach[T float32 | float64](w launch.Alignment, i int64, labels []int64, room []float64) {
	sizes, width := w.Logs.Sizes(), w.Forward.Sizes()[2]
	l := labelling{labels, w.Blank}
	logs := func(all []T, t int64) []T {
		first := (t*sizes[1] + i) * sizes[2]
		return all[first : first+sizes[2]]
	}
	in, losses := elements[T](w.Logs), elements[float64](w.Losses)
	forward := func(t int64) []float64 {
		first := (i*sizes[0] + t) * width
		return elements[float64](w.Forward)[first : first+int64(l.len())]
	}
	if w.Given == nil {
		losses[i] = l.sum(w.Steps[i], forward, func(t, label int64) float64 { return float64(logs(in, t)[label]) })
		return
	}
	out, given := elements[T](w.Gradient), elements[float64](w.Given)[i]
	for t := range sizes[0] {
		clear(logs(out, t))
	}
	if w.Finite && math.IsInf(losses[i], 1) {
		return
	}
	later, now, of := room[:l.len()], room[width:width+int64(l.len())], room[2*width:]
	for t := w.Steps[i] - 1; t >= 0; t-- {
		x := logs(in, t)
		for c := range of {
			of[c] = none
		}
		for s := range now {
			reach := none
			switch {
			case t == w.Steps[i]-1:
				if s >= l.len()-2 {
					reach = 0
				}
			case l.skips(s):
				reach = together(later[s], later[s+1], later[s+2])
			case s+1 < l.len():
				reach = together(later[s], later[s+1], none)
			default:
				reach = later[s]
			}
			label := l.at(s)
			now[s] = reach + float64(x[label])
			of[label] = together(of[label], forward(t)[s]+now[s], none)
		}
		y := logs(out, t)
		for c := range y {
			v := float64(x[c])
			y[c] = T((math.Exp(v) - math.Exp(of[c]+losses[i]-v)) * given)
		}
		later, now = now, later
	}
}

// sum goes forward over the steps and gives the negative logarithm of the sum of all ways.
func (l labelling) sum(steps int64, forward func(t int64) []float64, log func(t, label int64) float64) float64 {
	if steps == 0 {
		if len(l.labels) > 0 {
			return math.Inf(1)
		}
		return 0
	}
	for t := range steps {
		now := forward(t)
		for s := range now {
			reach := none
			switch {
			case t == 0:
				if s < 2 {
					reach = 0
				}
			case l.skips(s - 2):
				before := forward(t - 1)
				reach = together(before[s], before[s-1], before[s-2])
			case s > 0:
				before := forward(t - 1)
				reach = together(before[s], before[s-1], none)
			default:
				reach = forward(t - 1)[s]
			}
			now[s] = reach + log(t, l.at(s))
		}
	}
	end := forward(steps - 1)
	last := end[len(end)-1]
	if len(end) > 1 {
		last = together(last, end[len(end)-2], none)
	}
	return -last
}
