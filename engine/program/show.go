package program

import (
	"math"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
)

// String returns the graph as lines: one for each node, and after them those of the graphs of its control flow.
func (g *graph) String() string {
	var lines strings.Builder
	g.writeTo(&lines, "graph")
	return lines.String()
}

func (g *graph) writeTo(lines *strings.Builder, name string) {
	lines.WriteString(name + "(" + joinArgs(g.inputs) + "):\n")
	for i := range g.nodes {
		n := &g.nodes[i]
		lines.WriteString("    ")
		if len(n.results) > 0 {
			lines.WriteString(joinArgs(n.results) + " = ")
		}
		lines.WriteString(strings.TrimPrefix(n.target, "torch.ops.") + "(")
		for k := range n.args {
			if k > 0 {
				lines.WriteString(", ")
			}
			if a := &n.args[k]; a.keyword && a.name != "" {
				lines.WriteString(a.name + "=")
			}
			lines.WriteString(n.args[k].String())
		}
		lines.WriteString(")\n")
	}
	lines.WriteString("    return " + joinArgs(g.outputs) + "\n")
	for i := range g.nodes {
		for _, a := range g.nodes[i].args {
			if a.graph != nil {
				a.graph.writeTo(lines, a.text)
			}
		}
	}
}

func joinArgs(args []arg) string {
	texts := make([]string, len(args))
	for i := range args {
		texts[i] = args[i].String()
	}
	return strings.Join(texts, ", ")
}

// formatFloat returns a float as Python writes it.
func formatFloat(bits int64) string {
	text := strconv.FormatFloat(math.Float64frombits(uint64(bits)), 'g', -1, 64)
	if strings.ContainsAny(text, ".eIN") {
		return text
	}
	return text + ".0"
}

func formatBool(value int64) string {
	if value != 0 {
		return "True"
	}
	return "False"
}

func formatList(values []int64, format func(int64) string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = format(v)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// String returns the argument as text: the names of values and graphs, and constants as Python writes them.
func (a *arg) String() string {
	switch a.kind {
	case argNone:
		return "None"
	case argInt:
		return strconv.FormatInt(a.i, 10)
	case argFloat:
		return formatFloat(a.i)
	case argBool:
		return formatBool(a.i)
	case argComplex:
		return "complex(" + formatFloat(a.i) + ", " + formatFloat(a.im) + ")"
	case argString:
		return strconv.Quote(a.text)
	case argDType:
		if d, ok := dtype.OfExported(a.i); ok {
			return d.String()
		}
		return "dtype(" + strconv.FormatInt(a.i, 10) + ")"
	case argLayout:
		return fileLayouts[a.i].String()
	case argFormat:
		return formats[a.i].String()
	case argDevice:
		return strconv.Quote(deviceName(a))
	case argInts:
		return formatList(a.ints, func(i int64) string { return strconv.FormatInt(i, 10) })
	case argFloats:
		return formatList(a.ints, formatFloat)
	case argBools:
		return formatList(a.ints, formatBool)
	case argTensors, argSymInts, argSymFloats, argSymBools, argStrings:
		return "[" + joinArgs(a.items) + "]"
	default: // values, graphs and objects
		return a.text
	}
}
