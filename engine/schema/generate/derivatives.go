package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

const autogradDir = "engine/autograd"

// generateDerivatives writes the backend of tensors with gradients: for each operator a function that records the call, with the
// derivatives that its entry has.
func generateDerivatives(out *output, ops []*schema.Operator, all []*function, imports map[string]string) error {
	helpers, own, err := stepMethods()
	if err != nil {
		return err
	}
	byGo, byName, defaults := map[string]*function{}, map[string]*function{}, map[string][]string{}
	for _, f := range all {
		byGo[f.name] = f
	}
	for _, o := range ops {
		if f := byGo[o.GoName()]; f != nil {
			byName[o.CName()] = f
			for _, a := range o.Args {
				defaults[o.CName()] = append(defaults[o.CName()], a.Default)
			}
		}
	}
	var functions, table strings.Builder
	for _, o := range ops {
		f := byGo[o.GoName()]
		if o.AliasOf != "" || f == nil || f.any || f.constant && len(f.written) == 0 || f.isSparse() || keysOf(f.params) == "" {
			continue
		}
		k := &compiler{op: o, f: f, ops: byName, defaults: defaults, helpers: helpers, captured: map[string]string{}, flows: map[int]bool{}}
		if own["record"+f.name] {
			fmt.Fprintf(&table, "\t%s: record%s,\n", f.name, f.name)
			continue
		}
		text, err := k.compileFunction()
		if err != nil {
			return o.Wrong(err)
		}
		if text != "" {
			functions.WriteString(text)
			fmt.Fprintf(&table, "\t%s: record%s,\n", f.name, f.name)
		}
	}
	text := "\n// formulas are the operators on tensors with gradients.\nvar formulas = dispatch.Backend{\n" + table.String() + "}\n" +
		functions.String()
	out.write(autogradDir+"/gen_formulas.go", fileHeadOf("autograd", text, imports))
	return nil
}

// stepMethods returns the functions other than operators that formulas can call: the methods of steps that return something, and the
// functions of the package, including those with a separate rule.
func stepMethods() (found map[string]*function, own map[string]bool, err error) {
	files, err := handwrittenFiles(autogradDir)
	found, own = map[string]*function{}, map[string]bool{}
	for _, path := range files {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil {
				own[f.Name.Name] = true
			}
			if !ok || f.Recv == nil || f.Type.Results == nil {
				continue
			}
			star, ok := f.Recv.List[0].Type.(*ast.StarExpr)
			if !ok {
				continue
			}
			if id, ok := star.X.(*ast.Ident); ok && id.Name == "steps" {
				found[f.Name.Name] = newFunction(set, f)
			}
		}
	}
	return found, own, err
}

// differentiableOperands returns the arguments with derivatives, in the order of the signature.
func (k *compiler) differentiableOperands() (at []int) {
	for i, a := range k.op.Args {
		if _, ok := k.op.Derivatives.Of[a.Name]; ok {
			at = append(at, i)
		}
	}
	if len(at) == 0 && k.isView() {
		at = []int{0}
	}
	return at
}

func (k *compiler) isView() bool { return k.op.Tagged("view") && k.f.table == "" }

// nodeName returns the code of the name of the node.
func (k *compiler) nodeName() (string, error) {
	if text := k.op.Derivatives.Node; text != "" {
		name := *k
		name.uses, name.captured, name.naming = map[string]bool{}, map[string]string{}, true
		code, err := name.compileFormula(text, "string")
		if len(name.uses) > 0 {
			return "", fmt.Errorf("derivatives: node: the name of a call does not depend on elements")
		}
		return name.inlineOperands(code), err
	}
	name := strings.TrimPrefix(strings.Trim(k.op.Name, "_"), "nn.")
	name = schema.Camel(strings.ReplaceAll(name, "special.", "special_"), true)
	return `"` + afterDigits.ReplaceAllStringFunc(name, strings.ToUpper) + `Backward0"`, nil
}

// afterDigits are letters that names of nodes have in upper case, as that after 1 in Log1PBackward0.
var afterDigits = regexp.MustCompile(`[0-9][a-z]`)

// operationName returns the name of the operation that a formula computes its result with: by default the last op of the decomposition.
func (k *compiler) operationName(made string) (string, error) {
	if k.op.Derivatives.Node == "" {
		return "\treturn " + made + "\n}\n", nil
	}
	node, err := k.nodeName()
	results := strings.Join(k.resultNames(), ", ")
	list := results
	if k.op.Returns[0].Type.List {
		list += "..."
	}
	return fmt.Sprintf("\tsince := numbers.Load()\n\t%s, err = %s\n\trenameNodes(since, %s, %s)\n\treturn\n}\n", results, made, node, list),
		err
}

// inlineOperands replaces operands that would be read before the call by their code.
func (k *compiler) inlineOperands(code string) string {
	for variable, value := range k.captured {
		if k.param0(variable) == "" {
			code = regexp.MustCompile(`\b`+variable+`\b`).ReplaceAllLiteralString(code, value)
		}
	}
	return code
}

// functionHead returns the signature of the function, whose results have names, and its early checks if it has several outputs.
func (k *compiler) functionHead() string {
	var results []string
	for i, r := range k.f.results {
		switch {
		case r == "error":
			results = append(results, "err error")
		default:
			results = append(results, resultName(k.op, i)+" "+r)
		}
	}
	params, _, _ := strings.Cut(strings.TrimPrefix(k.f.formatSignature(false), "("), ") (")
	text := fmt.Sprintf("\nfunc record%s(c dispatch.Context, %s) (%s) {\n", k.f.name, params, strings.Join(results, ", "))
	if outs := k.outNames(); len(outs) > 1 {
		text += fmt.Sprintf("\tif err = checkOutPlain(c, %q, []*tensor.Tensor{%s}, %s); err != nil {\n\t\treturn\n\t}\n", k.op.Name,
			strings.Join(outs, ", "), k.allTensors())
	}
	return text
}

// outNames returns the outputs that the caller can pass.
func (k *compiler) outNames() (names []string) {
	for _, p := range k.f.params[:len(k.f.params)-len(k.op.Args)] {
		if p.typ == tensorType {
			names = append(names, p.name)
		}
	}
	return names
}

// tensorNames returns the parameters that are tensors, without the outputs.
func (k *compiler) tensorNames() (names []string) {
	for i := range k.op.Args {
		if p := k.goParam(i); p.typ == tensorType {
			names = append(names, p.name)
		}
	}
	return names
}

// savedName returns the name of a result in the saved tensors.
func (k *compiler) savedName(i int) string {
	if len(k.op.Returns) == 1 {
		return "result"
	}
	return k.op.Returns[i].Name
}

// resultNames returns the names of the results.
func (k *compiler) resultNames() (names []string) {
	for i := range k.op.Returns {
		names = append(names, resultName(k.op, i))
	}
	return names
}

// outArgument returns the output argument of the call, or "nil" for operators without one.
func (k *compiler) outArgument() string {
	switch {
	case len(k.op.Args) > 0 && k.op.Args[0].Mutated:
		return k.goParam(0).name
	case len(k.f.params) > len(k.op.Args):
		return k.f.params[0].name
	}
	return "nil"
}

// compileFunction returns the Go function that records the operator, or "" if autograd records the ops of its decomposition.
func (k *compiler) compileFunction() (string, error) {
	d := &k.op.Derivatives
	switch {
	case k.f.constant:
		return k.clearGradFn()
	case d.Composed != "":
		return k.recordDecomposition()
	case len(k.differentiableOperands()) > 0:
		return k.recordNode()
	case k.f.table == tables[compositeDir] || k.f.table == tables[quantizedDir]:
		return k.recordIntoOut()
	case k.outArgument() == k.goParam(0).name:
		return k.rejectTracked(), nil
	}
	return k.recordUndifferentiable()
}

// clearGradFn returns code that clears the grad_fn of tensors that a constant operator writes to.
func (k *compiler) clearGradFn() (string, error) {
	node, err := k.nodeName()
	self, _ := k.selfArgument()
	return k.functionHead() + fmt.Sprintf("\tr, err := beginConstant(c, %q, %s, %s, %s)\n\tif err != nil {\n\t\treturn\n\t}\n\t%s\tr.endConstant(err)\n\treturn\n}\n",
		k.op.Name, node, k.outArgument(), self, k.callPastAutograd()), err
}

// recordUndifferentiable returns code that records a call whose backward pass is an error.
func (k *compiler) recordUndifferentiable() (string, error) {
	node, err := `"NotImplemented"`, error(nil)
	if k.op.Derivatives.Node != "" {
		node, err = k.nodeName()
	}
	results := strings.Join(k.resultNames(), ", ")
	if k.op.Returns[0].Type.List {
		results += "..."
	}
	return k.functionHead() + fmt.Sprintf("\tr, err := beginCall(c, %q, %s, %s, %s)\n\tif err != nil {\n\t\treturn\n\t}\n\t%s\tr.endUndifferentiable(%q, err, %s)\n\treturn\n}\n",
		k.op.Name, node, k.outArgument(), k.allTensors(), k.callPastAutograd(), k.op.Name, results), err
}

// allTensors returns the list of all arguments that are tensors or lists of them.
func (k *compiler) allTensors() string {
	for i := range k.op.Args {
		if p := k.goParam(i); p.typ == tensorsType {
			return fmt.Sprintf("append([]*tensor.Tensor{%s}, %s...)...", strings.Join(k.tensorNames(), ", "), p.name)
		}
	}
	return strings.Join(k.tensorNames(), ", ")
}

// callPastAutograd returns the call of the operator past autograd.
func (k *compiler) callPastAutograd() string {
	return fmt.Sprintf("%s = r.c.%s(%s)\n", strings.Join(append(k.resultNames(), "err"), ", "), k.f.name, k.f.argumentList())
}

// rejectTracked adds no node: it returns an error for tensors that require grad, whose geometry the operator would change.
func (k *compiler) rejectTracked() string {
	return k.functionHead() + fmt.Sprintf("\tif err = checkNoGrad(c, %q, %s); err != nil {\n\t\treturn\n\t}\n\treturn c.Excluding(tensor.Gradient).%s(%s)\n}\n",
		k.op.Name, k.recordedTensors(), k.f.name, k.f.argumentList())
}

// recordIntoOut records a composite operator that writes to its output: as the copy of a result.
func (k *compiler) recordIntoOut() (string, error) {
	if len(k.f.params) == len(k.op.Args) || len(k.op.Returns) != 1 {
		if k.op.Derivatives.Node == "" && len(k.outNames()) < 2 {
			return "", nil
		}
		text, err := k.operationName(fmt.Sprintf("dispatch.CompositeOps().%s(c, %s)", k.f.name, k.f.argumentList()))
		return k.functionHead() + text, err
	}
	out := k.f.params[0].name
	arguments := strings.Replace(k.f.argumentList(), out, "made", 1)
	self, name := k.selfArgument()
	if !k.op.Has("inplace") {
		self, name = "nil", "_"
	}
	text, err := k.operationName(fmt.Sprintf("decomposeInto(c, %q, %s, %s, func(made, %s *tensor.Tensor) (*tensor.Tensor, error) { return dispatch.CompositeOps().%s(c, %s) })",
		k.op.Name, out, self, name, k.f.name, arguments))
	return k.functionHead() + k.returnUnchanged() + text, err
}

// returnUnchanged returns the code for an in-place call without effect, such as dropout in evaluation: such a call is not a write, which
// autograd would report as an error for a leaf and count as a new version.
func (k *compiler) returnUnchanged() string {
	if !k.op.Tagged("itself") {
		return ""
	}
	out, self, p, train := k.f.params[0].name, k.f.params[1].name, k.f.params[2].name, k.f.params[3].name
	return fmt.Sprintf("\tif %s != nil && %s == %s && (%s == 0 || !%s) {\n\t\treturn dispatch.CompositeOps().%s(c, %s)\n\t}\n", out, out, self,
		p, train, k.f.name, k.f.argumentList())
}

// recordDecomposition records the ops of a composite operator.
func (k *compiler) recordDecomposition() (string, error) {
	k.uses = map[string]bool{}
	code, err := k.compileFormula(k.op.Derivatives.Composed, k.f.results[0])
	if err != nil {
		return "", err
	}
	for name := range k.uses {
		code = strings.ReplaceAll(code, "s.saved("+name+"_)", name)
		code = strings.ReplaceAll(code, "s.savedAll("+name+"_)", name)
	}
	code = k.inlineOperands(code)
	touched := k.recordedTensors()
	if out := k.outArgument(); out != "nil" {
		touched = out + ", " + touched
	}
	text := k.functionHead() + fmt.Sprintf("\tif !isRecording(c, %s) {\n\t\treturn c.Excluding(tensor.Gradient).%s(%s)\n\t}\n", touched,
		k.f.name, k.f.argumentList())
	var arguments, tensors []string
	for _, p := range k.f.params {
		if p.typ == tensorType {
			arguments, tensors = append(arguments, "m.metaOf("+p.name+")"), append(tensors, p.name)
		} else {
			arguments = append(arguments, p.name)
		}
	}
	text += fmt.Sprintf("\tif err = checkPlainCall(func(m *metas) (*tensor.Tensor, error) { return c.Excluding(tensor.Gradient).%s(%s) }, %s); err != nil {\n\t\treturn\n\t}\n",
		k.f.name, strings.Join(arguments, ", "), strings.Join(tensors, ", "))
	self, name := k.selfArgument()
	named, err := k.operationName(fmt.Sprintf("composeFormula(c, %q, %s, %s, func(s *steps, %s *tensor.Tensor) *tensor.Tensor { return %s })",
		k.op.Name, k.outArgument(), self, name, code))
	return text + named, err
}

// selfArgument returns the first argument, which an in-place composite operator must not change before it is done, and its name there.
func (k *compiler) selfArgument() (argument, name string) {
	if p := k.goParam(0); p.typ == tensorType {
		return p.name, p.name
	}
	return "nil", "_"
}

// self0 returns the first argument that is a tensor, which a call in place writes to.
func (k *compiler) self0() string { return k.tensorNames()[0] }

// param0 returns the name itself if it is that of a parameter.
func (k *compiler) param0(name string) string {
	for _, p := range k.f.params {
		if p.name == name {
			return name
		}
	}
	return ""
}

// recordedTensors returns the list of arguments whose gradients may be wanted.
func (k *compiler) recordedTensors() string {
	for i := range k.op.Args {
		if p := k.goParam(i); p.typ == tensorsType {
			return p.name + "..."
		}
	}
	return strings.Join(k.tensorNames(), ", ")
}

// recordNode records the operator as a node.
func (k *compiler) recordNode() (string, error) {
	var b strings.Builder
	b.WriteString(k.functionHead())
	operands := k.differentiableOperands()
	given, list, err := k.recordedOperands(operands)
	if err != nil {
		return "", err
	}
	for _, a := range k.op.Args {
		if k.op.Derivatives.Of[a.Name] == "none" {
			return "", fmt.Errorf("derivatives: %s: leave it out", a.Name)
		}
	}
	if k.isView() && len(k.tensorNames()) > 1 {
		return "", fmt.Errorf("a view is made again for gradients, when %s may be gone: write it in engine/composite with views of numbers",
			k.tensorNames()[1])
	}
	node, err := k.nodeName()
	if err != nil {
		return "", err
	}
	begin := "beginCall"
	if k.isView() && k.outArgument() != "nil" {
		begin = "beginView"
	}
	fmt.Fprintf(&b, "\tr, err := %s(c, %q, %s, %s, %s)\n\tif err != nil {\n\t\treturn\n\t}\n", begin, k.op.Name, node, k.outArgument(), given)

	cases, needs, err := k.compileFormulas(operands)
	if err != nil {
		return "", err
	}
	results := k.resultNames()
	fails := k.writeSaving(&b, needs, list, results)
	if fails {
		b.WriteString("\tif err = r.err; err != nil {\n\t\tr.releaseNode()\n\t\treturn\n\t}\n")
	}
	b.WriteString("\t" + k.callPastAutograd())
	k.writeNodeTest(&b, results, operands)
	var captured []string
	for _, name := range slices.Sorted(maps.Keys(k.captured)) {
		if k.param0(name) != "" {
			captured = append(captured, fmt.Sprintf("\t\t%s = %s\n", name, k.captured[name]))
		}
	}
	b.WriteString(strings.Join(captured, ""))
	if k.isView() {
		k.writeReplay(&b, results[0])
	}
	var kept []string
	for i, name := range results {
		if _, ok := needs[name]; ok {
			kept = append(kept, name)
			fmt.Fprintf(&b, "\t\t%s_ := r.saveResult(%q, %s, %d, %s)\n", name, k.savedName(i), name, i, needsSaving(needs[name], list))
		}
	}
	if len(kept) > 0 {
		nils := strings.Repeat(", nil", len(results))[2:]
		fmt.Fprintf(&b, "\t\tif err = r.releaseResults(%s); err != nil {\n\t\t\treturn %s, err\n\t\t}\n", strings.Join(results, ", "), nils)
	}
	writeFormula(&b, cases)
	b.WriteString(k.evaluateInBlocks(cases))
	if k.outArgument() != "nil" {
		b.WriteString("\t\tr.setInplaceGradFn()\n")
	}
	b.WriteString("\t}\n\treturn\n}\n")
	return b.String(), nil
}

// recordedOperands lists the operands with gradients as arguments, and names the one that is a list, if there is one, which is alone.
func (k *compiler) recordedOperands(operands []int) (given, list string, err error) {
	var names []string
	for _, i := range operands {
		p := k.goParam(i)
		if p.typ == tensorsType {
			list = p.name
			continue
		}
		names = append(names, p.name)
	}
	switch {
	case list == "":
		return strings.Join(names, ", "), "", nil
	case len(names) == 0:
		return list + "...", list, nil
	}
	return "", "", fmt.Errorf("derivatives: a list and other operands cannot both have gradients")
}

// compileFormulas compiles the derivatives of the operands, and returns which of them, by their order, need which tensors.
func (k *compiler) compileFormulas(operands []int) (cases []string, needs map[string][]int, err error) {
	needs = map[string][]int{}
	for at, i := range operands {
		text, ok := k.op.Derivatives.Of[k.op.Args[i].Name]
		if !ok {
			continue // a view
		}
		k.uses = map[string]bool{}
		code, err := k.compileFormula(text, tensorType)
		if err != nil {
			return nil, nil, err
		}
		for name := range k.uses {
			needs[name] = append(needs[name], at)
		}
		cases = append(cases, code)
	}
	return cases, needs, nil
}

// writeFormula writes the formula of the node, with a case for each operand.
func writeFormula(b *strings.Builder, cases []string) {
	switch len(cases) {
	case 0:
	case 1:
		fmt.Fprintf(b, "\t\tr.node.formula = func(s *steps, i int) *tensor.Tensor { return %s }\n", cases[0])
	default:
		last := len(cases) - 1
		b.WriteString("\t\tr.node.formula = func(s *steps, i int) *tensor.Tensor {\n\t\t\tswitch i {\n")
		for i, code := range cases[:last] {
			fmt.Fprintf(b, "\t\t\tcase %d:\n\t\t\t\treturn %s\n", i, code)
		}
		fmt.Fprintf(b, "\t\t\t}\n\t\t\treturn %s\n\t\t}\n", cases[last])
	}
}

// computingCall matches a call in a formula that computes elements.
var computingCall = regexp.MustCompile(`s\.(binary|add|sub|mul|div|Track|release|[a-z]+Over|[a-z]+[A-Z]\w*)\(`)

// evaluateInBlocks makes autograd evaluate the formulas of an elementwise operator in blocks, if that saves memory.
func (k *compiler) evaluateInBlocks(cases []string) string {
	if !k.op.Tagged("elementwise") || len(cases) == 0 {
		return ""
	}
	how := "broadcast"
	if slices.ContainsFunc(cases, func(code string) bool { return len(computingCall.FindAllString(code, 2)) > 1 }) {
		how = "always"
	}
	return fmt.Sprintf("\t\tr.node.cut = %s\n", how)
}

// needsSaving returns the condition under which something must be saved that the derivatives of some operands need.
func needsSaving(by []int, list string) string {
	if list != "" {
		return "r.node != nil"
	}
	var wants []string
	for _, at := range by {
		wants = append(wants, fmt.Sprintf("r.needsGrad(%d)", at))
	}
	return strings.Join(wants, "||")
}

// writeSaving writes the code that saves operands before the call, and reports whether that can fail.
func (k *compiler) writeSaving(b *strings.Builder, needs map[string][]int, list string, results []string) (fails bool) {
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		if slices.Contains(results, name) {
			continue
		}
		i := slices.IndexFunc(k.f.params, func(p param) bool { return p.name == name })
		save := map[string]string{tensorType: "saveOperand", tensorsType: "saveOperands", "[]ops.IndexItem": "saveIndex"}[k.f.params[i].typ]
		if strings.Contains(k.op.Derivatives.Node, name+".number") { // PyTorch's has a form for numbers
			save = "saveScalar"
		}
		fmt.Fprintf(b, "\t%s_ := r.%s(%q, %s, %s)\n", name, save, k.op.Args[i-len(k.f.params)+len(k.op.Args)].Name, name,
			needsSaving(needs[name], list))
		fails = true
	}
	for _, name := range slices.Sorted(maps.Keys(k.captured)) {
		if k.param0(name) == "" {
			fmt.Fprintf(b, "\t%s := %s\n", name, k.captured[name])
		}
	}
	return fails
}

// writeNodeTest writes the test whether the call has a node.
func (k *compiler) writeNodeTest(b *strings.Builder, results []string, operands []int) {
	self := k.goParam(operands[0]).name
	flowing := slices.Clone(results)
	for i := range results {
		if len(results) > 1 && !k.flows[i] {
			flowing[i] = "nil" // it receives no gradient
		}
	}
	list := strings.Join(flowing, ", ")
	if len(k.op.Returns) == 1 && k.op.Returns[0].Type.List {
		list += "..."
	}
	switch {
	case len(results) == 0:
		list = k.outArgument()
	case k.isView():
		fmt.Fprintf(b, "\tif r.finishViews(err, %s) {\n", list)
		return
	case k.op.Tagged("maybe_view"):
		fmt.Fprintf(b, "\tif r.mayView(err, %s, %s) {\n", self, list)
		return
	}
	fmt.Fprintf(b, "\tif r.setGradFns(err, %s) {\n", list)
}

// writeReplay writes the code that recreates a view.
func (k *compiler) writeReplay(b *strings.Builder, result string) {
	self := k.goParam(0).name
	base := strings.Replace(k.f.argumentList(), self, "base", 1)
	if out := k.outArgument(); out != "nil" { // the call may have been in place, its replay is not
		base = strings.Replace(base, out, "nil", 1)
	}
	for i, a := range k.op.Args {
		p := k.goParam(i)
		if p.typ == "[]int64" && k.captured[p.name] == "" {
			fmt.Fprintf(b, "\t\t%s = copyValues(%s)\n", p.name, p.name)
		}
		if a.Name == "storage_offset" { // relative to self's offset, which its derivative keeps
			base = strings.Replace(base, p.name, fmt.Sprintf("shiftOffset(%s, %sOffset, base)", p.name, self), 1)
		}
	}
	if k.f.results[0] == tensorsType {
		fmt.Fprintf(b, "\t\tr.markViewList(%s, func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) { return c.%s(%s) }, %s...)\n",
			self, k.f.name, base, result)
		return
	}
	fmt.Fprintf(b, "\t\tr.markViews(%s, func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) { return singleView(c.%s(%s)) }, %s)\n",
		self, k.f.name, base, result)
}
