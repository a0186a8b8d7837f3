package program

import (
	"math"
	"strconv"
	"strings"
)

const (
	minInt = math.MinInt64
	maxInt = math.MaxInt64
)

// floatBits returns the bits of a float as an integer.
func floatBits(f float64) int64 { return int64(math.Float64bits(f)) }

// clipName shortens a name for an error message.
func clipName(s string) string { return s[:min(len(s), 100)] }

// expression is a sympy expression, as its srepr: Add(Mul(Integer(2), Symbol('s0', integer=True)), Integer(1)).
type expression struct {
	function string // or Symbol, Integer
	symbol   string
	value    int64
	operands []*expression
}

// parser parses an srepr.
type parser struct {
	text  string
	at    int
	depth int
}

// parseExpression returns nil for text that is not an expression of known functions.
func parseExpression(text string) *expression {
	p := parser{text: text}
	e := p.parseExpression()
	if p.at != len(text) {
		return nil
	}
	return e
}

func (p *parser) skipTo(set string) string {
	n := strings.IndexAny(p.text[p.at:], set)
	if n < 0 {
		n = len(p.text) - p.at
	}
	word := p.text[p.at : p.at+n]
	p.at += n
	return strings.TrimSpace(word)
}

func (p *parser) parseExpression() *expression {
	if p.depth++; p.depth > maxDepth {
		return nil
	}
	defer func() { p.depth-- }()
	e := &expression{function: p.skipTo("(),")}
	if p.at == len(p.text) || p.text[p.at] != '(' {
		return nil
	}
	p.at++
	switch e.function {
	case "Symbol":
		if p.at < len(p.text) && p.text[p.at] == '\'' {
			p.at++
			e.symbol = p.skipTo("'")
		}
		p.skipTo(")")
	case "Integer":
		value, err := strconv.ParseInt(p.skipTo(")"), 10, 64)
		if err != nil {
			return nil
		}
		e.value = value
	default:
		for {
			operand := p.parseExpression()
			if operand == nil {
				return nil
			}
			e.operands = append(e.operands, operand)
			p.skipTo(",)")
			if p.at == len(p.text) || p.text[p.at] == ')' {
				break
			}
			p.at++
		}
	}
	if p.at == len(p.text) {
		return nil
	}
	p.at++
	return e
}

// functionCodes are the functions that are evaluated, with their number of operands; 0 for any.
var functionCodes = map[string]struct {
	code, operands int
	infix          string
}{
	"Add": {symAdd, 0, " + "}, "Mul": {symMul, 0, "*"}, "FloorDiv": {symFloorDiv, 2, "//"}, "CleanDiv": {symFloorDiv, 2, "//"},
	"Mod": {symMod, 2, " % "}, "PythonMod": {symMod, 2, " % "}, "Max": {symMax, 0, ""}, "Min": {symMin, 0, ""},
}

// String returns the expression as it is written in Python.
func (e *expression) String() string {
	switch e.function {
	case "Symbol":
		return e.symbol
	case "Integer":
		return strconv.FormatInt(e.value, 10)
	}
	var parts []string
	for _, operand := range e.operands {
		part := operand.String()
		if len(operand.operands) > 1 && e.function != "Add" && functionCodes[operand.function].infix != "" {
			part = "(" + part + ")"
		}
		parts = append(parts, part)
	}
	if infix := functionCodes[e.function].infix; infix != "" {
		return strings.ReplaceAll(strings.Join(parts, infix), "+ -", "- ")
	}
	return e.function + "(" + strings.Join(parts, ", ") + ")"
}

// compileTo appends the expression's evaluation on a stack to code. It returns false if a function is unknown. Symbols that are not in
// numbers get a number.
func (e *expression) compileTo(code []int64, numbers map[string]int64) ([]int64, bool) {
	switch e.function {
	case "Symbol":
		n, ok := numbers[e.symbol]
		if !ok {
			n = int64(len(numbers))
			numbers[e.symbol] = n
		}
		return append(code, dimSymbol, n), true
	case "Integer":
		return append(code, dimNumber, e.value), true
	}
	c, ok := functionCodes[e.function]
	if !ok || len(e.operands) == 0 || c.operands != 0 && c.operands != len(e.operands) {
		return code, false
	}
	for i, operand := range e.operands {
		if code, ok = operand.compileTo(code, numbers); !ok {
			return code, false
		}
		if i > 0 {
			code = append(code, dimOperator, int64(c.code))
		}
	}
	return code, true
}
