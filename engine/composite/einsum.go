package composite

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// ellipsis represents "..." in a parsed subscript.
const ellipsis = '.'

// parseSubscript reads the letters of one operand or of the output; spaces are skipped.
func parseSubscript(text string) ([]rune, error) {
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
			return nil, status.Runtimef("einsum: invalid subscript %q in %q; subscripts are letters from a to z and A to Z", string(c),
				text)
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
		labels, err := parseSubscript(p)
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
	output, err := parseSubscript(right)
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

// layout assigns a position to every label: the output's dimensions first, then those that are summed over, in alphabetical order. The
// ellipsis takes as many positions as the widest operand needs.
type layout struct {
	at    map[rune]int // first position of a label
	wide  int          // dimensions that the ellipsis covers
	kept  int          // dimensions of the output
	total int
}

func (e *equation) newLayout(operands []*tensor.Tensor) (*layout, error) {
	l := &layout{at: map[rune]int{}}
	for i, labels := range e.inputs {
		named := len(labels)
		if slices.Contains(labels, ellipsis) {
			named--
			l.wide = max(l.wide, operands[i].Dim()-named)
		}
		if dims := operands[i].Dim(); named > dims || named == len(labels) && named != dims {
			return nil, status.Runtimef("einsum: the number of subscripts (%d) does not match the number of dimensions (%d) of operand %d",
				named, dims, i)
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
	return l, nil
}

// labelAt returns the label at a position outside of the ellipsis.
func (l *layout) labelAt(position int) rune {
	for label, at := range l.at {
		if at == position && label != ellipsis {
			return label
		}
	}
	return ellipsis
}

// factor is an operand, or a product of some: its dimensions are at ascending positions of the layout.
type factor struct {
	t  *tensor.Tensor
	at []int
}

// sizeAt returns the factor's size at a position, 1 if it lacks the dimension.
func (f factor) sizeAt(position int) int64 {
	if d, found := slices.BinarySearch(f.at, position); found {
		return f.t.Sizes()[d]
	}
	return 1
}

// findPositions returns the position of each dimension of a tensor of n dimensions.
func (l *layout) findPositions(labels []rune, n int) (at []int) {
	covered := n - len(labels) + 1
	for _, label := range labels {
		first, n := l.at[label], 1
		if label == ellipsis {
			first, n = first+l.wide-covered, covered
		}
		for p := first; p < first+n; p++ {
			at = append(at, p)
		}
	}
	return at
}

// outputNames returns the names of the output, taken from the operands' dimensions at its positions. Dimensions that are summed over may
// have any name.
func (e *equation) outputNames(l *layout, operands []*tensor.Tensor) ([]string, error) {
	var names []string
	for i, t := range operands {
		if t.Names() == nil {
			continue
		}
		if names == nil {
			names = make([]string, l.kept)
		}
		for d, p := range l.findPositions(e.inputs[i], t.Dim()) {
			name := t.Names()[d]
			switch {
			case p >= l.kept || name == "":
			case names[p] != "" && names[p] != name:
				return nil, status.Runtimef("einsum: subscript %q is dim '%s' of one operand and dim '%s' of another; rename() one of them",
					string(l.labelAt(p)), names[p], name)
			default:
				names[p] = name
			}
		}
	}
	if name := tensor.RepeatedName(names); name != "" {
		return nil, status.Runtimef("einsum: the result would have the name '%s' twice, in dims %s; rename() one of them", name,
			tensor.NamesText(names))
	}
	return names, nil
}

// arrangeOperand creates the factor of operand i: repeated labels become diagonals, and dimensions are permuted to the layout's order.
func arrangeOperand(b *build.Builder, l *layout, i int, labels []rune, t *tensor.Tensor) factor {
	at := l.findPositions(labels, t.Dim())
	for d := 0; d < len(at); d++ {
		p := at[d]
		first := slices.Index(at, p)
		if first == d {
			continue
		}
		if expected, size := t.Sizes()[first], t.Sizes()[d]; expected != size {
			b.Check(status.Runtimef("einsum: subscript %q is repeated for operand %d but the sizes don't match, %d and %d",
				string(l.labelAt(p)), i, size, expected))
			break
		}
		// The diagonal is the last dimension in place of the two.
		t = b.Diagonal(t, 0, int64(first), int64(d))
		at = append(slices.Delete(slices.Delete(at, d, d+1), first, first+1), p)
		d -= 2
	}
	return sortDims(b, factor{t, at})
}

// sortDims permutes the dimensions of f into the layout's order.
func sortDims(b *build.Builder, f factor) factor {
	order := make([]int64, len(f.at))
	for d := range order {
		order[d] = int64(d)
	}
	slices.SortFunc(order, func(p, q int64) int { return f.at[p] - f.at[q] })
	slices.Sort(f.at)
	return factor{b.ReorderDims(f.t, order...), f.at}
}

// Einsum sums products of the operands' elements by an equation of subscripts, such as "bij,bjk->bik".
func Einsum(c dispatch.Context, text string, operands []*tensor.Tensor) (_ *tensor.Tensor, err error) {
	if len(operands) == 0 {
		return nil, status.Valuef("einsum: must provide at least one operand")
	}
	e, err := parseEquation(text, len(operands))
	if err != nil {
		return nil, err
	}
	l, err := e.newLayout(operands)
	if err != nil {
		return nil, err
	}
	names, err := e.outputNames(l, operands)
	if err != nil {
		return nil, err
	}
	b := build.New(c.Excluding(tensor.Named), "einsum")
	defer b.Close(&err)
	factors := make([]factor, len(operands))
	for i, t := range operands {
		factors[i] = arrangeOperand(b, l, i, e.inputs[i], t)
	}
	if err := l.checkSizes(factors); err != nil {
		return nil, err
	}
	wide, d := widenFactors(b, l, factors)
	result := castFromCompute(b, insertUnitDims(b, contractAll(b, l, wide), l.kept), d)
	if slices.Contains(operands, result) { // of which the result is only a view
		order := make([]int64, result.Dim())
		for d := range order {
			order[d] = int64(d)
		}
		result = b.Permute(result, order...)
	}
	r, err := build.WriteResult(b, nil, result)
	if err == nil && names != nil {
		r.SetNames(names)
	}
	return r, err
}

// widenFactors returns the factors in the compute dtype of their common dtype if several operations follow, and the dtype of the result.
func widenFactors(b *build.Builder, l *layout, factors []factor) ([]factor, dtype.DType) {
	d := factors[0].t.DType()
	if d.Compute() == d || slices.ContainsFunc(factors, func(f factor) bool { return f.t.DType() != d }) {
		return factors, dtype.None
	}
	steps := len(factors) - 1
	for p := l.kept; p < l.total; p++ {
		apart := func(f factor) bool { return f.sizeAt(p) != 1 }
		if i := slices.IndexFunc(factors, apart); i >= 0 && !slices.ContainsFunc(factors[i+1:], apart) {
			steps++ // a sum before the product
		}
	}
	if steps < 2 {
		return factors, dtype.None
	}
	wide := slices.Clone(factors)
	for i, f := range factors {
		wide[i].t = castToCompute(b, f.t)
	}
	return wide, d
}

// planPairs lists the pairs of factors in the order of their multiplication. A product gets the next free number.
func planPairs(l *layout, factors []factor) [][2]int {
	p := &plan{sizes: make([]float64, l.total), uses: make([]int, l.total)}
	for at := range l.total {
		p.sizes[at] = 1
		if at < l.kept {
			p.uses[at]++
		}
	}
	for _, f := range factors {
		at := []int{}
		for d, position := range f.at {
			if n := f.t.Sizes()[d]; n != 1 {
				at = append(at, position)
				p.sizes[position] = float64(n)
				p.uses[position]++
			}
		}
		p.factors = append(p.factors, at)
	}
	return p.planGreedily()
}

// contractAll multiplies factors, pair by pair, and sums on the way over the positions that the result lacks.
func contractAll(b *build.Builder, l *layout, factors []factor) factor {
	uses := make([]int, l.total) // of every position, and 1 of those that the result has
	for p := range l.kept {
		uses[p]++
	}
	for _, f := range factors {
		for _, p := range f.at {
			uses[p]++
		}
	}
	var alone []int
	for _, p := range factors[0].at {
		if uses[p] == 1 {
			alone = append(alone, p)
			uses[p] = 0
		}
	}
	factors[0] = sumPositions(b, factors[0], alone, dtype.None)
	for _, pair := range planPairs(l, factors) {
		f, g := factors[pair[0]], factors[pair[1]]
		for _, p := range slices.Concat(f.at, g.at) {
			uses[p]--
		}
		var sum []int
		for p := l.kept; p < l.total; p++ {
			if uses[p] == 0 && (slices.Contains(f.at, p) || slices.Contains(g.at, p)) {
				sum = append(sum, p)
			}
		}
		var result factor
		if len(sum) == 0 {
			result = multiplyElementwise(b, f, g, l.total)
		} else {
			result = contractPair(b, f, g, sum, l.total)
		}
		for _, p := range result.at {
			uses[p]++
		}
		factors = append(factors, result)
	}
	return factors[len(factors)-1]
}

// checkSizes returns an error for labels whose sizes do not broadcast over the operands.
func (l *layout) checkSizes(factors []factor) error {
	for p := range l.total {
		size := int64(1)
		for i, f := range factors {
			switch s := f.sizeAt(p); {
			case s == 1 || s == size:
			case size == 1:
				size = s
			default:
				return status.Runtimef("einsum: operands do not broadcast: operand %d has size %d in a dimension where others have %d", i,
					s, size)
			}
		}
	}
	return nil
}

// sumPositions adds up the positions in sum, in dtype d or in the dtype that sums have.
func sumPositions(b *build.Builder, f factor, sum []int, d dtype.DType) factor {
	var dims []int64
	var rest []int
	for i, p := range f.at {
		if slices.Contains(sum, p) {
			dims = append(dims, int64(i))
		} else {
			rest = append(rest, p)
		}
	}
	if len(dims) == 0 {
		return f
	}
	return factor{b.SumWith(f.t, dims, false, d), rest}
}

// insertUnitDims reshapes f to n dimensions, with size 1 for the positions that it lacks.
func insertUnitDims(b *build.Builder, f factor, n int) *tensor.Tensor {
	if len(f.at) == n {
		return f.t
	}
	sizes := make([]int64, n)
	for p := range sizes {
		sizes[p] = f.sizeAt(p)
	}
	return b.AsShape(f.t, sizes...)
}

// multiplyElementwise multiplies a and b, broadcast, element by element, which promotes.
func multiplyElementwise(b *build.Builder, f, g factor, total int) factor {
	every := make([]int, total)
	for p := range every {
		every[p] = p
	}
	return factor{b.Mul(insertUnitDims(b, f, total), insertUnitDims(b, g, total)), every}
}

// contractPair multiplies a and b, broadcast, and sums over the positions in sum: as one batched matrix product whose batch are
// the positions that both have and that stay. Sizes of 1 are left out.
func contractPair(b *build.Builder, f, g factor, sum []int, total int) factor {
	// A summed position that only one of the two has is summed before the product.
	var aloneA, aloneB []int
	for _, p := range sum {
		switch {
		case g.sizeAt(p) == 1 && f.sizeAt(p) != 1:
			aloneA = append(aloneA, p)
		case f.sizeAt(p) == 1 && g.sizeAt(p) != 1:
			aloneB = append(aloneB, p)
		}
	}
	f, g = sumPositions(b, f, aloneA, f.t.DType()), sumPositions(b, g, aloneB, g.t.DType())
	var both, left, inner, right []int
	for p := range total {
		switch inA, inB := f.sizeAt(p) != 1, g.sizeAt(p) != 1; {
		case inA && inB && slices.Contains(sum, p):
			inner = append(inner, p)
		case inA && inB:
			both = append(both, p)
		case inA:
			left = append(left, p)
		case inB:
			right = append(right, p)
		}
	}
	if len(left)+len(right) == 0 && len(inner) > 0 && prefersElementwiseProduct(b, f, g, inner) {
		f := sumPositions(b, multiplyElementwise(b, f, g, total), inner, f.t.DType())
		sizes := make([]int64, len(both))
		for i, p := range both {
			sizes[i] = f.sizeAt(p)
		}
		return factor{b.AsShape(f.t, sizes...), both}
	}
	product := b.Bmm(reshapeToBatch(b, f, both, left, inner), reshapeToBatch(b, g, both, inner, right))
	at := slices.Concat(both, left, right)
	sizes := make([]int64, len(at))
	for i, p := range at {
		if sizes[i] = f.sizeAt(p); sizes[i] == 1 {
			sizes[i] = g.sizeAt(p)
		}
	}
	return sortDims(b, factor{b.AsShape(product, sizes...), at})
}

// prefersElementwiseProduct reports whether a and b, which have the same sizes, are better multiplied before they are summed over the
// positions in sum.
func prefersElementwiseProduct(b *build.Builder, f, g factor, sum []int) bool {
	length, adjacent := int64(1), true
	for _, p := range sum {
		length *= f.sizeAt(p)
	}
	for _, f := range []factor{f, g} {
		d, _ := slices.BinarySearch(f.at, sum[len(sum)-1])
		adjacent = adjacent && f.t.Strides()[d] == 1
	}
	return f.t.DType() == g.t.DType() && isElementwiseProductFaster(f.t.DType(), f.t.Numel(), length, adjacent)
}

// reshapeToBatch is f with three dimensions, each of which joins the positions of a group; at all others f has size 1.
func reshapeToBatch(b *build.Builder, f factor, groups ...[]int) *tensor.Tensor {
	sizes := make([]int64, len(groups))
	for i, group := range groups {
		sizes[i] = 1
		for _, p := range group {
			sizes[i] *= f.sizeAt(p)
		}
	}
	positions := slices.Concat(groups...)
	if slices.IsSorted(positions) { // sizes of 1 are anywhere
		return b.AsShape(f.t, sizes...)
	}
	var order []int64
	for _, p := range positions {
		d, _ := slices.BinarySearch(f.at, p)
		order = append(order, int64(d))
	}
	for d, p := range f.at {
		if !slices.Contains(positions, p) {
			order = append(order, int64(d))
		}
	}
	return b.AsShape(b.ReorderDims(f.t, order...), sizes...)
}
