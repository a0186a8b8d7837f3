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
		if o.AliasOf != "" || f == nil || f.any || f.constant && len(f.written) == 0 || f.table == "parted" || keysOf(f.params) == "" {
			continue
		}
		k := &compiler{op: o, f: f, ops: byName, defaults: defaults, helpers: helpers, captured: map[string]string{}, flows: map[int]bool{}}
		if own["record"+f.name] {
			fmt.Fprintf(&table, "\t%s: record%s,\n", f.name, f.name)
			continue
		}
		text, err := k.function()
		if err != nil {
			return o.Wrong(err)
		}
		if text != "" {
			functions.WriteString(text)
			fmt.Fprintf(&table, "\t%s: record%s,\n", f.name, f.name)
		}
	}
	text := "\n// formulas are the operators on tensors with gradients.\nvar formulas = dispatch.Backend{\n" + table.String() + "}\n" + functions.String()
	out.write(autogradDir+"/gen_formulas.go", headerOf("autograd", text, imports))
	return nil
}

// stepMethods returns the functions other than operators that formulas can call: the methods of steps that return something, and the functions of the
// package, including those with a separate rule.
func stepMethods() (found map[string]*function, own map[string]bool, err error) {
	files, err := handwritten(autogradDir)
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
				found[f.Name.Name] = read(set, f)
			}
		}
	}
	return found, own, err
}

// operands returns the arguments with derivatives, in the order of the signature.
func (k *compiler) operands() (at []int) {
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
		code, err := name.compile(text, "string")
		if len(name.uses) > 0 {
			return "", fmt.Errorf("derivatives: node: the name of a call does not depend on elements")
		}
		return name.inline(code), err
	}
	name := strings.TrimPrefix(strings.Trim(k.op.Name, "_"), "nn.")
	name = schema.Camel(strings.ReplaceAll(name, "special.", "special_"), true)
	return `"` + afterDigits.ReplaceAllStringFunc(name, strings.ToUpper) + `Backward0"`, nil
}

// afterDigits are letters that names of nodes have in upper case, as that after 1 in Log1PBackward0.
var afterDigits = regexp.MustCompile(`[0-9][a-z]`)

// named returns the name of the operation that a formula computes its result with: by default the last op of the decomposition.
func (k *compiler) named(made string) (string, error) {
	if k.op.Derivatives.Node == "" {
		return "\treturn " + made + "\n}\n", nil
	}
	node, err := k.nodeName()
	results := strings.Join(k.results(), ", ")
	list := results
	if k.op.Returns[0].Type.List {
		list += "..."
	}
	return fmt.Sprintf("\tsince := numbers.Load()\n\t%s, err = %s\n\trenameNodes(since, %s, %s)\n\treturn\n}\n", results, made, node, list), err
}

// inline replaces operands that would be read before the call by their code.
func (k *compiler) inline(code string) string {
	for variable, value := range k.captured {
		if k.param0(variable) == "" {
			code = regexp.MustCompile(`\b`+variable+`\b`).ReplaceAllLiteralString(code, value)
		}
	}
	return code
}

// head returns the signature of the function, whose results have names, and its early checks if it has several outputs.
func (k *compiler) head() string {
	var results []string
	for i, r := range k.f.results {
		switch {
		case r == "error":
			results = append(results, "err error")
		default:
			results = append(results, resultName(k.op, i)+" "+r)
		}
	}
	params, _, _ := strings.Cut(strings.TrimPrefix(k.f.signature(false), "("), ") (")
	text := fmt.Sprintf("\nfunc record%s(c dispatch.Context, %s) (%s) {\n", k.f.name, params, strings.Join(results, ", "))
	if outs := k.outs(); len(outs) > 1 {
		text += fmt.Sprintf("\tif err = checkOutPlain(c, %q, []*tensor.Tensor{%s}, %s); err != nil {\n\t\treturn\n\t}\n", k.op.Name, strings.Join(outs, ", "), k.allTensors())
	}
	return text
}

// outs returns the outputs that the caller can pass.
func (k *compiler) outs() (names []string) {
	for _, p := range k.f.params[:len(k.f.params)-len(k.op.Args)] {
		if p.typ == tensorType {
			names = append(names, p.name)
		}
	}
	return names
}

// tensors returns the parameters that are tensors, without the outputs.
func (k *compiler) tensors() (names []string) {
	for i := range k.op.Args {
		if p := k.param(i); p.typ == tensorType {
			names = append(names, p.name)
		}
	}
	return names
}

// results are the names of the results. given returns the name of a result in the saved tensors.
func (k *compiler) given(i int) string {
	if len(k.op.Returns) == 1 {
		return "result"
	}
	return k.op.Returns[i].Name
}

func (k *compiler) results() (names []string) {
	for i := range k.op.Returns {
		names = append(names, resultName(k.op, i))
	}
	return names
}

// out returns the output argument of the call, or "nil" for operators without one.
func (k *compiler) out() string {
	switch {
	case len(k.op.Args) > 0 && k.op.Args[0].Mutated:
		return k.param(0).name
	case len(k.f.params) > len(k.op.Args):
		return k.f.params[0].name
	}
	return "nil"
}

// function returns the Go function that records the operator; "" where a composition's steps are recorded.
func (k *compiler) function() (string, error) {
	d := &k.op.Derivatives
	switch {
	case k.f.constant:
		return k.overwriting()
	case d.Composed != "":
		return k.composed()
	case len(k.operands()) > 0:
		return k.recorded()
	case k.f.table == "composed" || k.f.table == "quantized":
		return k.into()
	case k.out() == k.param(0).name:
		return k.rejectTracked(), nil
	}
	return k.undifferentiable()
}

// overwriting clears the grad_fn of tensors that a constant operator writes to.
func (k *compiler) overwriting() (string, error) {
	node, err := k.nodeName()
	self, _ := k.self()
	return k.head() + fmt.Sprintf("\tr, err := beginConstant(c, %q, %s, %s, %s)\n\tif err != nil {\n\t\treturn\n\t}\n\t%s\tr.endConstant(err)\n\treturn\n}\n",
		k.op.Name, node, k.out(), self, k.made()), err
}

// undifferentiable records a call that no run can go through.
func (k *compiler) undifferentiable() (string, error) {
	node, err := `"NotImplemented"`, error(nil)
	if k.op.Derivatives.Node != "" {
		node, err = k.nodeName()
	}
	results := strings.Join(k.results(), ", ")
	if k.op.Returns[0].Type.List {
		results += "..."
	}
	return k.head() + fmt.Sprintf("\tr, err := beginCall(c, %q, %s, %s, %s)\n\tif err != nil {\n\t\treturn\n\t}\n\t%s\tr.endUndifferentiable(%q, err, %s)\n\treturn\n}\n",
		k.op.Name, node, k.out(), k.allTensors(), k.made(), k.op.Name, results), err
}

// allTensors returns the list of all arguments that are tensors or lists of them.
func (k *compiler) allTensors() string {
	for i := range k.op.Args {
		if p := k.param(i); p.typ == tensorsType {
			return fmt.Sprintf("append([]*tensor.Tensor{%s}, %s...)...", strings.Join(k.tensors(), ", "), p.name)
		}
	}
	return strings.Join(k.tensors(), ", ")
}

// made is the call of the operator past the layer.
func (k *compiler) made() string {
	return fmt.Sprintf("%s = r.c.%s(%s)\n", strings.Join(append(k.results(), "err"), ", "), k.f.name, k.f.arguments())
}

// rejectTracked adds no node: it returns an error for tensors that require grad, whose geometry the operator would change.
func (k *compiler) rejectTracked() string {
	return k.head() + fmt.Sprintf("\tif err = refuseGrad(c, %q, %s); err != nil {\n\t\treturn\n\t}\n\treturn c.Excluding(tensor.Gradient).%s(%s)\n}\n",
		k.op.Name, k.recordedTensors(), k.f.name, k.f.arguments())
}

// into records a composition that writes to its output: as the copy of a result.
func (k *compiler) into() (string, error) {
	if len(k.f.params) == len(k.op.Args) || len(k.op.Returns) != 1 {
		if k.op.Derivatives.Node == "" && len(k.outs()) < 2 {
			return "", nil
		}
		text, err := k.named(fmt.Sprintf("dispatch.Composed().%s(c, %s)", k.f.name, k.f.arguments()))
		return k.head() + text, err
	}
	out := k.f.params[0].name
	arguments := strings.Replace(k.f.arguments(), out, "made", 1)
	self, name := k.self()
	if !k.op.Has("inplace") {
		self, name = "nil", "_"
	}
	text, err := k.named(fmt.Sprintf("decomposeInto(c, %q, %s, %s, func(made, %s *tensor.Tensor) (*tensor.Tensor, error) { return dispatch.Composed().%s(c, %s) })", k.op.Name, out, self, name, k.f.name, arguments))
	return k.head() + k.unchanged() + text, err
}

// unchanged returns the code for an in-place call without effect, such as dropout in evaluation: such a call is not a write, which
// autograd would report as an error for a leaf and count as a new version.
func (k *compiler) unchanged() string {
	if !k.op.Tagged("itself") {
		return ""
	}
	out, self, p, train := k.f.params[0].name, k.f.params[1].name, k.f.params[2].name, k.f.params[3].name
	return fmt.Sprintf("\tif %s != nil && %s == %s && (%s == 0 || !%s) {\n\t\treturn dispatch.Composed().%s(c, %s)\n\t}\n", out, out, self, p, train, k.f.name, k.f.arguments())
}

// composed records the operators that the operator is composed of.
func (k *compiler) composed() (string, error) {
	k.uses = map[string]bool{}
	code, err := k.compile(k.op.Derivatives.Composed, k.f.results[0])
	if err != nil {
		return "", err
	}
	for name := range k.uses {
		code = strings.ReplaceAll(code, "s.saved("+name+"_)", name)
		code = strings.ReplaceAll(code, "s.savedAll("+name+"_)", name)
	}
	code = k.inline(code)
	touched := k.recordedTensors()
	if out := k.out(); out != "nil" {
		touched = out + ", " + touched
	}
	text := k.head() + fmt.Sprintf("\tif !isRecording(c, %s) {\n\t\treturn c.Excluding(tensor.Gradient).%s(%s)\n\t}\n", touched, k.f.name, k.f.arguments())
	var arguments, tensors []string
	for _, p := range k.f.params {
		if p.typ == tensorType {
			arguments, tensors = append(arguments, "m.metaOf("+p.name+")"), append(tensors, p.name)
		} else {
			arguments = append(arguments, p.name)
		}
	}
	text += fmt.Sprintf("\tif err = checkRefused(func(m *metas) (*tensor.Tensor, error) { return c.Excluding(tensor.Gradient).%s(%s) }, %s); err != nil {\n\t\treturn\n\t}\n", k.f.name, strings.Join(arguments, ", "), strings.Join(tensors, ", "))
	self, name := k.self()
	named, err := k.named(fmt.Sprintf("composeFormula(c, %q, %s, %s, func(s *steps, %s *tensor.Tensor) *tensor.Tensor { return %s })", k.op.Name, k.out(), self, name, code))
	return text + named, err
}

// self returns the first argument, which an in-place composite operator must not change before it is done, and its name there.
func (k *compiler) self() (argument, name string) {
	if p := k.param(0); p.typ == tensorType {
		return p.name, p.name
	}
	return "nil", "_"
}

// self0 returns the first argument that is a tensor, which a call in place writes to.
func (k *compiler) self0() string { return k.tensors()[0] }

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
		if p := k.param(i); p.typ == tensorsType {
			return p.name + "..."
		}
	}
	return strings.Join(k.tensors(), ", ")
}

// recorded records the operator as a node.
func (k *compiler) recorded() (string, error) {
	var b strings.Builder
	b.WriteString(k.head())
	operands := k.operands()
	given, list, err := k.recordedOperands(operands)
	if err != nil {
		return "", err
	}
	for _, a := range k.op.Args {
		if k.op.Derivatives.Of[a.Name] == "none" {
			return "", fmt.Errorf("derivatives: %s: leave it out", a.Name)
		}
	}
	if k.isView() && len(k.tensors()) > 1 {
		return "", fmt.Errorf("a view is made again for gradients, when %s may be gone: write it in engine/composite with views of numbers", k.tensors()[1])
	}
	node, err := k.nodeName()
	if err != nil {
		return "", err
	}
	begin := "beginCall"
	if k.isView() && k.out() != "nil" {
		begin = "beginView"
	}
	fmt.Fprintf(&b, "\tr, err := %s(c, %q, %s, %s, %s)\n\tif err != nil {\n\t\treturn\n\t}\n", begin, k.op.Name, node, k.out(), given)

	cases, needs, err := k.formulas(operands)
	if err != nil {
		return "", err
	}
	results := k.results()
	fails := k.save(&b, needs, list, results)
	if fails {
		b.WriteString("\tif err = r.err; err != nil {\n\t\tr.releaseNode()\n\t\treturn\n\t}\n")
	}
	b.WriteString("\t" + k.made())
	k.finish(&b, results, operands)
	var captured []string
	for _, name := range slices.Sorted(maps.Keys(k.captured)) {
		if k.param0(name) != "" {
			captured = append(captured, fmt.Sprintf("\t\t%s = %s\n", name, k.captured[name]))
		}
	}
	b.WriteString(strings.Join(captured, ""))
	if k.isView() {
		k.replay(&b, results[0])
	}
	var kept []string
	for i, name := range results {
		if _, ok := needs[name]; ok {
			kept = append(kept, name)
			fmt.Fprintf(&b, "\t\t%s_ := r.saveResult(%q, %s, %d, %s)\n", name, k.given(i), name, i, wanted(needs[name], list))
		}
	}
	if len(kept) > 0 {
		nils := strings.Repeat(", nil", len(results))[2:]
		fmt.Fprintf(&b, "\t\tif err = r.releaseResults(%s); err != nil {\n\t\t\treturn %s, err\n\t\t}\n", strings.Join(results, ", "), nils)
	}
	writeFormula(&b, cases)
	b.WriteString(k.cutting(cases))
	if k.out() != "nil" {
		b.WriteString("\t\tr.setInplaceGradFn()\n")
	}
	b.WriteString("\t}\n\treturn\n}\n")
	return b.String(), nil
}

// recordedOperands lists the operands with gradients as arguments, and names the one that is a list, if there is one, which is alone.
func (k *compiler) recordedOperands(operands []int) (given, list string, err error) {
	var names []string
	for _, i := range operands {
		p := k.param(i)
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

// formulas compiles the derivatives of the operands, and returns which of them, by their order, need which tensors.
func (k *compiler) formulas(operands []int) (cases []string, needs map[string][]int, err error) {
	needs = map[string][]int{}
	for at, i := range operands {
		text, ok := k.op.Derivatives.Of[k.op.Args[i].Name]
		if !ok {
			continue // a view
		}
		k.uses = map[string]bool{}
		code, err := k.compile(text, tensorType)
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

// step is a call in a formula that computes elements.
var step = regexp.MustCompile(`s\.(binary|add|sub|mul|div|Track|release|[a-z]+Over|[a-z]+[A-Z]\w*)\(`)

// cutting makes autograd evaluate the formulas of an elementwise operator in blocks, if that saves memory.
func (k *compiler) cutting(cases []string) string {
	if !k.op.Tagged("elementwise") || len(cases) == 0 {
		return ""
	}
	how := "broadcast"
	if slices.ContainsFunc(cases, func(code string) bool { return len(step.FindAllString(code, 2)) > 1 }) {
		how = "always"
	}
	return fmt.Sprintf("\t\tr.node.cut = %s\n", how)
}

// wanted returns the test whether something is to be saved that the derivatives of some operands need.
func wanted(by []int, list string) string {
	if list != "" {
		return "r.node != nil"
	}
	var wants []string
	for _, at := range by {
		wants = append(wants, fmt.Sprintf("r.needsGrad(%d)", at))
	}
	return strings.Join(wants, "||")
}

// save writes the code that saves operands before the call, and reports whether that can fail.
func (k *compiler) save(b *strings.Builder, needs map[string][]int, list string, results []string) (fails bool) {
	for _, name := range slices.Sorted(maps.Keys(needs)) {
		if slices.Contains(results, name) {
			continue
		}
		i := slices.IndexFunc(k.f.params, func(p param) bool { return p.name == name })
		save := map[string]string{tensorType: "saveOperand", tensorsType: "saveOperands", "[]ops.IndexItem": "saveIndex"}[k.f.params[i].typ]
		if strings.Contains(k.op.Derivatives.Node, name+".number") { // PyTorch's has a form for numbers
			save = "saveScalar"
		}
		fmt.Fprintf(b, "\t%s_ := r.%s(%q, %s, %s)\n", name, save, k.op.Args[i-len(k.f.params)+len(k.op.Args)].Name, name, wanted(needs[name], list))
		fails = true
	}
	for _, name := range slices.Sorted(maps.Keys(k.captured)) {
		if k.param0(name) == "" {
			fmt.Fprintf(b, "\t%s := %s\n", name, k.captured[name])
		}
	}
	return fails
}

// finish writes the test whether the call has a node.
func (k *compiler) finish(b *strings.Builder, results []string, operands []int) {
	self := k.param(operands[0]).name
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
		list = k.out()
	case k.isView():
		fmt.Fprintf(b, "\tif r.finishViews(err, %s) {\n", list)
		return
	case k.op.Tagged("maybe_view"):
		fmt.Fprintf(b, "\tif r.mayView(err, %s, %s) {\n", self, list)
		return
	}
	fmt.Fprintf(b, "\tif r.setGradFns(err, %s) {\n", list)
}

// replay writes how a view is made again.
func (k *compiler) replay(b *strings.Builder, result string) {
	self := k.param(0).name
	base := strings.Replace(k.f.arguments(), self, "base", 1)
	if out := k.out(); out != "nil" { // the call may have been in place, its replay is not
		base = strings.Replace(base, out, "nil", 1)
	}
	for i, a := range k.op.Args {
		p := k.param(i)
		if p.typ == "[]int64" && k.captured[p.name] == "" {
			fmt.Fprintf(b, "\t\t%s = copied(%s)\n", p.name, p.name)
		}
		if a.Name == "storage_offset" { // relative to self's offset, which its derivative keeps
			base = strings.Replace(base, p.name, fmt.Sprintf("shiftOffset(%s, %sOffset, base)", p.name, self), 1)
		}
	}
	if k.f.results[0] == tensorsType {
		fmt.Fprintf(b, "\t\tr.markViewList(%s, func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) { return c.%s(%s) }, %s...)\n", self, k.f.name, base, result)
		return
	}
	fmt.Fprintf(b, "\t\tr.markViews(%s, func(c dispatch.Context, base *tensor.Tensor) ([]*tensor.Tensor, error) { return singleView(c.%s(%s)) }, %s)\n", self, k.f.name, base, result)
}
