package ops

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// ellipsis stands for "..." in a parsed subscript.
const ellipsis = '.'

// subscript reads the letters of one operand or of the output; spaces are skipped.
func subscript(text string) ([]rune, error) {
	var labels []rune
	seen := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ':
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			labels = append(labels, rune(c))
		case c == '.':
			if seen || !strings.HasPrefix(text[i:], "...") {
				return nil, status.Runtimef("einsum: found '.' in %q that is not part of its only ellipsis", text)
			}
			seen = true
			labels = append(labels, ellipsis)
			i += 2
		default:
			return nil, status.Runtimef("einsum: invalid subscript %q in %q; subscripts are letters from a to z and A to Z", string(c), text)
		}
	}
	return labels, nil
}

// equation is a parsed einsum: labels of every operand, and those of the output.
type equation struct {
	inputs [][]rune
	output []rune
}

func parseEquation(text string, operands int) (*equation, error) {
	left, right, explicit := strings.Cut(text, "->")
	parts := strings.Split(left, ",")
	if len(parts) != operands {
		return nil, status.Runtimef("einsum: the equation %q has %d operands, but %d tensors were given", text, len(parts), operands)
	}
	e := &equation{}
	counts := map[rune]int{}
	for _, p := range parts {
		labels, err := subscript(p)
		if err != nil {
			return nil, err
		}
		e.inputs = append(e.inputs, labels)
		for _, l := range labels {
			counts[l]++
		}
	}
	if !explicit {
		// Labels that occur once, in alphabetical order, after the broadcast dimensions.
		for l, n := range counts {
			if n == 1 && l != ellipsis {
				e.output = append(e.output, l)
			}
		}
		slices.Sort(e.output)
		if counts[ellipsis] > 0 {
			e.output = append([]rune{ellipsis}, e.output...)
		}
		return e, nil
	}
	output, err := subscript(right)
	if err != nil {
		return nil, err
	}
	for i, l := range output {
		if slices.Contains(output[:i], l) {
			return nil, status.Runtimef("einsum: output subscript %q appears more than once in %q", string(l), text)
		}
		if l != ellipsis && counts[l] == 0 {
			return nil, status.Runtimef("einsum: output subscript %q does not appear in any input of %q", string(l), text)
		}
	}
	e.output = output
	return e, nil
}

// layout gives every label a position: the output's dimensions first, then those that are summed away, in alphabetical
// order. The ellipsis takes as many positions as the widest operand needs.
type layout struct {
	at       map[rune]int // first position of a label
	wide     int          // dimensions that the ellipsis covers
	kept     int          // dimensions of the output
	total    int
	lastUsed []int // the last operand with a dimension at this position
}

func (e *equation) layout(operands []*tensor.Tensor) (*layout, error) {
	l := &layout{at: map[rune]int{}}
	for i, labels := range e.inputs {
		named := len(labels)
		if slices.Contains(labels, ellipsis) {
			named--
			l.wide = max(l.wide, operands[i].Dim()-named)
		}
		if dims := operands[i].Dim(); named > dims || named == len(labels) && named != dims {
			return nil, status.Runtimef("einsum: the number of subscripts (%d) does not match the number of dimensions (%d) of operand %d", named, dims, i)
		}
	}
	place := func(label rune) {
		l.at[label] = l.total
		if label == ellipsis {
			l.total += l.wide
		} else {
			l.total++
		}
	}
	for _, label := range e.output {
		place(label)
	}
	l.kept = l.total
	var rest []rune
	for _, labels := range e.inputs {
		for _, label := range labels {
			if _, ok := l.at[label]; !ok && !slices.Contains(rest, label) {
				rest = append(rest, label)
			}
		}
	}
	slices.Sort(rest)
	for _, label := range rest {
		place(label)
	}
	l.lastUsed = make([]int, l.total)
	return l, nil
}

// arrange views operand i with a dimension of the layout for each of its labels, of size 1 where it lacks the label.
// Repeated labels become diagonals.
func (l *layout) arrange(i int, labels []rune, t *tensor.Tensor) (*tensor.Tensor, error) {
	sizes, strides := make([]int64, l.total), make([]int64, l.total)
	for p := range sizes {
		sizes[p] = 1
	}
	used := make([]bool, l.total)
	covered := t.Dim() - len(labels) + 1
	d := 0
	for _, label := range labels {
		at, n := l.at[label], 1
		if label == ellipsis {
			at, n = at+l.wide-covered, covered
		}
		for p := at; p < at+n; p++ {
			if used[p] && sizes[p] != t.Sizes()[d] {
				return nil, status.Runtimef("einsum: subscript %q is repeated for operand %d but the sizes don't match, %d and %d", string(label), i, t.Sizes()[d], sizes[p])
			}
			used[p] = true
			sizes[p] = t.Sizes()[d]
			strides[p] += t.Strides()[d]
			l.lastUsed[p] = i
			d++
		}
	}
	return t.View("einsum", sizes, strides, t.Offset())
}

// Einsum sums products of the operands' elements as an equation of subscripts says, such as "bij,bjk->bik".
func Einsum(text string, operands []*tensor.Tensor) (*tensor.Tensor, error) {
	if len(operands) == 0 {
		return nil, status.Runtimef("einsum: must provide at least one operand")
	}
	e, err := parseEquation(text, len(operands))
	if err != nil {
		return nil, err
	}
	l, err := e.layout(operands)
	if err != nil {
		return nil, err
	}
	s := within("einsum")
	defer s.Close()
	arranged := make([]*tensor.Tensor, len(operands))
	for i, t := range operands {
		arranged[i] = s.Keep(l.arrange(i, e.inputs[i], t))
	}
	if s.Err != nil {
		return nil, s.Err
	}
	if err := l.checkSizes(arranged); err != nil {
		return nil, err
	}
	var result *tensor.Tensor
	for i, t := range arranged {
		// Positions that no later operand has are summed on the way.
		sum := make([]bool, l.total)
		for p := l.kept; p < l.total; p++ {
			sum[p] = l.lastUsed[p] == i || i == 0 && l.lastUsed[p] == 0
		}
		if i == 0 {
			result = s.Keep(sumOut(t, sum, dtype.None))
		} else {
			result = s.contract(result, t, sum)
		}
		if s.Err != nil {
			return nil, s.Err
		}
	}
	return result.View("einsum", result.Sizes()[:l.kept], result.Strides()[:l.kept], result.Offset())
}

// checkSizes refuses labels whose sizes do not broadcast over the operands.
func (l *layout) checkSizes(arranged []*tensor.Tensor) error {
	for p := range l.total {
		size := int64(1)
		for i, t := range arranged {
			switch s := t.Sizes()[p]; {
			case s == 1 || s == size:
			case size == 1:
				size = s
			default:
				return status.Runtimef("einsum: operands do not broadcast: operand %d has size %d in a dimension where others have %d", i, s, size)
			}
		}
	}
	return nil
}

// sumOut adds up the positions in sum, which keep size 1, in dtype d or in the dtype that sums have.
func sumOut(t *tensor.Tensor, sum []bool, d dtype.DType) (*tensor.Tensor, error) {
	var dims []int64
	for p, s := range sum {
		if s && (t.Sizes()[p] != 1 || d == dtype.None) {
			dims = append(dims, int64(p))
		}
	}
	if len(dims) == 0 {
		return t.Alias(), nil
	}
	return Sum(nil, t, dims, true, d)
}

// contract multiplies a and b, broadcast, and sums over the positions in sum: as one batched matrix product whose batch are
// the positions that both have and that stay, or element by element where nothing is summed.
func (s *scope) contract(a, b *tensor.Tensor, sum []bool) *tensor.Tensor {
	if !slices.Contains(sum, true) {
		return s.mul(a, b) // which promotes
	}
	n := len(sum)
	// A summed position that only one of the two has is summed before the product.
	aloneA, aloneB := make([]bool, n), make([]bool, n)
	for p, summed := range sum {
		aloneA[p] = summed && b.Sizes()[p] == 1
		aloneB[p] = summed && a.Sizes()[p] == 1
	}
	a, b = s.Keep(sumOut(a, aloneA, a.DType())), s.Keep(sumOut(b, aloneB, b.DType()))
	if s.Err != nil {
		return nil
	}
	var both, left, inner, right []int
	for p, summed := range sum {
		inA, inB := a.Sizes()[p] != 1, b.Sizes()[p] != 1
		switch {
		case summed:
			inner = append(inner, p)
		case inA && inB:
			both = append(both, p)
		case inA:
			left = append(left, p)
		default:
			right = append(right, p)
		}
	}
	count := func(t *tensor.Tensor, at []int) int64 {
		product := int64(1)
		for _, p := range at {
			product *= t.Sizes()[p]
		}
		return product
	}
	batch, rows, depth, cols := count(a, both), count(a, left), count(a, inner), count(b, right)
	ma := s.reshape(s.permute(a, slices.Concat(both, left, inner, right)...), batch, rows, depth)
	mb := s.reshape(s.permute(b, slices.Concat(both, inner, right, left)...), batch, depth, cols)
	if s.Err != nil {
		return nil
	}
	product := s.Keep(matrixProduct("einsum", nil, nil, ma, mb, []int64{batch, rows, cols}, unscale, zero))
	if s.Err != nil {
		return nil
	}
	order := slices.Concat(both, left, inner, right)
	sizes := make([]int64, n)
	for i, p := range order {
		sizes[i] = max(a.Sizes()[p], b.Sizes()[p])
		if a.Sizes()[p] == 0 || b.Sizes()[p] == 0 {
			sizes[i] = 0
		}
		if sum[p] {
			sizes[i] = 1
		}
	}
	strides := shape.ContiguousStrides(sizes)
	outSizes, outStrides := make([]int64, n), make([]int64, n)
	for i, p := range order {
		outSizes[p], outStrides[p] = sizes[i], strides[i]
	}
	return s.Keep(product.View("einsum", outSizes, outStrides, 0))
}
