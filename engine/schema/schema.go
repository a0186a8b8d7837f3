// Package schema reads the operator entries in operators/*.yaml, the one source of every operator's signature, names,
// dtypes and documentation. The generator beside it writes the C header, the exports and the bindings from them.
package schema

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Operator is one entry.
type Operator struct {
	Func      string   `yaml:"func"`      // ATen-style signature
	Variants  []string `yaml:"variants"`  // function, method, inplace, out
	Category  string   `yaml:"category"`  // pointwise, reduction, view, ...
	DTypes    string   `yaml:"dtypes"`    // all, numbers, reals, floating, ...
	Promotion string   `yaml:"promotion"` // how the result's dtype follows from the operands'
	Since     string   `yaml:"since"`
	Go        string   `yaml:"go"` // name of the function in engine/ops, when it is not the operator's in camel case
	Doc       string   `yaml:"doc"`
	Example   string   `yaml:"example"`

	Family   string `yaml:"-"` // the file's name
	Name     string `yaml:"-"` // add
	Overload string `yaml:"-"` // dim in max.dim
	Args     []Arg  `yaml:"-"`
	Returns  []Arg  `yaml:"-"`
}

// Arg is an argument or a result.
type Arg struct {
	Name     string
	Type     Type
	Default  string // text of the default, "" when the argument is required
	KwOnly   bool
	Mutated  bool   // written in place: Tensor(a!)
	AliasSet string // "a" in Tensor(a): the result shares memory with the argument of the same mark
}

// Type of an argument.
type Type struct {
	Base     string // Tensor, Scalar, Operand (Tensor or Scalar), int, float, bool, str, dtype, device, layout, memory_format, Generator, Index, Storage, pointer
	List     bool
	Optional bool
	Deleter  bool // a pointer to a C function void (*)(void *)
}

func (t Type) String() string {
	s := t.Base
	if t.List {
		s += "[]"
	}
	if t.Optional {
		s += "?"
	}
	return s
}

// Bases are the known argument types.
var Bases = []string{"Tensor", "Scalar", "Operand", "int", "float", "bool", "str", "dtype", "device", "layout", "memory_format", "Generator", "Index", "Storage", "pointer"}

var variants = []string{"function", "method", "inplace", "out"}

// Categories are the sections of the operator reference, in its order.
var Categories = []string{"creation", "random", "copy", "view", "pointwise", "comparison", "reduction", "scan", "index", "join", "sort", "matrix", "linalg", "fft", "special", "nn", "storage", "file", "query"}

// DTypeSets are the names that an entry's dtypes may have.
var DTypeSets = map[string]string{
	"all":              "bool, integers, floats and complex",
	"numbers":          "integers, floats and complex",
	"ordered":          "bool, integers and floats",
	"reals":            "integers and floats",
	"integral":         "integers",
	"bits":             "bool and integers",
	"floating":         "floats; integers and bool count as the default dtype",
	"floating_complex": "floats and complex; integers and bool count as the default dtype",
	"complex":          "complex",
	"none":             "no tensor data",
}

// ID names the operator uniquely: add, max.dim.
func (o *Operator) ID() string {
	if o.Overload == "" {
		return o.Name
	}
	return o.Name + "." + o.Overload
}

// CName is the operator's name in C, after tensor_.
func (o *Operator) CName() string { return strings.ReplaceAll(o.ID(), ".", "_") }

// GoName is the function in engine/ops.
func (o *Operator) GoName() string {
	if o.Go != "" {
		return o.Go
	}
	return Camel(o.ID(), true)
}

// Camel turns snake_case and dots into camelCase, the first letter upper case when upper is set.
func Camel(s string, upper bool) string {
	var b strings.Builder
	for i, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '_' || r == '.' }) {
		if i == 0 && !upper {
			b.WriteString(part)
			continue
		}
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// Has tells whether the operator exists in a variant.
func (o *Operator) Has(variant string) bool { return slices.Contains(o.Variants, variant) }

// Operands lists the positions of the arguments that may be a tensor or a number.
func (o *Operator) Operands() []int {
	var at []int
	for i, a := range o.Args {
		if a.Type.Base == "Operand" {
			at = append(at, i)
		}
	}
	return at
}

// Load reads every entry of dir, in the order of file names and of entries in a file.
func Load(dir string) ([]*Operator, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []*Operator
	seen := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var ops []*Operator
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(&ops); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, o := range ops {
			o.Family = strings.TrimSuffix(filepath.Base(file), ".yaml")
			if err := o.complete(); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, o.Func, err)
			}
			if other, ok := seen[o.CName()]; ok {
				return nil, fmt.Errorf("%s: %s is also defined in %s", file, o.ID(), other)
			}
			seen[o.CName()] = file
		}
		all = append(all, ops...)
	}
	return all, nil
}

// complete parses the signature and checks the entry.
func (o *Operator) complete() error {
	if err := o.parse(); err != nil {
		return err
	}
	for _, v := range o.Variants {
		if !slices.Contains(variants, v) {
			return fmt.Errorf("variant %q is not one of %v", v, variants)
		}
	}
	if len(o.Variants) == 0 {
		return fmt.Errorf("variants are missing")
	}
	if !slices.Contains(Categories, o.Category) {
		return fmt.Errorf("category %q is not one of %v", o.Category, Categories)
	}
	if _, ok := DTypeSets[o.DTypes]; !ok {
		return fmt.Errorf("dtypes %q is not a known set", o.DTypes)
	}
	if o.Since == "" || o.Doc == "" {
		return fmt.Errorf("since and doc are required")
	}
	if (o.Has("method") || o.Has("inplace")) && (len(o.Args) == 0 || o.Args[0].Name != "self") {
		return fmt.Errorf("a method's first argument is called self")
	}
	return nil
}
