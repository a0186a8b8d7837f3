package schema

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// RuntimeDir is the folder, in engine, of the schemas of the runtime: functions that are called like operators, but do not depend on the
// kinds of tensors, so that the dispatcher does not know them.
const RuntimeDir = "schema/runtime"

// Load reads the schemas of operators and of the runtime in the folder engine, in the order of file names and of entries in a file, and
// holds them to the kernels there.
func Load(engine string) ([]*Operator, error) {
	files, err := filepath.Glob(filepath.Join(engine, "schema/operators/*.yaml"))
	if err != nil {
		return nil, err
	}
	runtime, err := filepath.Glob(filepath.Join(engine, RuntimeDir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	files = append(files, runtime...)
	slices.SortStableFunc(files, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	kernels, err := readSignatures(filepath.Join(engine, Units))
	if err != nil {
		return nil, err
	}
	var all []*Operator
	byID := map[string]*Operator{}
	for _, file := range files {
		ops, err := readFile(file)
		if err != nil {
			return nil, err
		}
		for _, o := range ops {
			if other, ok := byID[o.ID()]; ok {
				return nil, o.Wrong(fmt.Errorf("also defined in %s", other.file))
			}
			byID[o.ID()] = o
		}
		all = append(all, ops...)
	}
	for _, o := range all {
		if err := o.inheritFields(byID); err != nil {
			return nil, o.Wrong(err)
		}
	}
	for _, o := range all {
		if o.Deprecated != "" {
			o.Doc += "\nDeprecated: " + o.Deprecated + ". The first call reports a warning.\n"
		}
		for i := range o.Args {
			o.Args[i].Dim = o.DimOf(i) >= 0
			o.Args[i].Indices = o.isIndices(i)
		}
		if err := o.checkFields(kernels); err != nil {
			return nil, o.Wrong(err)
		}
	}
	return all, checkAll(all)
}

// Wrong names the file and the entry that an error is about.
func (o *Operator) Wrong(err error) error {
	return fmt.Errorf("%s: %s: %w", o.file, o.Func, err)
}

// readFile reads the schemas of one file and parses their signatures.
func readFile(file string) ([]*Operator, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list []yaml.Node
	if err := yaml.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var ops []*Operator
	for i := range list {
		o, err := decodeOperator(&list[i])
		o.file = file
		o.Family = strings.TrimSuffix(filepath.Base(file), ".yaml")
		o.Runtime = strings.HasSuffix(filepath.Dir(file), RuntimeDir)
		made := []*Operator{o}
		if err == nil && o.EachOf != "" {
			o.Name = o.Func
			made, err = o.eachForms()
		}
		if err != nil {
			return nil, o.Wrong(err)
		}
		for _, o := range made {
			if err := o.parseSignature(); err != nil {
				return nil, o.Wrong(err)
			}
		}
		ops = append(ops, made...)
	}
	return ops, nil
}

// decodeOperator decodes one schema, so that an error about unknown fields contains its name.
func decodeOperator(node *yaml.Node) (*Operator, error) {
	o := new(Operator)
	text, err := yaml.Marshal(node)
	if err != nil {
		return o, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	return o, d.Decode(o)
}

// inheritFields copies the fields that an alias of an operator does not set.
func (o *Operator) inheritFields(byID map[string]*Operator) error {
	switch {
	case o.CopyOf != "":
		return o.fillViewCopy(byID[o.CopyOf])
	case o.AliasOf != "":
	case !o.hasSignature():
		return fmt.Errorf("no argument list in signature")
	case o.Go == Camel(o.ID(), true):
		return fmt.Errorf("go is the name that the function has without it")
	default:
		return nil
	}
	of := byID[o.AliasOf]
	if of == nil || of.AliasOf != "" {
		return fmt.Errorf("alias_of %q is not an entry, or another name itself", o.AliasOf)
	}
	if !o.hasSignature() {
		o.Args, o.Returns = of.Args, of.Returns
		o.Func += of.Func[strings.Index(of.Func, "("):]
	}
	if o.Go != "" || o.Kernel != "" || o.VMap != "" || o.JVP != "" {
		return fmt.Errorf("go, kernel, vmap and jvp are those of %s", o.AliasOf)
	}
	o.Go = of.GoName()
	if o.Variants == nil {
		o.Variants = of.Variants
	}
	if o.Tags == nil {
		o.Tags = of.Tags
	}
	if o.Integers == nil {
		o.Integers = of.Integers
	}
	if o.Words == nil {
		o.Words = of.Words
	}
	for to, from := range map[*string]string{&o.Category: of.Category, &o.DTypes: of.DTypes, &o.Promotion: of.Promotion, &o.Names: of.Names,
		&o.Quantized: of.Quantized, &o.Since: of.Since,
		&o.Doc: of.Doc + "\nAlias of `" + of.Name + "`.\n"} {
		if *to == "" {
			*to = from
		}
	}
	return nil
}

// DocInPlace returns the documentation of the in-place form of the operator, without sentences about a view, a copy or another dtype.
func (o *Operator) DocInPlace() string {
	doc := boolSentence.ReplaceAllString(viewSentence.ReplaceAllString(o.Doc, ""), "")
	return strings.Replace(doc, "Returns a copy of `self`", "Returns `self`", 1)
}

var boolSentence = regexp.MustCompile(`\s+Returns\s+a\s+bool\s+tensor\.`)

// viewSentence matches sentences about shared memory in the documentation of a view.
var viewSentence = regexp.MustCompile(`,\s+as\s+a\s+view|\s+Returns\s+(?:a\s+)?views?\.|\s+Shares\s+memory\s+with\s+the\s+tensor\.`)

// fillViewCopy fills in the schema of a copy of the result of a view. It is a composite operator: names, quantizers and gradients are
// those of its intermediate ops.
func (o *Operator) fillViewCopy(of *Operator) error {
	switch {
	case of == nil || of.AliasOf != "" || of.CopyOf != "" || len(of.Args) == 0 || len(of.Returns) != 1:
		return fmt.Errorf("copy_of %q is not an entry with one result, or another name or a copy itself", o.CopyOf)
	case o.hasSignature() || o.AliasOf != "" || o.Go != "" || o.Kernel != "" || o.Category != "":
		return fmt.Errorf("signature, alias_of, go, kernel and category follow from copy_of")
	}
	o.copied, o.Args, o.Returns = of, slices.Clone(of.Args), slices.Clone(of.Returns)
	o.Args[0].AliasSet, o.Returns[0].AliasSet, o.Words = "", "", of.Words
	o.Func += strings.ReplaceAll(of.Func[strings.Index(of.Func, "("):], "Tensor(a)", "Tensor")
	if o.Variants == nil && o.Returns[0].Type.List {
		o.Variants = []string{"function"}
	} else if o.Variants == nil {
		o.Variants = []string{"function", "out"}
	}
	o.Category = "copy"
	if of.Category == "sparse" {
		o.Category = of.Category
	}
	o.DTypes, o.Promotion, o.Since = of.DTypes, of.Promotion, of.Since
	o.Names, o.Quantized = "steps", "steps"
	if of.NameRule() == "unsupported" {
		o.Names = "unsupported"
	}
	if of.QuantizedRule() == "unsupported" {
		o.Quantized = "unsupported"
	}
	doc := strings.NewReplacer("Returns a view ", "Returns a copy ", "a tensor that shares memory with", "a copy of").Replace(of.Doc)
	o.Doc = "Computes `" + of.Name + "` as a contiguous copy instead of a view.\n\n" + viewSentence.ReplaceAllString(doc, "")
	return nil
}

// hasSignature reports whether the schema has a signature.
func (o *Operator) hasSignature() bool { return strings.Contains(o.Func, "(") }
