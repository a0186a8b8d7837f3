package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// The types of expressions are those of Go, and two of constants that fit several.
const (
	tensorType  = "*tensor.Tensor"
	tensorsType = "[]*tensor.Tensor"
	scalarType  = "dtype.Scalar"
	intConst    = "an integer"
	floatConst  = "a number"
	noneConst   = "none"
)

// expression is a compiled part of a formula: Go code and its type. Each intermediate result has a single use, so the op that uses it takes
// ownership (engine/autograd/temporaries.go).
type expression struct {
	code, typ string
	temporary bool // a tensor that nothing else uses
}

// compiler turns the formulas of one operator into Go. Their language has Go's expressions: names of arguments, grad and
// grad_NAME for the gradients of results, result and NAME for results, calls of operators and of the methods of steps in
// engine/autograd, as functions or as methods of their first argument, arithmetic and comparisons of tensors and numbers, and
// cond(test, a, b).
type compiler struct {
	op       *schema.Operator
	f        *function
	ops      map[string]*function // by the operator's C name
	defaults map[string][]string  // of their arguments
	helpers  map[string]*function
	uses     map[string]bool   // operands and results that the formula in hand reads elements of
	captured map[string]string // values that are read before the call, by variable
	flows    map[int]bool      // results whose gradients formulas read
	naming   bool              // the formula in hand is the name of a call
	once     bool              // the formula in hand reads the gradients of results once, so that they are free after that
}

func newExpression(code, typ string) expression { return expression{code: code, typ: typ} }

func (k *compiler) failCompile(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

// compileFormula compiles a formula to code of a type.
func (k *compiler) compileFormula(text, typ string) (code string, err error) {
	defer func() {
		if v := recover(); v != nil {
			failed, ok := v.(error)
			if !ok {
				panic(v)
			}
			err = fmt.Errorf("derivatives: %s: %w", text, failed)
		}
	}()
	e, err := parser.ParseExpr(text)
	if err != nil {
		return "", fmt.Errorf("derivatives: %s: %w", text, err)
	}
	k.once = k.countReads(e) == 1
	return k.convertTo(k.compileExpression(e), typ), nil
}

// countReads counts how often a formula may read gradients of results.
func (k *compiler) countReads(e ast.Expr) (count int) {
	if call, ok := e.(*ast.CallExpr); ok {
		if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "cond" && len(call.Args) == 3 {
			return k.countReads(call.Args[0]) + max(k.countReads(call.Args[1]), k.countReads(call.Args[2]))
		}
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Ident:
			if strings.HasPrefix(x.Name, "grad") || strings.HasPrefix(x.Name, "has_grad") {
				count++
			}
		case *ast.CallExpr:
			if ast.Expr(x) != e {
				count += k.countReads(x)
				return false
			}
		}
		return true
	})
	return count
}

// convertTo converts an expression to a required type.
func (k *compiler) convertTo(e expression, typ string) string {
	if e.typ == typ {
		return e.code
	}
	switch e.typ + " as " + typ {
	case intConst + " as int64", intConst + " as float64", floatConst + " as float64":
		return e.code
	case intConst + " as ops.Int", "int64 as ops.Int":
		return "ops.Int(" + e.code + ")"
	case "int64 as float64":
		return "float64(" + e.code + ")"
	case "ops.Int as int64":
		return "int64(" + e.code + ")"
	case intConst + " as " + scalarType, "int64 as " + scalarType:
		return "dtype.IntScalar(" + e.code + ")"
	case floatConst + " as " + scalarType, "float64 as " + scalarType:
		return "dtype.FloatScalar(" + e.code + ")"
	case intConst + " as " + tensorType, "int64 as " + tensorType:
		return "s.int(" + e.code + ")"
	case floatConst + " as " + tensorType, "float64 as " + tensorType:
		return "s.float(" + e.code + ")"
	case scalarType + " as " + tensorType:
		return "s.number(" + e.code + ")"
	case noneConst + " as " + tensorType, noneConst + " as []int64", noneConst + " as *float64":
		return "nil"
	case noneConst + " as " + scalarType:
		return "dtype.Scalar{}"
	case noneConst + " as ops.Int":
		return "ops.NoInt"
	case noneConst + " as dtype.DType":
		return "dtype.None"
	}
	k.failCompile("%s is %s, and %s is wanted", e.code, e.typ, typ)
	return ""
}

func (k *compiler) compileExpression(e ast.Expr) expression {
	switch x := e.(type) {
	case *ast.ParenExpr:
		inner := k.compileExpression(x.X)
		inner.code = "(" + inner.code + ")"
		return inner
	case *ast.BasicLit:
		return newExpression(x.Value, map[token.Token]string{token.INT: intConst, token.FLOAT: floatConst, token.STRING: "string"}[x.Kind])
	case *ast.Ident:
		if name := strings.TrimSuffix(x.Name, "_"); token.IsKeyword(name) { // type_ is the argument type
			return k.resolveName(name)
		}
		return k.resolveName(x.Name)
	case *ast.SelectorExpr:
		return k.compileAttribute(x)
	case *ast.CallExpr:
		return k.compileCall(x)
	case *ast.UnaryExpr:
		return k.compileUnary(x.Op, k.compileExpression(x.X))
	case *ast.BinaryExpr:
		return k.compileBinary(x.Op, k.compileExpression(x.X), k.compileExpression(x.Y))
	}
	k.failCompile("the language has no %T", e)
	return expression{}
}

// resolveName returns the value of a name.
func (k *compiler) resolveName(name string) expression {
	switch name {
	case "true", "false":
		return newExpression(name, "bool")
	case noneConst:
		return newExpression(name, noneConst)
	case "i":
		return newExpression("int64(i)", "int64")
	case "grads":
		return newExpression("s.given", tensorsType)
	case "inplace":
		if k.naming && k.outArgument() != "nil" {
			return newExpression(k.outArgument()+" == "+k.self0(), "bool")
		}
		if k.op.Has("inplace") {
			k.captured["inPlace"] = k.outArgument() + " == " + k.self0()
			return newExpression("inPlace", "bool")
		}
	}
	for at, r := range k.op.Returns {
		switch {
		case name == "grad" && len(k.op.Returns) == 1, name == "grad_"+r.Name:
			k.flows[at] = true
			if k.once {
				return expression{fmt.Sprintf("s.take(%d)", at), tensorType, true}
			}
			return newExpression(fmt.Sprintf("s.grad(%d)", at), tensorType)
		case name == "has_grad_"+r.Name:
			return newExpression(fmt.Sprintf("s.hasGrad(%d)", at), "bool")
		case name == "result" && len(k.op.Returns) == 1, name == r.Name && len(k.op.Returns) > 1:
			k.uses[resultName(k.op, at)] = true
			return newExpression("s.saved("+resultName(k.op, at)+"_)", tensorType)
		}
	}
	if name == "grad" && len(k.op.Returns) == 0 {
		return newExpression("s.grad(0)", tensorType)
	}
	i := slices.IndexFunc(k.op.Args, func(a schema.Arg) bool { return a.Name == name })
	if i < 0 {
		k.failCompile("%s is no name of the operator", name)
	}
	p := k.goParam(i)
	switch p.typ {
	case tensorType:
		k.uses[p.name] = true
		return newExpression("s.saved("+p.name+"_)", tensorType)
	case tensorsType:
		k.uses[p.name] = true
		return newExpression("s.savedAll("+p.name+"_)", tensorsType)
	case "[]ops.IndexItem":
		k.uses[p.name] = true
		return newExpression("s.savedIndex("+p.name+"_)", p.typ)
	case "[]int64", "*float64":
		k.captured[p.name] = "copyValues(" + p.name + ")"
	}
	return newExpression(p.name, p.typ)
}

// goParam returns the Go parameter of argument i.
func (k *compiler) goParam(i int) param { return k.f.params[len(k.f.params)-len(k.op.Args)+i] }

func resultName(o *schema.Operator, i int) string {
	if len(o.Returns) == 1 {
		return "result"
	}
	return schema.Camel(o.Returns[i].Name, false) + "Result"
}

// attributes are the metadata of a tensor: code with a verb for the tensor, and its type.
var attributes = map[string]expression{
	"sizes":      newExpression("%s.Sizes()", "[]int64"),
	"strides":    newExpression("%s.Strides()", "[]int64"),
	"offset":     newExpression("%s.Offset()", "int64"),
	"number":     newExpression("%s.IsWrappedNumber()", "bool"),
	"dim":        newExpression("int64(%s.Dim())", "int64"),
	"numel":      newExpression("%s.Numel()", "int64"),
	"dtype":      newExpression("%s.DType()", "dtype.DType"),
	"is_complex": newExpression("%s.DType().IsComplex()", "bool"),
	"like":       newExpression("likeOf(%s)", "like"),
}

// compileAttribute returns x.name. The attribute of an operand is read before the call, so that the operand need not be saved for it.
func (k *compiler) compileAttribute(x *ast.SelectorExpr) expression {
	a, ok := attributes[x.Sel.Name]
	if !ok {
		k.failCompile("tensors have no attribute %s", x.Sel.Name)
	}
	id, ok := x.X.(*ast.Ident)
	if ok {
		if i := slices.IndexFunc(k.op.Args, func(a schema.Arg) bool { return a.Name == id.Name }); i >= 0 {
			p := k.goParam(i)
			variable := p.name + schema.Camel(x.Sel.Name, true)
			switch {
			case p.typ != tensorType && p.typ != tensorsType:
				k.failCompile("%s is %s, which has no attributes", id.Name, p.typ)
			case p.typ == tensorsType && x.Sel.Name == "sizes":
				k.captured[variable] = "sizesOf(" + p.name + ")"
				return newExpression(variable, "[][]int64")
			case a.typ == "[]int64":
				k.captured[variable] = "copyValues(" + fmt.Sprintf(a.code, p.name) + ")"
			default:
				k.captured[variable] = fmt.Sprintf(a.code, p.name)
			}
			return newExpression(variable, a.typ)
		}
	}
	t := k.compileExpression(x.X)
	if t.typ != tensorType {
		k.failCompile("%s is %s, which has no attributes", t.code, t.typ)
	}
	return newExpression(fmt.Sprintf(a.code, t.code), a.typ)
}

// compileCall compiles f(args) or x.f(args).
func (k *compiler) compileCall(x *ast.CallExpr) expression {
	args := x.Args
	name := ""
	switch f := x.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name, args = f.Sel.Name, append([]ast.Expr{f.X}, args...)
	}
	if name == "cond" {
		if len(args) != 3 {
			k.failCompile("cond takes a test and two values")
		}
		test := k.convertTo(k.compileExpression(args[0]), "bool")
		if then := k.compileExpression(args[1]); then.typ == "string" {
			return newExpression(fmt.Sprintf("chooseValue(%s, %s, %s)", test, then.code, k.convertTo(k.compileExpression(args[2]), "string")), "string")
		}
		then, otherwise := k.compileExpression(args[1]), k.compileExpression(args[2])
		return expression{fmt.Sprintf("s.cond(%s, func() *tensor.Tensor { return %s }, func() *tensor.Tensor { return %s })", test,
			k.convertTo(then, tensorType), k.convertTo(otherwise, tensorType)), tensorType, then.temporary && otherwise.temporary}
	}
	if h := k.helpers[schema.Camel(name, false)]; h != nil && (len(args) == len(h.params) || k.ops[name] == nil) {
		if len(args) != len(h.params) {
			k.failCompile("%s takes %d arguments, not %d", name, len(h.params), len(args))
		}
		code, over, given := k.compileArguments(args, h.params, nil)
		// which may be an operand itself
		return expression{handOver(over, "s."+h.name+"("+code+")"), h.results[0], h.results[0] == tensorType && !given}
	}
	f := k.ops[name]
	if f == nil {
		k.failCompile("there is no operator %s, and no method of steps", name)
	}
	defaults := k.defaults[name]
	outs := len(f.params) - len(defaults)
	if len(args) > len(defaults) {
		k.failCompile("%s takes %d arguments, not %d", name, len(defaults), len(args))
	}
	if slices.Contains(copyingWriters, name) {
		if first := k.compileExpression(args[0]); first.temporary {
			return k.compileWriter(f, first, args[1:], f.params[outs+1:], defaults[1:])
		}
	}
	code, over, _ := k.compileArguments(args, f.params[outs:], defaults)
	code = strings.Repeat("nil, ", outs) + code
	keep := map[string]string{tensorType: "Track", tensorsType: "TrackAll"}[f.results[0]]
	if keep == "" || len(f.results) != 2 {
		k.failCompile("%s does not return one tensor, or a list of them", name)
	}
	code = fmt.Sprintf("s.%s(s.C.%s(%s))", keep, f.name, code)
	if keep != "Track" {
		if over > 0 {
			k.failCompile("%s gives a list, whose elements may be views of its operands, which nothing can be computed for", name)
		}
		return newExpression(code, f.results[0])
	}
	return expression{handOver(over, code), f.results[0], true}
}

// copyingWriters lists operators that write into a copy of their first operand: a temporary need not be copied.
var copyingWriters = []string{"index_add", "index_copy", "index_fill", "put", "scatter", "scatter_add"}

// compileWriter compiles a call of one of copyingWriters, which writes to a temporary in place if possible.
func (k *compiler) compileWriter(f *function, first expression, args []ast.Expr, params []param, defaults []string) expression {
	code, over, _ := k.compileArguments(args, params, defaults)
	step := fmt.Sprintf("s.runOverArgument(%s, func(t, out *tensor.Tensor) (*tensor.Tensor, error) { return s.C.%s(out, t, %s) })",
		first.code, f.name, code)
	return expression{handOver(over, step), tensorType, true}
}

// handOver is code that is handed some operands.
func handOver(operands int, code string) string {
	if operands == 0 {
		return code
	}
	return fmt.Sprintf("s.release(%d, %s)", operands, code)
}

// compileArguments returns the code of the given arguments, and of defaults for the others. over is the number of owned tensors; given is
// true if there are tensors that are not owned.
func (k *compiler) compileArguments(args []ast.Expr, params []param, defaults []string) (code string, over int, given bool) {
	var out []string
	for i, p := range params {
		if i < len(args) {
			e := k.compileExpression(args[i])
			code := k.convertTo(e, p.typ)
			switch {
			case e.temporary:
				code = "s.consume(" + code + ")"
				over++
			case e.typ == tensorType || e.typ == tensorsType:
				given = true
			}
			out = append(out, code)
			continue
		}
		d, ok := goDefault(defaults[i], p.typ)
		if !ok {
			k.failCompile("argument %s is missing", p.name)
		}
		out = append(out, d)
	}
	return strings.Join(out, ", "), over, given
}

// goDefault returns the Go text of an entry's default.
func goDefault(text, typ string) (string, bool) {
	if text == "" {
		return "", false
	}
	if text == "None" {
		none, ok := map[string]string{tensorType: "nil", "[]int64": "nil", "*float64": "nil", scalarType: "dtype.Scalar{}",
			"ops.Int": "ops.NoInt", "ops.Bool": "ops.NoBool",
			"dtype.DType": "dtype.None", "tensor.Layout": "tensor.NoLayout", "device.Device": "device.None", "shape.MemoryFormat": "shape.NoFormat",
			"string": `""`, "*random.Generator": "nil"}[typ]
		return none, ok
	}
	switch typ {
	case "int64", "float64":
		return text, true
	case "bool":
		return strings.ToLower(text), true
	case "ops.Bool":
		return map[string]string{"True": "ops.True", "False": "ops.False"}[text], true
	case "ops.Int":
		return "ops.Int(" + text + ")", true
	case "[]int64":
		return "[]int64{" + strings.Trim(text, "[]") + "}", true
	case "string":
		return `"` + strings.Trim(text, "'") + `"`, true
	case scalarType:
		if strings.ContainsAny(text, ".e") {
			return "dtype.FloatScalar(" + text + ")", true
		}
		return "dtype.IntScalar(" + text + ")", true
	case "shape.MemoryFormat":
		return map[string]string{"contiguous_format": "shape.Contiguous", "preserve_format": "shape.Preserve"}[text], true
	}
	return "", false
}

func (k *compiler) compileUnary(op token.Token, x expression) expression {
	switch {
	case op == token.NOT && x.typ == "bool":
		return newExpression("!"+x.code, x.typ)
	case op != token.SUB:
		k.failCompile("the language has no unary %s for %s", op, x.typ)
	case x.typ == tensorType:
		if x.temporary {
			return expression{"s.negOver(" + x.code + ")", tensorType, true}
		}
		return expression{"s.Neg(" + x.code + ")", tensorType, true}
	case x.typ == scalarType:
		return newExpression("computeScalars('-', dtype.IntScalar(0), "+x.code+")", scalarType)
	}
	return newExpression("-"+x.code, x.typ)
}

var (
	tensorOperators = map[token.Token]string{token.ADD: "s.add(%s, %s)", token.SUB: "s.sub(%s, %s)", token.MUL: "s.mul(%s, %s)",
		token.QUO: "s.div(%s, %s)",
		token.EQL: "s.Track(s.C.Eq(nil, %s, %s))", token.NEQ: "s.Track(s.C.Ne(nil, %s, %s))", token.LSS: "s.Track(s.C.Lt(nil, %s, %s))",
		token.LEQ: "s.Track(s.C.Le(nil, %s, %s))",
		token.GTR: "s.Track(s.C.Gt(nil, %s, %s))", token.GEQ: "s.Track(s.C.Ge(nil, %s, %s))"}
	comparisons = []token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}
)

// compileBinary returns an operation on two operands.
func (k *compiler) compileBinary(op token.Token, x, y expression) expression {
	is := func(typ string) bool { return x.typ == typ || y.typ == typ }
	compares := slices.Contains(comparisons, op)
	numeric := []string{intConst, floatConst, "int64", "float64"}
	switch {
	case is(tensorType):
		return k.compileTensorBinary(op, x, y, compares)
	case is("bool") && (op == token.LAND || op == token.LOR), is("string") && compares, is("dtype.DType") && compares:
		if x.typ != y.typ {
			k.failCompile("%s %s %s is of two types", x.typ, op, y.typ)
		}
		return newExpression(x.code+" "+op.String()+" "+y.code, "bool")
	case is(noneConst) && compares:
		if code, ok := compareToNone(op, x, y); ok {
			return newExpression(code, "bool")
		}
	case slices.Contains(numeric, x.typ) && slices.Contains(numeric, y.typ):
		return k.compileNumeric(op, x, y, compares)
	}
	switch {
	case is(scalarType) && compares:
		return newExpression(k.convertTo(x, scalarType)+".Float() "+op.String()+" "+k.convertTo(y, scalarType)+".Float()", "bool")
	case is(scalarType):
		return newExpression(fmt.Sprintf("computeScalars('%s', %s, %s)", op, k.convertTo(x, scalarType), k.convertTo(y, scalarType)), scalarType)
	}
	k.failCompile("the language has no %s for %s and %s", op, x.typ, y.typ)
	return expression{}
}

// compileTensorBinary returns an operation on operands of which at least one is a tensor. It may write to operands that are temporaries.
func (k *compiler) compileTensorBinary(op token.Token, x, y expression, compares bool) expression {
	form, ok := tensorOperators[op]
	if !ok {
		k.failCompile("the language has no %s for tensors", op)
	}
	left, right := k.convertTo(x, tensorType), k.convertTo(y, tensorType)
	if over := map[[2]bool]string{{true, false}: "left", {false, true}: "right",
		{true, true}: "left|right"}[[2]bool{x.temporary, y.temporary}]; over != "" && !compares {
		return expression{fmt.Sprintf("s.binary('%s', %s, %s, %s)", op, left, right, over), tensorType, true}
	}
	return expression{fmt.Sprintf(form, left, right), tensorType, true}
}

// compareToNone returns the code of a comparison with none, and false for operands of a type that is never none.
func compareToNone(op token.Token, x, y expression) (string, bool) {
	is := func(typ string) bool { return x.typ == typ || y.typ == typ }
	switch {
	case is("ops.Int"):
		return x.code + op.String() + "ops.NoInt", true
	case is("[]int64"), is("*float64"):
		return x.code + op.String() + "nil", true
	case is(scalarType):
		return map[bool]string{true: "", false: "!"}[op == token.EQL] + x.code + ".IsNone()", true
	}
	return "", false
}

// compileNumeric returns an operation on two numbers. The result is a constant if both are integer constants.
func (k *compiler) compileNumeric(op token.Token, x, y expression, compares bool) expression {
	is := func(typ string) bool { return x.typ == typ || y.typ == typ }
	typ := "int64"
	if is("float64") || is(floatConst) {
		typ = "float64"
	}
	if x.typ == intConst && y.typ == intConst {
		typ = intConst
	}
	code := x.code + " " + op.String() + " " + y.code
	if typ != intConst {
		code = k.convertTo(x, typ) + " " + op.String() + " " + k.convertTo(y, typ)
	}
	if compares {
		typ = "bool"
	}
	return newExpression("("+code+")", typ)
}
