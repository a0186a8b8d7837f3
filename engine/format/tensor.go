package format

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
)

// Source is a tensor to print. A meta tensor's At is never called.
type Source interface {
	DType() dtype.DType
	Sizes() []int64
	At(index []int64) dtype.Scalar // element at a multi-index; the slice is borrowed for the call
}

// Attributes are printed after a tensor's elements, each unless it is the zero value. The dtype is printed unless it follows from the
// elements and dtype.Default.
type Attributes struct {
	Device       string   // as in device='cuda:0'; empty for the default device
	Meta         bool     // no elements: prints "..." and the size
	Layout       string   // as in layout=torch.sparse_coo; empty for strided
	GradFn       string   // as in grad_fn=<AddBackward0>
	RequiresGrad bool     // printed when there is no GradFn
	Names        []string // dimension names, "" for an unnamed dimension
}

const prefix = "tensor("

// Tensor prints a strided tensor: "tensor(...)" with its elements, aligned and broken into lines, and attributes.
func Tensor(src Source, a Attributes, o Options) string {
	d, sizes := src.DType(), src.Sizes()
	var suffixes []string
	switch {
	case a.Meta:
		suffixes = append(suffixes, "size="+Size(sizes))
		suffixes = appendDType(suffixes, d, d == dtype.Default())
	case countElements(sizes) == 0:
		if len(sizes) != 1 {
			suffixes = append(suffixes, "size="+Size(sizes))
		}
		suffixes = appendDType(suffixes, d, d == dtype.Default())
	default:
		if o.EdgeItems == 0 {
			suffixes = append(suffixes, "size="+Size(sizes))
		}
		suffixes = appendDType(suffixes, d, isImplied(d))
	}
	return appendAttributes(prefix+formatElements(src, len(prefix), a.Meta, o), suffixes, a, false, o)
}

// Part is one named tensor of a sparse tensor, such as indices.
type Part struct {
	Name   string
	Source Source
}

// Sparse prints a sparse tensor of the given sizes as its parts, of which the last holds nnz values. Parts after the first start on a new
// line, as do the attributes of a COO tensor.
func Sparse(parts []Part, sizes []int64, nnz int64, a Attributes, o Options) string {
	indent := strings.Repeat(" ", len(prefix))
	lines := make([]string, len(parts))
	for i, part := range parts {
		head := part.Name + "=" + prefix
		lines[i] = head + formatElements(part.Source, len(prefix)+len(head), a.Meta, o)
		if a.Meta || countElements(part.Source.Sizes()) == 0 {
			lines[i] += ", size=" + Size(part.Source.Sizes())
		}
		lines[i] += ")"
	}
	suffixes := []string{"size=" + Size(sizes)}
	if !a.Meta {
		suffixes = append(suffixes, "nnz="+strconv.FormatInt(nnz, 10))
	}
	d := parts[len(parts)-1].Source.DType()
	suffixes = appendDType(suffixes, d, isImplied(d))
	return appendAttributes(prefix+strings.Join(lines, ",\n"+indent), suffixes, a, a.Layout == "torch.sparse_coo", o)
}

// Quantized prints a tensor of the quantized dtype d by its numbers, and how they are quantized.
func Quantized(src Source, d dtype.DType, quantizer []string, a Attributes, o Options) string {
	suffixes := append([]string{"size=" + Size(src.Sizes()), "dtype=torch." + d.String()}, quantizer...)
	return appendAttributes(prefix+formatElements(src, len(prefix), a.Meta, o), suffixes, a, false, o)
}

// Number prints a number as Python does.
func Number(s dtype.Scalar) string { return formatPython(s) }

// Size prints sizes as a Python tuple: (), (3,), (2, 3).
func Size(sizes []int64) string {
	s := make([]string, len(sizes))
	for i, n := range sizes {
		s[i] = strconv.FormatInt(n, 10)
	}
	return formatTuple(s)
}

func formatTuple(s []string) string {
	if len(s) == 1 {
		return "(" + s[0] + ",)"
	}
	return "(" + strings.Join(s, ", ") + ")"
}

func countElements(sizes []int64) int64 {
	n := int64(1)
	for _, size := range sizes {
		n *= size
	}
	return n
}

// isImplied reports whether a reader infers the dtype from the elements.
func isImplied(d dtype.DType) bool {
	standard := dtype.Default()
	complexes := dtype.Complex64
	if standard == dtype.Float64 {
		complexes = dtype.Complex128
	}
	return d == standard || d == complexes || d == dtype.Int64 || d == dtype.Bool
}

func appendDType(suffixes []string, d dtype.DType, implied bool) []string {
	if implied {
		return suffixes
	}
	return append(suffixes, "dtype=torch."+d.String())
}

// appendAttributes appends the attributes and suffixes, each on a new line if the last line has no room.
func appendAttributes(text string, suffixes []string, a Attributes, newline bool, o Options) string {
	if a.Device != "" {
		suffixes = append([]string{"device='" + a.Device + "'"}, suffixes...)
	}
	if a.Layout != "" {
		suffixes = append(suffixes, "layout="+a.Layout)
	}
	if a.GradFn != "" {
		suffixes = append(suffixes, fmt.Sprintf("grad_fn=<%s>", a.GradFn))
	} else if a.RequiresGrad {
		suffixes = append(suffixes, "requires_grad=True")
	}
	if a.Names != nil {
		names := make([]string, len(a.Names))
		for i, name := range a.Names {
			names[i] = "None"
			if name != "" {
				names[i] = "'" + name + "'"
			}
		}
		suffixes = append(suffixes, "names="+formatTuple(names))
	}
	var b strings.Builder
	b.WriteString(text)
	// The length counts PyTorch's way, which is one too many after the first line and two on it.
	length := len(text) - strings.LastIndexByte(text, '\n') + 1
	for _, s := range suffixes {
		if newline || length+len(s)+2 > o.LineWidth {
			b.WriteString(",\n" + strings.Repeat(" ", len(prefix)) + s)
			length = len(prefix) + len(s)
			newline = false
			continue
		}
		b.WriteString(", " + s)
		length += len(s) + 2
	}
	b.WriteByte(')')
	return b.String()
}
