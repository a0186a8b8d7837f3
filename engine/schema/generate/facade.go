package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// tables are the folders of operators, with the dispatcher's table of their functions. Those of autogradDir are functions of the runtime.
var tables = map[string]string{opsDir: "", compositeDir: "compositeOps", autogradDir: "autograd", sparseDir: "sparseOps",
	quantizedDir: "quantizedOps"}

const (
	opsDir       = "engine/ops"
	compositeDir = "engine/composite"
	sparseDir    = "engine/sparse"
	facadeDir    = "engine/dispatch"
	module       = "github.com/libtensor/libtensor/"
)

// function describes the Go function of an operator for the dispatcher.
type function struct {
	op       string // the operator's name in errors
	name     string // in Go
	params   []param
	results  []string // types
	any      bool     // takes tensors of every kind
	constant bool     // no gradient flows through it
	casts    int      // the rows of engine/dispatch's AutocastDevices for which autocast converts its arguments, a bit each
	draws    bool     // random numbers, which active transforms affect
	keeps    bool     // the elements: nothing is written
	filed    bool     // one file can contain tensors of every kind
	table    string   // where the dispatcher finds it: of tables
	written  []param  // the tensors that the operator writes to
}

type param struct{ name, typ string }

// generateFacade writes engine/dispatch: one method for each Go function that operators name, with its signature in engine/ops, and the
// functions of engine/ops that are completely described by schemas.
func generateFacade(out *output, ops []*schema.Operator) error {
	policies, err := schema.Autocast("engine", ops)
	if err != nil {
		return err
	}
	declared, imports, err := readFunctions(out, ops)
	if err != nil {
		return err
	}
	all, err := dispatchedFunctions(out, ops, declared, policies)
	if err != nil {
		return err
	}
	out.write(facadeDir+"/gen_aten.go", facadeMethods(all, imports))
	out.write(facadeDir+"/gen_backend.go", facadeBackend(all, imports))
	out.write(builderFile, builderMethods(ops, all, imports))
	out.write(compositeDir+"/gen_register.go", registerText(all, "composite", "compositeOps", "RegisterComposite"))
	out.write(sparseDir+"/gen_register.go", registerText(all, "sparse", "sparseOps", "RegisterSparse"))
	out.write(quantizedDir+"/gen_register.go", registerText(all, "quantized", "quantizedOps", "RegisterQuantized"))
	if err := sparseUnary(out, ops, all); err != nil {
		return err
	}
	if err := generateAutocast(out, ops, all, policies); err != nil {
		return err
	}
	if err := generateQuantized(out, ops, all, imports); err != nil {
		return err
	}
	if err := generateDispatch(out, ops, all); err != nil {
		return err
	}
	return generateDerivatives(out, ops, all, imports)
}

// readFunctions returns the functions of the folders of tables by name, and the packages that their signatures refer to, among them the
// functions of engine/ops that it writes.
func readFunctions(out *output, ops []*schema.Operator) (declared map[string]*function, imports map[string]string, err error) {
	declared, imports = map[string]*function{}, map[string]string{"ops": module + opsDir, "unsafe": "unsafe"}
	for _, dir := range slices.Sorted(maps.Keys(tables)) {
		if err := readPackage(dir, declared, imports); err != nil {
			return nil, nil, err
		}
	}
	for _, source := range []struct {
		file string
		text func([]*schema.Operator, map[string]*function) (string, error)
	}{{pointwiseFile, generatePointwise}, {copiesFile, generateCopies}, {listsFile, generateLists}} {
		text, err := source.text(ops, declared)
		if err != nil {
			return nil, nil, err
		}
		out.write(source.file, text)
		if err := readSource(source.file, text, declared, imports); err != nil {
			return nil, nil, err
		}
	}
	return declared, imports, nil
}

// dispatchedFunctions returns the functions for which the dispatcher gets a method, and adds those of the runtime, and those that take no
// tensors, to out.runtime.
func dispatchedFunctions(out *output, ops []*schema.Operator, declared map[string]*function,
	policies map[string][]string) ([]*function, error) {
	casts := map[string]int{} // by the dispatcher's methods, which aliases share
	for _, o := range ops {
		for row, policy := range policies[o.Name] {
			if policy != "" {
				casts[o.GoName()] |= 1 << row
			}
		}
	}
	var all []*function
	seen, err := ownMethods()
	if err != nil {
		return nil, err
	}
	for _, o := range ops {
		f, ok := declared[o.GoName()]
		if ok && o.Runtime {
			if f.table != "" && f.table != "autograd" {
				return nil, o.Wrong(fmt.Errorf("functions of the runtime are in %s or %s, but %s is not", opsDir, autogradDir, f.name))
			}
			out.runtime[f.name] = f
			continue
		}
		if seen[o.GoName()] {
			continue
		}
		seen[o.GoName()] = true
		if !ok {
			return nil, o.Wrong(fmt.Errorf("there is no func %s in %s or %s", o.GoName(), opsDir, compositeDir))
		}
		if f.table == "autograd" {
			return nil, o.Wrong(fmt.Errorf("func %s is in %s, but functions of the runtime have a schema in %s", f.name, autogradDir,
				schema.RuntimeDir))
		}
		f.casts = casts[o.GoName()]
		f.setProperties(o)
		if f.table == "" && f.keysExpression() == "" && f.deviceParam() == "" && !f.any {
			out.runtime[f.name] = f // of no tensors
			continue
		}
		all = append(all, f)
	}
	return all, nil
}

// setProperties sets the fields of f that the schema of its operator determines.
func (f *function) setProperties(o *schema.Operator) {
	f.op, f.any, f.constant = cmp.Or(o.Called, o.Name), o.Tagged("metadata"), o.Constant()
	f.draws = o.Tagged("random") && (f.table == "" || f.table == tables[compositeDir]) && f.keysExpression() != ""
	f.keeps, f.filed = o.Tagged("keeps"), o.Category == "file"
	outs := len(f.params) - len(o.Args)
	for i, p := range f.params {
		if i < outs || o.Args[i-outs].Mutated {
			f.written = append(f.written, p)
		}
	}
}

// ownMethods returns the operators that package aten implements itself, since they read or change the context of calls.
func ownMethods() (map[string]bool, error) {
	files, err := handwrittenFiles(facadeDir)
	found := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() {
				continue
			}
			if of, ok := f.Recv.List[0].Type.(*ast.Ident); ok && of.Name == "Context" {
				found[f.Name.Name] = true
			}
		}
	}
	return found, err
}

// handwrittenFiles returns the files of a package without its tests and its generated files, which are rewritten.
func handwrittenFiles(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	return slices.DeleteFunc(files, func(path string) bool {
		return strings.HasSuffix(path, "_test.go") || strings.HasPrefix(filepath.Base(path), "gen_")
	}), err
}

// readPackage reads the exported functions of a package, and its imports by name.
func readPackage(dir string, declared map[string]*function, imports map[string]string) error {
	files, err := handwrittenFiles(dir)
	if err != nil {
		return err
	}
	for _, path := range files {
		if err := readSource(path, nil, declared, imports); err != nil {
			return err
		}
	}
	return nil
}

// readSource reads a file, or its text if it is about to be generated.
func readSource(path string, text any, declared map[string]*function, imports map[string]string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, 0)
	if err != nil {
		return err
	}
	for _, i := range file.Imports {
		p := strings.Trim(i.Path.Value, `"`)
		imports[filepath.Base(p)] = p
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !f.Name.IsExported() {
			continue
		}
		if dir := filepath.Dir(path); (dir == autogradDir || dir == sparseDir || dir == quantizedDir) && !takesContext(f) {
			continue
		}
		if declared[f.Name.Name] != nil {
			return fmt.Errorf("func %s is in two of the folders of operators", f.Name.Name)
		}
		made := newFunction(set, f)
		if made.table = tables[filepath.Dir(path)]; made.table != "" {
			made.params = made.params[1:] // the dispatcher
		}
		declared[f.Name.Name] = made
	}
	return nil
}

// takesContext reports whether the first parameter of a function is the dispatcher.
func takesContext(f *ast.FuncDecl) bool {
	if len(f.Type.Params.List) == 0 {
		return false
	}
	first, ok := f.Type.Params.List[0].Type.(*ast.SelectorExpr)
	return ok && first.Sel.Name == "Context"
}

// newFunction returns the description of a declared function.
func newFunction(set *token.FileSet, f *ast.FuncDecl) *function {
	out := &function{name: f.Name.Name}
	for _, field := range f.Type.Params.List {
		names := field.Names
		if len(names) == 0 {
			names = []*ast.Ident{ast.NewIdent("_")}
		}
		typ := typeText(set, field.Type)
		for _, name := range names {
			text := name.Name
			if text == "_" {
				text = fmt.Sprintf("x%d", len(out.params))
			}
			out.params = append(out.params, param{text, typ})
		}
	}
	if f.Type.Results != nil {
		for _, field := range f.Type.Results.List {
			for range max(1, len(field.Names)) {
				out.results = append(out.results, typeText(set, field.Type))
			}
		}
	}
	return out
}

// typeText returns a type as another package writes it.
func typeText(set *token.FileSet, e ast.Expr) string {
	ast.Inspect(e, func(n ast.Node) bool {
		if _, ok := n.(*ast.SelectorExpr); ok {
			return false
		}
		if id, ok := n.(*ast.Ident); ok && id.IsExported() {
			id.Name = "ops." + id.Name
		}
		return true
	})
	var b strings.Builder
	_ = printer.Fprint(&b, set, e)
	return b.String()
}

// formatSignature returns the parameters and results; zero-valued results are named r0, r1, ... and err.
func (f *function) formatSignature(named bool) string {
	var params, results []string
	for i, p := range f.params {
		if i+1 < len(f.params) && f.params[i+1].typ == p.typ {
			params = append(params, p.name)
			continue
		}
		params = append(params, p.name+" "+p.typ)
	}
	for i, r := range f.results {
		switch {
		case !named:
			results = append(results, r)
		case r == "error":
			results = append(results, "err error")
		default:
			results = append(results, fmt.Sprintf("r%d %s", i, r))
		}
	}
	return fmt.Sprintf("(%s) (%s)", strings.Join(params, ", "), strings.Join(results, ", "))
}

func (f *function) argumentList() string {
	var names []string
	for _, p := range f.params {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// keysExpression returns the expression of the dispatch keys of a call, or "" if no dispatch key applies.
func (f *function) keysExpression() string {
	if n := len(f.results); f.any || n == 0 || f.results[n-1] != "error" {
		return ""
	}
	return joinKeys(keysOf(f.params), f.layoutKeys())
}

// isOut reports whether a parameter is a tensor that takes the result and is not read.
func isOut(p param) bool { return p.typ == "*tensor.Tensor" && strings.HasPrefix(p.name, "out") }

func (f *function) hasOut() bool { return slices.ContainsFunc(f.params, isOut) }

// operandKeys returns the expression of the dispatch keys of all arguments except outputs.
func (f *function) operandKeys() string {
	return joinKeys(keysOf(slices.DeleteFunc(slices.Clone(f.params), isOut)), f.layoutKeys())
}

// layoutKeys returns the expression of the dispatch keys of the requested layout.
func (f *function) layoutKeys() string {
	var terms []string
	for _, p := range f.params {
		if p.typ == "tensor.Layout" {
			terms = append(terms, p.name+".Keys()")
		}
	}
	return strings.Join(terms, "|")
}

// joinKeys returns the bitwise or of expressions of keys.
func joinKeys(terms ...string) string {
	return strings.Join(slices.DeleteFunc(terms, func(s string) bool { return s == "" }), "|")
}

func keysOf(params []param) string {
	var terms []string
	for _, p := range params {
		switch p.typ {
		case "*tensor.Tensor":
			terms = append(terms, "keys("+p.name+")")
		case "[]*tensor.Tensor":
			terms = append(terms, "keysOf("+p.name+")")
		case "[]ops.IndexItem":
			terms = append(terms, "keysOfIndex("+p.name+")")
		}
	}
	return strings.Join(terms, "|")
}

// keysAhead is keysExpression without the keys whose layers have nothing to do for the operator: gradients stop at a constant one, which
// clears the grad_fn of the tensors that it writes to.
func (f *function) keysAhead() string {
	modes := ""
	if f.draws {
		modes = "c.drawing()"
	}
	if f.casts != 0 {
		modes = joinKeys(modes, fmt.Sprintf("c.casting(%d)", f.casts))
	}
	if !f.constant {
		return joinKeys(f.keysExpression(), modes)
	}
	isWritten := func(p param) bool { return slices.Contains(f.written, p) }
	written := keysOf(slices.DeleteFunc(slices.Clone(f.params), func(p param) bool { return !isWritten(p) }))
	read := keysOf(slices.DeleteFunc(slices.Clone(f.params), isWritten))
	if read != "" {
		read = "(" + read + ")&^tensor.Gradient"
	}
	return joinKeys(written, read, f.layoutKeys(), modes)
}

// isSparse reports whether an operator is about sparse tensors, whose parts are not quantized.
func (f *function) isSparse() bool { return f.table == tables[sparseDir] }

func facadeMethods(all []*function, imports map[string]string) string {
	var b strings.Builder
	for _, f := range all {
		keys := f.keysExpression()
		fmt.Fprintf(&b, "\nfunc (c Context) %s%s {\n", f.name, f.formatSignature(f.table == "" && len(f.written) > 0))
		if keys != "" {
			f.writeDelegation(&b)
		}
		if keys == "" || f.table == "" {
			f.writeCall(&b)
		}
	}
	return fileHead(b.String(), imports)
}

// writeDelegation writes the call of the backend of the first dispatch key that the call has not handled. Without a function in the
// backend an operator of package ops returns an error; others are decomposed, as they are without a key.
func (f *function) writeDelegation(b *strings.Builder) {
	read, all := "tensor.Sparse", keysOf(f.params)
	if f.hasOut() && !strings.Contains(f.keysAhead(), "layout.Keys()") { // factories, whose out determines the layout
		read = cmp.Or(f.operandKeys(), "0")
	}
	if f.filed || !strings.Contains(all, "|") && !strings.Contains(all, "keysOf") {
		all = "0"
	}
	arguments := fmt.Sprintf("%q, key, unsafe.Offsetof(Backend{}.%s)", f.op, f.name)
	var backend string
	switch {
	case f.table == "" && f.operandKeys() == f.layoutKeys():
		backend = fmt.Sprintf("backendOfLayout(%s)", arguments)
	case f.table == "":
		backend = fmt.Sprintf("backendFor(%s, %s, %s)", arguments, read, all)
	case f.isSparse():
		backend = fmt.Sprintf("c.backendOfSparse(%s, %s, %s)", arguments, all, f.keysExpression())
	default:
		outs := keysOf(slices.DeleteFunc(slices.Clone(f.params), func(p param) bool { return !isOut(p) }))
		backend = fmt.Sprintf("c.backendOr(&%s, %s, %s, %s, %s)", f.table, arguments, read, all, cmp.Or(outs, "0"))
	}
	call := fmt.Sprintf("return %s.%s(c, %s)\n}\n", backend, f.name, f.argumentList())
	if f.table != "" {
		fmt.Fprintf(b, "key := c.highestKey(%s)\n%s", f.keysAhead(), call)
		return
	}
	fmt.Fprintf(b, "if key := c.highestKey(%s); key != 0 {\n%s", f.keysAhead(), call)
}

// deviceParam returns the name of the device parameter that defaults to the thread's device: that of a factory without an operand or
// output to follow.
func (f *function) deviceParam() (name string) {
	if len(f.results) == 0 || f.results[0] != "*tensor.Tensor" {
		return ""
	}
	for _, p := range f.params {
		switch {
		case p.typ == "device.Device":
			name = p.name
		case p.typ == "*tensor.Tensor" && !slices.Contains(f.written, p):
			return ""
		}
	}
	return name
}

// writeCall writes the call of the operator and increments the versions of its outputs, unless the call fails. Composite operators write
// through the dispatcher.
func (f *function) writeCall(b *strings.Builder) {
	if f.table != "" { // its steps find the device
		fmt.Fprintf(b, "return %s.%s(c, %s)\n}\n", f.table, f.name, f.argumentList())
		return
	}
	if name := f.deviceParam(); name != "" {
		given := []string{name}
		for _, p := range f.written {
			given = append(given, p.name)
		}
		fmt.Fprintf(b, "%s = c.place(%s)\n", name, strings.Join(given, ", "))
	}
	if len(f.written) == 0 {
		fmt.Fprintf(b, "return ops.%s(%s)\n}\n", f.name, f.argumentList())
		return
	}
	results := make([]string, len(f.results))
	for i := range results {
		results[i] = fmt.Sprintf("r%d", i)
	}
	results[len(results)-1] = "err"
	fmt.Fprintf(b, "%s = ops.%s(%s)\n", strings.Join(results, ", "), f.name, f.argumentList())
	if f.keeps {
		b.WriteString("return\n}\n")
		return
	}
	for _, p := range f.written {
		fmt.Fprintf(b, "bumpVersion(err, %s)\n", p.name)
	}
	b.WriteString("return\n}\n")
}

func facadeBackend(all []*function, imports map[string]string) string {
	var b strings.Builder
	b.WriteString("\n// Backend is what a kind of tensors does with operators: nil for unsupported operators.\ntype Backend struct {\n")
	for _, f := range all {
		if f.keysExpression() == "" && f.table == "" {
			continue
		}
		signature := f.formatSignature(false)
		fmt.Fprintf(&b, "\t%s func(c Context, %s\n", f.name, strings.TrimPrefix(signature, "("))
	}
	b.WriteString("}\n")
	return fileHead(b.String(), imports)
}

// registerText returns the code that registers the operators of a package that imports the dispatcher.
func registerText(all []*function, name, table, setter string) string {
	var b strings.Builder
	b.WriteString(goBanner + "package " + name + "\n\nimport \"" + module + "engine/dispatch\"\n\nfunc init() {\n\tdispatch." + setter +
		"(dispatch.Backend{\n")
	for _, f := range all {
		if f.table == table {
			fmt.Fprintf(&b, "\t\t%s: %s,\n", f.name, f.name)
		}
	}
	b.WriteString("\t})\n}\n")
	return b.String()
}

// sparseUnary writes the operators of sparse tensors that work on the values alone.
func sparseUnary(out *output, ops []*schema.Operator, all []*function) error {
	var b strings.Builder
	b.WriteString(goBanner + "package sparse\n\nimport \"" + module +
		"engine/dispatch\"\n\n// newUnaryBackend returns the kernels of the unary operators with the tag sparse.\nfunc newUnaryBackend() dispatch.Backend {\n\treturn dispatch.Backend{\n")
	for _, o := range ops {
		i := slices.IndexFunc(all, func(f *function) bool { return f.name == o.GoName() })
		if !o.Tagged("sparse") || o.AliasOf != "" || i < 0 {
			continue
		}
		switch f := all[i]; f.formatSignature(false) {
		case "(out, self *tensor.Tensor) (*tensor.Tensor, error)":
			fmt.Fprintf(&b, "\t\t%s: makeUnary(%q, dispatch.Context.%s),\n", f.name, f.op, f.name)
		case "(self *tensor.Tensor) (*tensor.Tensor, error)":
			fmt.Fprintf(&b, "\t\t%s: makeUnaryWithoutOut(%q, dispatch.Context.%s),\n", f.name, f.op, f.name)
		default:
			return o.Wrong(fmt.Errorf("the tag sparse goes with one tensor, and an out at most"))
		}
	}
	b.WriteString("\t}\n}\n")
	out.write(sparseDir+"/gen_unary.go", b.String())
	return nil
}

// fileHead returns the head of a file in package dispatch with the imports that its text needs.
func fileHead(text string, imports map[string]string) string {
	return fileHeadOf("dispatch", text, imports)
}

// fileHeadOf is fileHead for another package.
func fileHeadOf(name, text string, imports map[string]string) string {
	var standard, ours []string
	for name, path := range imports {
		switch line := fmt.Sprintf("\t%q\n", path); {
		case !regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(text):
		case strings.HasPrefix(path, module):
			ours = append(ours, line)
		default:
			standard = append(standard, line)
		}
	}
	if len(standard)+len(ours) == 0 {
		return goBanner + "package " + name + "\n\n" + text
	}
	slices.Sort(standard)
	slices.Sort(ours)
	return goBanner + "package " + name + "\n\nimport (\n" + strings.Join(standard, "") + "\n" + strings.Join(ours, "") + ")\n" + text
}
