package program

import (
	"strconv"
	"strings"
)

// guardParser turns a guard, a comparison of sizes and integers of the inputs, into nodes that check it. The text is Python's, such as
// (L['x'].size()[0] % 2) == 0, where L has the arguments of the exported function.
type guardParser struct {
	text    string
	at      int
	depth   int
	prefix  string // of the names of values
	graph   *graph
	inputs  map[string]bool // the names of user inputs
	nodes   []node
	unknown bool // something that is not supported was read
}

// comparisons, sums and factors are operators of one precedence: their symbols, the longer ones first, and their functions in Python's
// module operator.
var (
	comparisons = [][2]string{{"==", "eq"}, {"!=", "ne"}, {"<=", "le"}, {">=", "ge"}, {"<", "lt"}, {">", "gt"}}
	sums        = [][2]string{{"+", "add"}, {"-", "sub"}}
	factors     = [][2]string{{"*", "mul"}, {"//", "floordiv"}, {"%", "mod"}}
)

// guardCost is at least the memory of the nodes of a guard.
func guardCost(guard string) int64 {
	calls := 1
	for _, c := range guard {
		if strings.ContainsRune("L+-*/%=<>!", c) {
			calls++
		}
	}
	return int64(calls) * (nodeCost + 2*argCost)
}

// guardNodes returns nodes that raise an error for inputs that the model's guards exclude. Guards of other forms than comparisons of
// integer expressions, joined by `and`, are not checked.
func guardNodes(m *model) (nodes []node) {
	inputs := map[string]bool{}
	for i := range m.inputs {
		if m.inputs[i].kind == "user_input" && m.inputs[i].arg.kind == argValue {
			inputs[m.inputs[i].arg.text] = true
		}
	}
	for i, guard := range m.guards {
		if strings.Contains(guard, " or ") || strings.Contains(guard, "not ") {
			continue
		}
		for k, part := range strings.Split(guard, " and ") {
			p := guardParser{text: part, prefix: "guard " + strconv.Itoa(i) + "." + strconv.Itoa(k) + " ", graph: m.graph, inputs: inputs}
			holds := p.parseComparison()
			if p.skipSpace(); p.unknown || p.at != len(part) {
				continue
			}
			text := "Guard failed: " + strings.TrimSpace(part) + ", where L has the arguments of the exported function"
			nodes = append(append(nodes, p.nodes...), node{target: "torch.ops.aten._assert_scalar.default", name: "guard",
				args: []namedArg{{arg: holds}, {arg: arg{kind: argString, text: text}}}})
		}
	}
	return nodes
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

func (p *guardParser) parseComparison() arg {
	left := p.parseSum()
	name := p.skipOperator(comparisons)
	if name == "" {
		p.unknown = true
		return left
	}
	return p.call("_operator."+name, left, p.parseSum())
}

func (p *guardParser) parseSum() arg { return p.parseChain(sums, p.parseProduct) }

func (p *guardParser) parseProduct() arg { return p.parseChain(factors, p.parseTerm) }

// parseChain parses operands between operators of one precedence.
func (p *guardParser) parseChain(symbols [][2]string, parseOperand func() arg) arg {
	value := parseOperand()
	for !p.unknown {
		name := p.skipOperator(symbols)
		if name == "" {
			break
		}
		value = p.call("_operator."+name, value, parseOperand())
	}
	return value
}

func (p *guardParser) parseTerm() arg {
	if p.depth++; p.depth > maxDepth || p.unknown {
		p.unknown = true
		return arg{}
	}
	defer func() { p.depth-- }()
	switch {
	case p.skip("("):
		value := p.parseSum()
		p.require(")")
		return value
	case p.skip("-"):
		return p.call("_operator.neg", p.parseTerm())
	case p.skip("L["):
		return p.parseInput()
	}
	n, ok := p.parseNumber()
	if !ok {
		p.unknown = true
	}
	return arg{kind: argInt, i: n}
}

func (p *guardParser) parseNumber() (int64, bool) {
	p.skipSpace()
	end := p.at
	for end < len(p.text) && '0' <= p.text[end] && p.text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(p.text[p.at:end], 10, 64)
	p.at = end
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
	name := strings.Join(keys, "_")
	isTensor := p.graph.metas[name] != nil
	if !p.inputs[name] || p.unknown {
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
