// Package schema reads the schemas in operators/*.yaml and runtime/*.yaml, the only source of every operator's signature, names,
// dtypes and documentation. Package generate writes the C header, the exports and the bindings from them.
package schema

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
)

// Operator is one entry.
type Operator struct {
	Func     string   `yaml:"func"`     // ATen-style signature; only the name if the signature is that of alias_of or copy_of
	AliasOf  string   `yaml:"alias_of"` // the schema of which this is another name, with the values of missing fields
	CopyOf   string   `yaml:"copy_of"`  // the view of which this is a copy, with the values of missing fields
	EachOf   string   `yaml:"each_of"`  // the operator that this applies to each tensor of lists
	Forms    []string `yaml:"forms"`    // of an operator with each_of: OVERLOAD(ARGUMENTS)
	Private  bool     `yaml:"private"`  // a step of other operators or of derivatives, which no language has
	Variants []string `yaml:"variants"` // function, method, inplace, out
	Category string   `yaml:"category"` // pointwise, reduction, view, ...
	DTypes   string   `yaml:"dtypes"`   // all, numbers, reals, floating, ...
	// how the result's dtype follows from the operands': one rule, or one for each result, separated by commas
	Promotion   string      `yaml:"promotion"`
	Kernel      string      `yaml:"kernel"`    // kernel of an elementwise operator
	Runs        []string    `yaml:"runs"`      // of Runs
	Tags        []string    `yaml:"tags"`      // of Tags
	Names       string      `yaml:"names"`     // of NameRules, unless it follows from the category and the tags
	Quantized   string      `yaml:"quantized"` // of QuantizedRules, unless it follows from the category and the tags
	VMap        string      `yaml:"vmap"`      // the method of engine/vmap that is the batching rule, unless it follows from the tags
	JVP         string      `yaml:"jvp"`       // that of engine/jvp for tangents, unless it follows from the derivatives
	Called      string      `yaml:"called"`    // name in errors, if users know the operator by another name
	Since       string      `yaml:"since"`
	Deprecated  string      `yaml:"deprecated"` // the alternative to a deprecated operator, which warns
	Go          string      `yaml:"go"`         // name of the function in engine/ops, when it is not the operator's in camel case
	Words       Words       `yaml:"words"`
	Integers    []string    `yaml:"integers"` // the arguments that are tensors of integers, other than those with the names of indices
	Python      Python      `yaml:"python"`
	Node        Node        `yaml:"node"`
	Derivatives Derivatives `yaml:"derivatives"`
	Doc         string      `yaml:"doc"`
	Example     string      `yaml:"example"`

	ExampleInPlace string `yaml:"example_inplace"` // of the in-place form, if the example with calls of that form has another result

	file     string
	copied   *Operator // the entry that copy_of names
	Family   string    `yaml:"-"` // the file's name
	Runtime  bool      `yaml:"-"` // a function of the runtime, see RuntimeDir
	Name     string    `yaml:"-"` // add
	Overload string    `yaml:"-"` // dim in max.dim
	Args     []Arg     `yaml:"-"`
	Returns  []Arg     `yaml:"-"`
}

// Words are the accepted values of str arguments, by the argument's name.
type Words map[string][]string

// Python lists the differences of the Python package from the signature. They concern one name, so that aliases of an operator do not
// inherit them.
type Python struct {
	Internal bool              `yaml:"internal"` // called by the package's own modules; users do not see it
	Variadic bool              `yaml:"variadic"` // the list of tensors is given as separate arguments
	Tuple    bool              `yaml:"tuple"`    // several results are returned as a plain tuple
	Names    map[string]string `yaml:"names"`    // of parameters that are not called as in the signature
	Wrapped  []string          `yaml:"wrapped"`  // the forms, function or method, that a hand-written one with its own types replaces
	Dunder   string            `yaml:"dunder"`   // add: __add__, and __radd__ and __iadd__ where Python has them
	Commutes bool              `yaml:"commutes"` // the reflected form of the dunder is the form itself
}

// Node lists the differences of the Node package from the signature; see Python.
type Node struct {
	Internal bool     `yaml:"internal"` // called by the package's own modules; users do not see it
	Wrapped  []string `yaml:"wrapped"`  // the forms that a hand-written one with its own types replaces
}

// Arg is an argument or a result.
type Arg struct {
	Name     string
	Type     Type
	Default  string // text of the default, "" when the argument is required
	KwOnly   bool
	Mutated  bool     // written in place: Tensor(a!)
	AliasSet string   // "a" in Tensor(a): the result shares memory with the argument of the same mark
	Words    []string // the accepted values, nil for any
	Dim      bool     // a dimension of a tensor, or several, which may be given by name
	Indices  bool     // a tensor of integers, also as a list of numbers, of any dtype of the language
}

// Type of an argument.
type Type struct {
	// Tensor, Scalar, Operand (Tensor or Scalar), int, float, bool, str, dtype, device, layout, memory_format, Generator, Index, Storage,
	// Node, pointer
	Base     string
	List     bool
	Optional bool
	Function string // of a pointer to a C function: its type in C
	Const    bool   // of a pointer: to read-only memory
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
var Bases = []string{"Tensor", "Scalar", "Operand", "int", "float", "bool", "str", "dtype", "device", "layout", "memory_format",
	"Generator", "Index", "Storage", "Node", "pointer"}

// functionTypes are the types of pointers to C functions, with their names in C.
var functionTypes = map[string]string{
	"deleter": "tensor_deleter", "callback": "tensor_callback", "pack": "tensor_pack", "unpack": "tensor_unpack", "watcher": "tensor_watcher",
}

var variants = []string{"function", "method", "inplace", "out"}

// Categories are the sections of the operator reference, in its order.
var Categories = []string{"creation", "random", "copy", "view", "pointwise", "comparison", "reduction", "scan", "index", "join", "sort",
	"matrix", "linalg", "fft", "special", "nn", "sparse", "quantized", "gradient", "storage", "file", "query"}

// Tags are the words that an entry's tags may have.
var Tags = map[string]string{
	"elementwise":  "each element of the result depends only on the corresponding elements of the broadcast operands",
	"itself":       "returns the argument unchanged if there is nothing to do",
	"keeps":        "preserves the elements of its arguments, though their memory changes",
	"linear":       "the result is linear in all differentiable tensors jointly",
	"maybe_view":   "the result shares memory with the argument if possible, and is a copy otherwise",
	"metadata":     "reads no elements, and supports all tensors",
	"moves":        "may replace the memory of its first argument",
	"multilinear":  "the result is linear in each differentiable tensor separately",
	"tracks":       "may add its arguments to the autograd graph, though it does not write to them",
	"observed":     "is a function of the runtime that computes, so that observers are notified of its calls",
	"random":       "uses a random number generator",
	"reduction":    "reduces dimensions, which the result lacks or has with size 1",
	"syncs":        "reads elements before the shape of the result, or the result itself, is known; meta tensors are an error",
	"sparse":       "maps 0 to 0, and is applied to the values of sparse tensors",
	"wide_complex": "does not support complex32 operands",
	"view":         "the result is a view of the argument",
}

// DTypeSet is the set of dtypes that an operator accepts.
type DTypeSet struct {
	Text string
	Has  func(dtype.DType) bool
}

// DTypeSets are the names that an entry's dtypes may have. A test of engine/ops calls every operator on every dtype and
// compares.
var DTypeSets = map[string]DTypeSet{
	"all":              {"bool, integers, floats and complex", func(dtype.DType) bool { return true }},
	"numbers":          {"integers, floats and complex", func(d dtype.DType) bool { return d != dtype.Bool }},
	"signed":           {"signed integers, floats and complex", dtype.DType.IsSigned},
	"ordered":          {"bool, integers and floats", func(d dtype.DType) bool { return !d.IsComplex() }},
	"reals":            {"integers and floats", func(d dtype.DType) bool { return d != dtype.Bool && !d.IsComplex() }},
	"integral":         {"integers", dtype.DType.IsIntegral},
	"int64":            {"int64", func(d dtype.DType) bool { return d == dtype.Int64 }},
	"bits":             {"bool and integers", func(d dtype.DType) bool { return d.Category() < dtype.Floating }},
	"floats":           {"floats", dtype.DType.IsFloatingPoint},
	"float32":          {"float32", func(d dtype.DType) bool { return d == dtype.Float32 }},
	"floats_int64":     {"floats and int64", func(d dtype.DType) bool { return d == dtype.Int64 || d.IsFloatingPoint() }},
	"floats_uint8":     {"floats and uint8", func(d dtype.DType) bool { return d == dtype.Uint8 || d.IsFloatingPoint() }},
	"floats_complex":   {"floats and complex", func(d dtype.DType) bool { return d.Category() >= dtype.Floating }},
	"doubles":          {"float32 and float64", func(d dtype.DType) bool { return d == dtype.Float32 || d == dtype.Float64 }},
	"parts":            {"float16, float32 and float64", func(d dtype.DType) bool { return d.IsFloatingPoint() && d != dtype.BFloat16 }},
	"floating":         {"floats; integers and bool are converted to the default dtype", func(d dtype.DType) bool { return !d.IsComplex() }},
	"floating_complex": {"floats and complex; integers and bool are converted to the default dtype", func(dtype.DType) bool { return true }},
	"complex":          {"complex", dtype.DType.IsComplex},
	"wide":             {"float32, float64, complex64 and complex128", isWide},
	"wide_complex":     {"complex64 and complex128", func(d dtype.DType) bool { return isWide(d) && d.IsComplex() }},
	"wide_floating": {"float32 and float64; integers and bool are converted to the default dtype",
		func(d dtype.DType) bool { return isWide(toFloating(d)) && !d.IsComplex() }},
	"wide_floating_complex": {"float32, float64, complex64 and complex128; integers and bool are converted to the default dtype",
		func(d dtype.DType) bool { return isWide(toFloating(d)) }},
	"wide_doubles": {"float64 and complex128", func(d dtype.DType) bool { return d == dtype.Float64 || d == dtype.Complex128 }},
	"none":         {"no tensor data", func(dtype.DType) bool { return false }},
}

// Accepts reports whether the operator takes operands of dtype d, or makes tensors of it.
func (o *Operator) Accepts(d dtype.DType) bool {
	return DTypeSets[o.DTypes].Has(d) && !(d == dtype.Complex32 && o.Tagged("wide_complex"))
}

// Promotion determines the dtype of the result from the promoted dtype of the operands.
type Promotion struct {
	Text   string
	Result func(dtype.DType) dtype.DType
	Rule   string // its name in engine/ops, "" where no kernel's row follows it
	Writes string // the letter of the output in the signature of a kernel whose row follows it (engine/kernel/abi.h)
}

// Promotions are the names that an entry's promotion may have. A test of engine/ops compares.
var Promotions = map[string]Promotion{
	"promote":       {"the promoted dtype", func(d dtype.DType) dtype.DType { return d }, "promote", "T"},
	"promote_float": {"the promoted dtype; the default dtype for integers and bool", toFloating, "promoteFloat", "T"},
	"promote_int": {Text: "the promoted dtype; int64 for bool", Result: func(d dtype.DType) dtype.DType {
		if d == dtype.Bool {
			return dtype.Int64
		}
		return d
	}},
	"bool":  {"bool", func(dtype.DType) dtype.DType { return dtype.Bool }, "compare", "b"},
	"same":  {Text: "the dtype of the first operand", Result: func(d dtype.DType) dtype.DType { return d }},
	"int32": {Text: "int32", Result: func(dtype.DType) dtype.DType { return dtype.Int32 }},
	"int64": {Text: "int64", Result: func(dtype.DType) dtype.DType { return dtype.Int64 }},
	"accumulate": {Text: "the promoted dtype; int64 for integers and bool, but uint64 for uint64", Result: func(d dtype.DType) dtype.DType {
		if d.Category() < dtype.Floating && d != dtype.Uint64 {
			return dtype.Int64
		}
		return d
	}},
	"real": {"the promoted dtype; the corresponding real dtype for complex", dtype.DType.ToReal, "realOf", "R"},
	"real_float": {
		Text:   "the promoted dtype; the corresponding real dtype for complex, the default dtype for integers and bool",
		Result: func(d dtype.DType) dtype.DType { return toFloating(d).ToReal() },
	},
	"complex": {"the complex counterpart of the promoted dtype", dtype.DType.ToComplex, "complexOf", "C"},
	"complex_float": {
		Text:   "the complex counterpart of the promoted dtype; that of the default dtype for integers and bool",
		Result: func(d dtype.DType) dtype.DType { return toFloating(d).ToComplex() },
	},
	"float64 or complex128": {Text: "float64; complex128 for complex operands", Result: func(d dtype.DType) dtype.DType {
		if d.IsComplex() {
			return dtype.Complex128
		}
		return dtype.Float64
	}},
}

// Results returns the promotions of the results: one for all, or one for each.
func (o *Operator) Results() []Promotion {
	var rules []Promotion
	for name := range strings.SplitSeq(o.Promotion, ", ") {
		if rule, ok := Promotions[name]; ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

// isWide reports whether the parts of floats and complex numbers have 32 bits or more.
func isWide(d dtype.DType) bool { return d.Category() >= dtype.Floating && d.Compute() == d }

func toFloating(d dtype.DType) dtype.DType {
	if d.Category() < dtype.Floating {
		return dtype.Default()
	}
	return d
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

// GoName returns the function in engine/ops or engine/composite.
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

// Public returns the operators that languages have.
func Public(all []*Operator) []*Operator {
	return slices.DeleteFunc(slices.Clone(all), func(o *Operator) bool { return o.Private })
}

// Has reports whether the operator exists in a variant.
func (o *Operator) Has(variant string) bool { return slices.Contains(o.Variants, variant) }

// Tagged reports whether the operator has a tag.
func (o *Operator) Tagged(tag string) bool { return slices.Contains(o.Tags, tag) }

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
