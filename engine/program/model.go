package program

import "github.com/libtensor/libtensor/engine/dtype"

// The kinds of arguments. Each has a field of arg.
const (
	argNone = iota
	argValue
	argInt
	argFloat
	argBool
	argComplex
	argString
	argDType
	argLayout
	argFormat
	argDevice
	argTensors  // items: values, or none
	argInts     // ints
	argSymInts  // items: values and ints
	argFloats   // ints, as the bits of floats
	argBools    // ints
	argStrings  // items: strings
	argSymBools // items: values and bools
	argSymFloats
	argGraph
	argOther // of a type that no operator of libtensor takes; text is its name
)

// arg is an argument of a node, or a result of one.
type arg struct {
	kind  int
	i     int64 // also the bits of a float
	im    int64 // the bits of an imaginary part, and the index of a device
	text  string
	ints  []int64
	items []arg
	graph *graph
}

type node struct {
	target  string
	name    string
	args    []namedArg
	results []arg
}

type namedArg struct {
	name    string
	keyword bool
	arg
}

// graph is a graph of nodes; those of control flow have graphs as arguments.
type graph struct {
	inputs, outputs []arg
	nodes           []node
	metas           map[string]*meta // of the tensors that are asked for
}

// meta describes a tensor.
type meta struct {
	dtype   int64
	sizes   []size
	strides []size
	offset  size
	layout  int64
	device  string
	grad    bool // requires grad
}

// size is a number, or an expression.
type size struct {
	n    int64
	expr string
}

// The kinds of specs, as the names of JSON have them.
type spec struct {
	kind   string
	arg    arg
	target string // of a parameter or a buffer: its name
}

// bounds are the values that a symbol can have.
type bounds struct{ low, high int64 }

// model is the content of models/NAME.json.
type model struct {
	graph           *graph
	inputs, outputs []spec
	ranges          map[string]bounds
	major, minor    int64
	producer        string
	inSpec, outSpec string
	names           []string
	guards          []string
	guarded         bool // the file has guards, of which there may be none
}

const (
	argCost  = 120 // of an arg in a list, with the list's growth
	nodeCost = 240
	metaCost = 200
)

// readArg reads a union of one member, such as {"as_int": 1}.
func (r *reader) readArg() (a arg) {
	members := 0
	r.readObject(func(key string) {
		members++
		a = r.readMember(key)
	})
	if r.err == nil && members != 1 {
		r.setError("an argument has %d types", members)
	}
	return a
}

// readMember reads the member of a union that determines the type of an argument.
func (r *reader) readMember(key string) (a arg) {
	switch key {
	case "as_none":
		r.skipValue()
	case "as_tensor", "as_custom_obj", "as_token":
		a = arg{kind: argValue, text: r.readName()}
		if key == "as_custom_obj" {
			a = arg{kind: argOther, text: "a custom object"}
		}
	case "as_optional_tensor":
		return r.readArg()
	case "as_name":
		return arg{kind: argValue, text: r.readString()}
	case "as_int":
		return arg{kind: argInt, i: r.readInt()}
	case "as_float":
		return arg{kind: argFloat, i: floatBits(r.readFloat())}
	case "as_bool":
		return arg{kind: argBool, i: dtype.FromBool[int64](r.readBool())}
	case "as_string", "as_operator":
		return arg{kind: argString, text: r.readString()}
	case "as_scalar_type":
		return arg{kind: argDType, i: r.readInt()}
	case "as_memory_format":
		return arg{kind: argFormat, i: r.readInt()}
	case "as_layout":
		return arg{kind: argLayout, i: r.readInt()}
	case "as_device":
		return r.readDevice()
	case "as_complex":
		return r.readComplex()
	case "as_sym_int", "as_sym_float", "as_sym_bool":
		return r.readArg()
	case "as_graph":
		return r.readGraphArg()
	default:
		return r.readListMember(key)
	}
	return a
}

// readListMember reads a member whose value is a list, and skips members of unknown types.
func (r *reader) readListMember(key string) (a arg) {
	switch key {
	case "as_tensors":
		a.kind = argTensors
		a.items = r.readItems(func() arg { return arg{kind: argValue, text: r.readName()} })
	case "as_optional_tensors":
		a.kind = argTensors
		a.items = r.readItems(r.readArg)
	case "as_ints":
		a.kind = argInts
		a.ints = r.readInts(r.readInt)
	case "as_floats":
		a.kind = argFloats
		a.ints = r.readInts(func() int64 { return floatBits(r.readFloat()) })
	case "as_bools":
		a.kind = argBools
		a.ints = r.readInts(func() int64 { return dtype.FromBool[int64](r.readBool()) })
	case "as_strings":
		a.kind = argStrings
		a.items = r.readItems(func() arg { return arg{kind: argString, text: r.readString()} })
	case "as_sym_ints":
		a.kind = argSymInts
		a.items = r.readItems(r.readArg)
	case "as_sym_floats":
		a.kind = argSymFloats
		a.items = r.readItems(r.readArg)
	case "as_sym_bools":
		a.kind = argSymBools
		a.items = r.readItems(r.readArg)
	default:
		r.skipValue()
		a = arg{kind: argOther, text: clipName(key)}
	}
	return a
}

func (r *reader) readComplex() arg {
	a := arg{kind: argComplex}
	r.readObject(func(part string) {
		switch part {
		case "real":
			a.i = floatBits(r.readFloat())
		case "imag":
			a.im = floatBits(r.readFloat())
		default:
			r.skipValue()
		}
	})
	return a
}

func (r *reader) readGraphArg() arg {
	a := arg{kind: argGraph}
	r.readObject(func(key string) {
		switch key {
		case "graph":
			a.graph = r.readGraph()
		case "name":
			a.text = r.readString()
		default:
			r.skipValue()
		}
	})
	if r.err == nil && a.graph == nil {
		r.setError("a graph is missing")
	}
	return a
}

func (r *reader) readItems(item func() arg) (items []arg) {
	r.readArray(func() {
		r.spendBudget(argCost)
		items = append(items, item())
	})
	return items
}

func (r *reader) readInts(item func() int64) (ints []int64) {
	r.readArray(func() {
		r.spendBudget(16)
		ints = append(ints, item())
	})
	return ints
}

// readName reads {"name": ...}.
func (r *reader) readName() (name string) {
	r.readObject(func(key string) {
		if key == "name" {
			name = r.readString()
		} else {
			r.skipValue()
		}
	})
	if r.err == nil && name == "" {
		r.setError("a value has no name")
	}
	return name
}

func (r *reader) readDevice() arg {
	a := arg{kind: argDevice, im: -1}
	r.readObject(func(key string) {
		switch {
		case key == "type":
			a.text = r.readString()
		case key == "index" && !r.takeNull():
			a.im = r.readInt()
		case key != "index":
			r.skipValue()
		}
	})
	return a
}

func (r *reader) readGraph() *graph {
	g := &graph{metas: map[string]*meta{}}
	r.spendBudget(nodeCost)
	r.readObject(func(key string) {
		switch key {
		case "inputs":
			g.inputs = r.readItems(r.readArg)
		case "outputs":
			g.outputs = r.readItems(r.readArg)
		case "nodes":
			r.readArray(func() {
				r.spendBudget(nodeCost)
				g.nodes = append(g.nodes, r.readNode())
			})
		case "tensor_values":
			r.readObject(func(name string) {
				r.spendBudget(metaCost + int64(len(name)))
				g.metas[name] = r.readMeta()
			})
		default:
			r.skipValue()
		}
	})
	return g
}

func (r *reader) readNode() (n node) {
	r.readObject(func(key string) {
		switch {
		case key == "target":
			n.target = r.readString()
		case key == "name" && !r.takeNull():
			n.name = r.readString()
		case key == "inputs":
			r.readArray(func() {
				r.spendBudget(argCost)
				n.args = append(n.args, r.readNamedArg())
			})
		case key == "outputs":
			n.results = r.readItems(r.readArg)
		case key != "name":
			r.skipValue()
		}
	})
	if r.err == nil && n.target == "" {
		r.setError("a node has no target")
	}
	return n
}

func (r *reader) readNamedArg() (a namedArg) {
	found := false
	r.readObject(func(key string) {
		switch {
		case key == "name":
			a.name = r.readString()
		case key == "arg":
			a.arg, found = r.readArg(), true
		case key == "kind" && !r.takeNull():
			a.keyword = r.readInt() == 2
		case key != "kind":
			r.skipValue()
		}
	})
	if r.err == nil && !found {
		r.setError("an argument has no value")
	}
	return a
}

func (r *reader) readMeta() *meta {
	m := &meta{}
	r.readObject(func(key string) {
		switch key {
		case "dtype":
			m.dtype = r.readInt()
		case "sizes":
			m.sizes = r.readSizes()
		case "strides":
			m.strides = r.readSizes()
		case "storage_offset":
			m.offset = r.readSize()
		case "layout":
			m.layout = r.readInt()
		case "device":
			m.device = r.readDevice().text
		case "requires_grad":
			m.grad = r.readBool()
		default:
			r.skipValue()
		}
	})
	return m
}

func (r *reader) readSizes() []size {
	sizes := []size{}
	r.readArray(func() {
		r.spendBudget(32)
		sizes = append(sizes, r.readSize())
	})
	return sizes
}

func (r *reader) readSize() (s size) {
	r.readObject(func(key string) {
		switch key {
		case "as_int":
			s.n = r.readInt()
		case "as_expr":
			r.readObject(func(key string) {
				if key == "expr_str" {
					s.expr = r.readString()
				} else {
					r.skipValue()
				}
			})
		default:
			r.skipValue()
		}
	})
	return s
}

// readSpecs reads the specs of inputs or outputs.
func (r *reader) readSpecs() (specs []spec) {
	r.readArray(func() {
		r.spendBudget(argCost + 64)
		s := spec{}
		r.readObject(func(kind string) {
			s.kind = kind
			r.readObject(func(key string) {
				switch key {
				case "arg":
					if kind == "user_input" || kind == "user_output" {
						s.arg = r.readArg()
					} else {
						s.arg = arg{kind: argValue, text: r.readName()}
					}
				case "value":
					s.arg = r.readArg()
				case "name", "parameter_name", "buffer_name", "tensor_constant_name", "user_input_name":
					s.target = r.readString()
				default:
					r.skipValue()
				}
			})
		})
		specs = append(specs, s)
	})
	return specs
}

// readModel reads a whole text.
func (r *reader) readModel() *model {
	m := &model{ranges: map[string]bounds{}}
	r.readObject(func(key string) {
		switch key {
		case "graph_module":
			r.readObject(func(key string) {
				switch key {
				case "graph":
					m.graph = r.readGraph()
				case "signature":
					r.readObject(func(key string) {
						switch key {
						case "input_specs":
							m.inputs = r.readSpecs()
						case "output_specs":
							m.outputs = r.readSpecs()
						default:
							r.skipValue()
						}
					})
				case "module_call_graph":
					r.readArray(func() { r.readCall(m) })
				default:
					r.skipValue()
				}
			})
		case "range_constraints":
			r.readObject(func(name string) {
				r.spendBudget(metaCost)
				m.ranges[name] = r.readBounds()
			})
		case "schema_version":
			r.readObject(func(key string) {
				switch key {
				case "major":
					m.major = r.readInt()
				case "minor":
					m.minor = r.readInt()
				default:
					r.skipValue()
				}
			})
		case "torch_version":
			m.producer = r.readString()
		case "guards_code":
			m.guarded = true
			r.readArray(func() {
				guard := r.readString()
				r.spendBudget(guardCost(guard))
				m.guards = append(m.guards, guard)
			})
		default:
			r.skipValue()
		}
	})
	return m
}

func (r *reader) readBounds() bounds {
	b := bounds{minInt, maxInt}
	r.readObject(func(key string) {
		switch {
		case key == "min_val" && !r.takeNull():
			b.low = r.readInt()
		case key == "max_val" && !r.takeNull():
			b.high = r.readInt()
		case key != "min_val" && key != "max_val":
			r.skipValue()
		}
	})
	return b
}

// readCall reads how the whole module, which has no name, is called.
func (r *reader) readCall(m *model) {
	var name, in, out string
	var names []string
	r.readObject(func(key string) {
		switch {
		case key == "fqn":
			name = r.readString()
		case key == "signature" && !r.takeNull():
			r.readObject(func(key string) {
				switch {
				case key == "in_spec":
					in = r.readString()
				case key == "out_spec":
					out = r.readString()
				case key == "forward_arg_names" && !r.takeNull():
					r.readArray(func() { names = append(names, r.readString()) })
				case key != "forward_arg_names":
					r.skipValue()
				}
			})
		case key != "signature":
			r.skipValue()
		}
	})
	if name == "" && in != "" {
		m.inSpec, m.outSpec, m.names = in, out, names
	}
}
