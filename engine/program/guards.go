package program

import (
	"slices"
	"strconv"
	"strings"
)

// guardParser turns a guard, a condition on sizes and numbers of the inputs, into nodes that compute it. The text is Python's, such as
// (L['x'].size()[0] % 2) == 0, where L has the arguments of the exported function.
type guardParser struct {
	text    string
	at      int
	depth   int
	prefix  string // of the names of values
	graph   *graph
	inputs  map[string]string // the names of user inputs, by those in guards
	nodes   []node
	bools   map[string]bool // the names of values that are bools
	unknown bool            // something that is not supported was read
}

// The operators of one precedence: their symbols, each before those that it begins with, and their functions in Python's module operator.
var (
	comparisons  = [][2]string{{"==", "eq"}, {"!=", "ne"}, {"<=", "le"}, {">=", "ge"}, {"<", "lt"}, {">", "gt"}}
	alternatives = [][2]string{{"|", "or_"}}
	differences  = [][2]string{{"^", "xor"}}
	masks        = [][2]string{{"&", "and_"}}
	shifts       = [][2]string{{"<<", "lshift"}, {">>", "rshift"}}
	sums         = [][2]string{{"+", "add"}, {"-", "sub"}}
	factors      = [][2]string{{"*", "mul"}, {"//", "floordiv"}, {"/", "truediv"}, {"%", "mod"}}
)

// logical are the operators whose result is a bool for operands that are bools.
var logical = []string{"or_", "xor", "and_"}

// guardFunctions are the functions that guards call, with their number of operands.
var guardFunctions = map[string]int{
	"math.trunc": 1, "math.floor": 1, "math.ceil": 1, "math.sqrt": 1, "torch._sym_sqrt": 1, "torch.sym_float": 1, "torch.sym_int": 1,
	"torch.sym_not": 1, "torch.sym_max": 2, "torch.sym_min": 2, "round": 1, "abs": 1, "math.log2": 1, "torch._sym_log2": 1,
}

// roundTo is the name of Python's function round with a number of digits.
const roundTo = "round_to"

const mostDigits = 22 // of roundTo; those beyond change no float64 of guards

// partialFunctions are the functions that have no result for some operands, besides overflow.
var partialFunctions = map[string]bool{
	"_operator.floordiv": true, "_operator.truediv": true, "_operator.mod": true, "_operator.pow": true, "_operator.lshift": true,
	"_operator.rshift": true, "math.sqrt": true, "torch._sym_sqrt": true, "math.log2": true, "torch._sym_log2": true,
}

// guardCost is at least the memory of the nodes of a guard.
func guardCost(guard string) int64 {
	calls := 1
	for _, word := range []string{"and ", "or ", "not ", "math.", "torch.", "round(", "abs(", "abs(", "is_integer(", "is_integer(", "<", ">"} {
		calls += strings.Count(guard, word) // a chained comparison, abs and is_integer are two nodes
	}
	for _, c := range guard {
		if strings.ContainsRune("L+-*/%&|^=<>!", c) {
			calls++
		}
	}
	return int64(calls) * (nodeCost + 2*argCost)
}

// guardNodes returns nodes that raise an error for inputs that the model's guards exclude. Guards that cannot be parsed are not checked.
func guardNodes(m *model) (nodes []node) {
	inputs := guardInputs(m)
	for i, guard := range m.guards {
		for k, part := range splitConjunction(guard) {
			p := guardParser{text: part, prefix: "guard " + strconv.Itoa(i) + "." + strconv.Itoa(k) + " ", graph: m.graph, inputs: inputs,
				bools: map[string]bool{}}
			holds := p.parseCondition()
			if p.skipSpace(); p.unknown || p.at != len(part) || !p.isBool(holds) {
				continue
			}
			text := "Guard failed: " + strings.TrimSpace(part) + ", where L has the arguments of the exported function"
			nodes = append(append(nodes, p.nodes...), node{target: "torch.ops.aten._assert_scalar.default", name: "guard",
				args: []namedArg{{arg: holds}, {arg: arg{kind: argString, text: text}}}})
		}
	}
	return nodes
}

// guardInputs returns the names of user inputs by those in guards: the same, or, in strict exports, L['flat_args'][0], L['flat_args'][1]
// and so on.
func guardInputs(m *model) map[string]string {
	inputs := map[string]string{}
	count := 0
	for i := range m.inputs {
		in := &m.inputs[i]
		if in.kind != "user_input" && in.kind != "constant_input" {
			continue
		}
		if in.arg.kind == argValue && in.kind == "user_input" {
			inputs["flat_args_"+strconv.Itoa(count)] = in.arg.text
		}
		count++
	}
	for i := range m.inputs {
		if in := &m.inputs[i]; in.kind == "user_input" && in.arg.kind == argValue {
			inputs[in.arg.text] = in.arg.text
		}
	}
	return inputs
}

// splitConjunction returns the operands of the operators `and` outside of parentheses, each of which is checked separately.
func splitConjunction(guard string) (parts []string) {
	depth, quoted, first := 0, false, 0
	for i := range len(guard) {
		switch c := guard[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && strings.HasPrefix(guard[i:], " or "):
			return []string{guard}
		case depth == 0 && strings.HasPrefix(guard[i:], " and "):
			parts = append(parts, guard[first:i])
			first = i + len(" and ")
		}
	}
	return append(parts, guard[first:])
}

func (p *guardParser) skipSpace() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}

// skip skips a word, and reports whether it comes next.
func (p *guardParser) skip(word string) bool {
	p.skipSpace()
	if !strings.HasPrefix(p.text[p.at:], word) {
		return false
	}
	p.at += len(word)
	return true
}

// require skips a word that must come next.
func (p *guardParser) require(word string) {
	if !p.skip(word) {
		p.unknown = true
	}
}

// skipOperator skips one of the symbols, and returns the name of its function, "" if there is none.
func (p *guardParser) skipOperator(symbols [][2]string) string {
	for _, s := range symbols {
		if p.skip(s[0]) {
			return s[1]
		}
	}
	return ""
}

// call adds a node, and returns its result.
func (p *guardParser) call(target string, operands ...arg) arg {
	result := arg{kind: argValue, text: p.prefix + strconv.Itoa(len(p.nodes))}
	n := node{target: target, name: "guard", results: []arg{result}}
	for _, a := range operands {
		n.args = append(n.args, namedArg{arg: a})
	}
	p.nodes = append(p.nodes, n)
	return result
}

// isBool reports whether a value is a bool.
func (p *guardParser) isBool(a arg) bool { return a.kind == argValue && p.bools[a.text] }

// callBool adds a node whose result is a bool.
func (p *guardParser) callBool(target string, operands ...arg) arg {
	result := p.call(target, operands...)
	p.bools[result.text] = true
	return result
}

// enterLevel counts a level of nesting, and reports whether it is allowed. The caller calls leaveLevel.
func (p *guardParser) enterLevel() bool {
	p.depth++
	p.unknown = p.unknown || p.depth > maxDepth
	return !p.unknown
}

func (p *guardParser) leaveLevel() { p.depth-- }

// parseCondition parses an expression, whose operators are those of Python from `or` on.
func (p *guardParser) parseCondition() arg {
	return p.parseLogical("or ", "_operator.or_", func() arg { return p.parseLogical("and ", "_operator.and_", p.parseNegation) })
}

// parseLogical parses operands between `and` or `or`.
func (p *guardParser) parseLogical(word, target string, parseOperand func() arg) arg {
	value := parseOperand()
	for !p.unknown && p.skip(word) {
		value = p.combineConditions(target, value, parseOperand)
	}
	return value
}

// combineConditions parses the right operand of a logical operator, and combines both. Python evaluates that operand only if the result
// depends on it, and nodes compute it always: it must not have functions that can fail.
func (p *guardParser) combineConditions(target string, left arg, parseRight func() arg) arg {
	first := len(p.nodes)
	right := parseRight()
	for _, n := range p.nodes[first:] {
		divisor := n.args[len(n.args)-1].arg
		divides := strings.HasSuffix(n.target, "div") || n.target == "_operator.mod"
		isSafe := divides && (divisor.kind == argInt || divisor.kind == argFloat) && divisor.i != 0
		p.unknown = p.unknown || partialFunctions[n.target] && !isSafe
	}
	p.unknown = p.unknown || !p.isBool(left) || !p.isBool(right)
	return p.callBool(target, left, right)
}

func (p *guardParser) parseNegation() arg {
	if !p.skip("not ") {
		return p.parseComparison()
	}
	defer p.leaveLevel()
	if !p.enterLevel() {
		return arg{}
	}
	return p.callBool("torch.sym_not", p.parseNegation())
}

// parseComparison parses a chain of comparisons: a < b < c is a < b and b < c.
func (p *guardParser) parseComparison() arg {
	value := p.parseBitwise()
	name := p.skipOperator(comparisons)
	if name == "" {
		return value
	}
	left := p.parseBitwise()
	value = p.callBool("_operator."+name, value, left)
	for !p.unknown {
		if name = p.skipOperator(comparisons); name == "" {
			break
		}
		value = p.combineConditions("_operator.and_", value, func() arg {
			right := p.parseBitwise()
			holds := p.callBool("_operator."+name, left, right)
			left = right
			return holds
		})
	}
	return value
}

// parseBitwise parses |, ^, &, shifts and arithmetic, which bind closer than comparisons.
func (p *guardParser) parseBitwise() arg { return p.parseChain(alternatives, p.parseDifference) }

func (p *guardParser) parseDifference() arg { return p.parseChain(differences, p.parseMask) }

func (p *guardParser) parseMask() arg { return p.parseChain(masks, p.parseShift) }

func (p *guardParser) parseShift() arg { return p.parseChain(shifts, p.parseSum) }

func (p *guardParser) parseSum() arg { return p.parseChain(sums, p.parseProduct) }

func (p *guardParser) parseProduct() arg { return p.parseChain(factors, p.parseFactor) }

// parseChain parses operands between operators of one precedence.
func (p *guardParser) parseChain(symbols [][2]string, parseOperand func() arg) arg {
	value := parseOperand()
	for !p.unknown {
		name := p.skipOperator(symbols)
		if name == "" {
			break
		}
		left := value
		right := parseOperand()
		value = p.call("_operator."+name, left, right)
		p.bools[value.text] = slices.Contains(logical, name) && p.isBool(left) && p.isBool(right)
	}
	return value
}

// parseFactor parses a sign, which binds closer than * and less close than **, and a power.
func (p *guardParser) parseFactor() arg {
	defer p.leaveLevel()
	if !p.enterLevel() {
		return arg{}
	}
	if p.skip("-") {
		return p.call("_operator.neg", p.parseFactor())
	}
	value := p.parseTerm()
	if p.skip("**") {
		value = p.call("_operator.pow", value, p.parseFactor())
	}
	return value
}

func (p *guardParser) parseTerm() arg {
	var value arg
	switch {
	case p.skip("("):
		value = p.parseCondition()
		p.require(")")
	case p.skip("L["):
		value = p.parseInput()
	default:
		if p.skipSpace(); p.at < len(p.text) && (isDigit(p.text[p.at]) || p.text[p.at] == '.') {
			value = p.parseLiteral()
		} else {
			value = p.parseFunction()
		}
	}
	for !p.unknown && p.skip(".is_integer()") {
		value = p.callBool("_operator.eq", p.call("math.floor", value), value)
	}
	return value
}

// skipWhile skips the characters for which accepts returns true, and returns them.
func (p *guardParser) skipWhile(accepts func(c byte) bool) string {
	p.skipSpace()
	first := p.at
	for p.at < len(p.text) && accepts(p.text[p.at]) {
		p.at++
	}
	return p.text[first:p.at]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// parseLiteral parses an integer or a float, such as 1e-07.
func (p *guardParser) parseLiteral() arg {
	first := p.at
	text := p.skipWhile(func(c byte) bool {
		isSign := (c == '-' || c == '+') && p.at > first && p.text[p.at-1] == 'e'
		return isDigit(c) || c == '.' || c == 'e' || isSign
	})
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return arg{kind: argInt, i: n}
	}
	f, err := strconv.ParseFloat(text, 64)
	p.unknown = p.unknown || err != nil || !strings.ContainsAny(text, ".e")
	return arg{kind: argFloat, i: floatBits(f)}
}

// parseFunction parses a call of a function.
func (p *guardParser) parseFunction() arg {
	name := p.skipWhile(func(c byte) bool { return c == '.' || c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' || isDigit(c) })
	operands, ok := guardFunctions[name]
	p.unknown = p.unknown || !ok
	p.require("(")
	var values []arg
	for !p.unknown {
		values = append(values, p.parseCondition())
		if !p.skip(",") {
			break
		}
	}
	if name == "round" && len(values) == 2 {
		name, operands = roundTo, 2
		digits := values[1]
		p.unknown = p.unknown || digits.kind != argInt || digits.i < 0 || digits.i > mostDigits
	}
	if p.require(")"); p.unknown || len(values) != operands {
		p.unknown = true
		return arg{}
	}
	switch name {
	case "abs":
		return p.call("torch.sym_max", values[0], p.call("_operator.neg", values[0]))
	case "torch.sym_not":
		return p.callBool(name, values...)
	}
	return p.call(name, values...)
}

func (p *guardParser) parseNumber() (int64, bool) {
	n, err := strconv.ParseInt(p.skipWhile(isDigit), 10, 64)
	return n, err == nil
}

// parseInput parses an argument, or an element of one, after L[: a size of a tensor, or an integer. Elements are inputs whose names are
// those of the containers and the keys, joined by _.
func (p *guardParser) parseInput() arg {
	var keys []string
	for {
		keys = append(keys, p.parseKey())
		p.require("]")
		if p.unknown || !p.skip("[") {
			break
		}
	}
	name, known := p.inputs[strings.Join(keys, "_")]
	isTensor := p.graph.metas[name] != nil
	if !known || p.unknown {
		p.unknown = true
		return arg{}
	}
	value := arg{kind: argValue, text: name}
	if !isTensor {
		return value
	}
	p.require(".size()[")
	dim, ok := p.parseNumber()
	p.require("]")
	p.unknown = p.unknown || !ok
	return p.call("torch.ops.aten.sym_size.int", value, arg{kind: argInt, i: dim})
}

// parseKey parses the name of an argument, or a key or an index of one.
func (p *guardParser) parseKey() string {
	if !p.skip("'") {
		n, ok := p.parseNumber()
		p.unknown = p.unknown || !ok
		return strconv.FormatInt(n, 10)
	}
	end := strings.IndexByte(p.text[p.at:], '\'')
	if end < 0 {
		p.unknown = true
		return ""
	}
	key := p.text[p.at : p.at+end]
	p.unknown = p.unknown || strings.Contains(key, "\\")
	p.at += end + 1
	return key
}
