package format

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
)

// printer prints the elements of one tensor: it reads those that will show, decides on their format, then lays them
// out in the same order.
type printer struct {
	src       Source
	options   Options
	summarize bool
	index     []int64
	shown     []dtype.Scalar
	complex   bool
	real      formatter // or the only one
	imag      formatter
}

// formatElements returns the elements in brackets, for a string that starts at column indent.
func formatElements(src Source, indent int, meta bool, o Options) string {
	sizes := src.Sizes()
	if meta {
		return "..."
	}
	n := countElements(sizes)
	if n == 0 {
		return "[]"
	}
	d := src.DType()
	p := printer{
		src: src, options: o, summarize: n > o.Threshold, index: make([]int64, len(sizes)), complex: d.IsComplex(),
	}
	p.readElements(0)
	if p.complex {
		parts := make([]dtype.Scalar, len(p.shown))
		for i, v := range p.shown {
			parts[i] = dtype.FloatScalar(v.Im)
		}
		p.imag = newFormatter(parts, true, o)
	}
	p.real = newFormatter(decisiveValues(d, p.shown), p.complex || d.IsFloatingPoint(), o)
	return p.printDim(0, indent)
}

// decisiveValues returns the values that determine the format: the smallest number of float8_e8m0fnu, which zero is converted to, counts
// as zero.
func decisiveValues(d dtype.DType, values []dtype.Scalar) []dtype.Scalar {
	if d != dtype.Float8E8M0FNU {
		return values
	}
	values = slices.Clone(values)
	for i := range values {
		if values[i].F == d.SmallestNormal() {
			values[i].F = 0
		}
	}
	return values
}

// shownRange returns the indices of a dimension that are shown: [0, head) and [tail, n).
func (p *printer) shownRange(dim int) (head, tail, n int64) {
	n = p.src.Sizes()[dim]
	if p.summarize && n-p.options.EdgeItems > p.options.EdgeItems {
		return p.options.EdgeItems, n - p.options.EdgeItems, n
	}
	return n, n, n
}

func (p *printer) readElements(dim int) {
	if dim == len(p.index) {
		p.shown = append(p.shown, p.src.At(p.index))
		return
	}
	head, tail, n := p.shownRange(dim)
	for i := int64(0); i < n; i++ {
		if i == head {
			i = tail
		}
		if i < n {
			p.index[dim] = i
			p.readElements(dim + 1)
		}
	}
}

// printDim formats the dimensions from dim on, which start at column indent.
func (p *printer) printDim(dim, indent int) string {
	if dim == len(p.index) {
		return p.printNext()
	}
	head, tail, n := p.shownRange(dim)
	var items []string
	for range head {
		items = append(items, p.printDim(dim+1, indent+1))
	}
	last := dim == len(p.index)-1
	if head < tail {
		items = append(items, p.ellipsis(last))
	}
	for range n - tail {
		items = append(items, p.printDim(dim+1, indent+1))
	}
	margin := strings.Repeat(" ", indent+1)
	if !last {
		return "[" + strings.Join(items, ","+strings.Repeat("\n", len(p.index)-dim-1)+margin) + "]"
	}
	width := p.real.width + len(", ")
	if p.complex {
		width += p.imag.width + len("j")
	}
	perLine := max(1, (p.options.LineWidth-indent)/width)
	var lines []string
	for len(items) > 0 {
		k := min(perLine, len(items))
		lines = append(lines, strings.Join(items[:k], ", "))
		items = items[k:]
	}
	return "[" + strings.Join(lines, ",\n"+margin) + "]"
}

// ellipsis represents the items left out. PyTorch sets it off by a space within a row that shows elements.
func (p *printer) ellipsis(last bool) string {
	if last && p.options.EdgeItems > 0 {
		return " ..."
	}
	return "..."
}

func (p *printer) printNext() string {
	v := p.shown[0]
	p.shown = p.shown[1:]
	if !p.complex {
		return p.real.formatPadded(v)
	}
	imag := strings.TrimLeft(p.imag.formatPadded(dtype.FloatScalar(v.Im)), " ") + "j"
	return p.real.formatPadded(v) + addSign(imag)
}
