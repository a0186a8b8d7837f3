package tensoriter

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernelapi"
)

// Rows of up to shortRow elements are reduced several at a time.
const shortRow = 8

// dim is one dimension of a reduction: its size and its strides in bytes in the input and in the outputs.
type dim struct {
	size, in int64
	out      [2]int64
}

// dimList holds the dimensions of a reduction, fastest first, with adjacent ones merged. Its methods return new lists: a buffer that is
// changed through a pointer would not stay on the stack.
type dimList []dim

// insert returns l with d inserted by its stride in the input.
func (l dimList) insert(d dim) dimList {
	i := len(l)
	l = append(l, d)
	for ; i > 0 && (l[i-1].in > d.in || l[i-1].in == d.in && l[i-1].out[0] > d.out[0]); i-- {
		l[i] = l[i-1]
	}
	l[i] = d
	return l
}

// mergeAdjacent returns l with adjacent dimensions of continuous strides merged.
func (l dimList) mergeAdjacent() dimList {
	if len(l) < 2 {
		return l
	}
	k := 0
	for _, d := range l[1:] {
		p := &l[k]
		if d.in == p.in*p.size && d.out[0] == p.out[0]*p.size && d.out[1] == p.out[1]*p.size {
			p.size *= d.size
			continue
		}
		k++
		l[k] = d
	}
	return l[:k+1]
}

func (l dimList) numel() int64 {
	n := int64(1)
	for _, d := range l {
		n *= d.size
	}
	return n
}

// reducesColumns reports whether adjacent outputs of the fastest kept dimension are reduced together: if they are closer in memory than
// the elements of one row, and many or contiguous, and if rows are short.
func reducesColumns(kept *dim, size, step, count int64) bool {
	closer := size > 1 && kept.in < step && (kept.size >= shortRow || step == kept.in*kept.size)
	return closer || kept.size > count && count <= shortRow
}

// LayReduction fills in all of l but Op, unless there are no outputs: their number, and that of elements which are reduced to each.
func LayReduction(l *kernelapi.Reduction, w backend.Reduction) (outputs, count int64) {
	in := w.In
	var buffer [2][6]dim // more dimensions go to the heap
	kept, reduced := dimList(buffer[0][:0]), dimList(buffer[1][:0])
	at := [2]int{}
	for d, size := range in.Sizes() {
		entry := dim{size: size, in: in.Strides()[d] * in.DType().Size()}
		for k, out := range w.Out {
			if out == nil || w.Mask[d] && out.Dim() < in.Dim() {
				continue
			}
			entry.out[k] = out.Strides()[at[k]] * out.DType().Size()
			at[k]++
		}
		switch {
		case size == 1:
		case w.Mask[d]:
			entry.out = [2]int64{}
			reduced = reduced.insert(entry)
		default:
			kept = kept.insert(entry)
		}
	}
	kept, reduced = kept.mergeAdjacent(), reduced.mergeAdjacent()
	outputs, count = kept.numel(), reduced.numel()
	if outputs == 0 {
		return outputs, count
	}
	if count == 0 {
		reduced = dimList{{}} // the other sizes are not visited, however large they are
	}
	l.In, l.Totals, l.Pieces, l.Base, l.Count = uintptr(in.Data()), 0, 0, 0, count
	l.Memory, l.Compute = in.DType(), w.Compute
	for k, out := range w.Out {
		l.Out[k] = 0
		if out != nil {
			l.Out[k], l.OutMemory[k] = uintptr(out.Data()), out.DType()
		}
	}
	l.Params = w.Params
	l.Kept, l.Reduced = int32(len(kept)), int32(max(len(reduced), 1))
	for i, d := range kept {
		l.KeptSizes[i], l.KeptIn[i], l.KeptOut[0][i], l.KeptOut[1][i] = d.size, d.in, d.out[0], d.out[1]
	}
	l.ReducedSizes[0], l.ReducedIn[0] = 1, 0
	for i, d := range reduced {
		l.ReducedSizes[i], l.ReducedIn[i] = d.size, d.in
	}
	l.Columns = 0
	if len(kept) > 0 && reducesColumns(&kept[0], l.ReducedSizes[0], l.ReducedIn[0], count) {
		l.Columns = kept[0].size
	}
	return outputs, count
}
