package program

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
}

const (
	argCost  = 120 // of an arg in a list, with the list's growth
	nodeCost = 240
	metaCost = 200
)

// readArg reads a union of one member, such as {"as_int": 1}.
func (r *reader) readArg() (a arg) {
	members := 0
	r.object(func(key string) {
		members++
		a = r.readMember(key)
	})
	if r.err == nil && members != 1 {
		r.fail("an argument has %d types", members)
	}
	return a
}

func (r *reader) readMember(key string) (a arg) {
	switch key {
	case "as_none":
		r.skip()
	case "as_tensor", "as_custom_obj", "as_token":
		a = arg{kind: argValue, text: r.readName()}
		if key == "as_custom_obj" {
			a = arg{kind: argOther, text: "a custom object"}
		}
	case "as_optional_tensor":
		return r.readArg()
	case "as_name":
		return arg{kind: argValue, text: r.str()}
	case "as_int":
		return arg{kind: argInt, i: r.integer()}
	case "as_float":
		return arg{kind: argFloat, i: bits(r.float())}
	case "as_bool":
		return arg{kind: argBool, i: number(r.boolean())}
	case "as_string":
		return arg{kind: argString, text: r.str()}
	case "as_scalar_type":
		return arg{kind: argDType, i: r.integer()}
	case "as_memory_format":
		return arg{kind: argFormat, i: r.integer()}
	case "as_layout":
		return arg{kind: argLayout, i: r.integer()}
	case "as_device":
		return r.readDevice()
	case "as_complex":
		a.kind = argComplex
		r.object(func(part string) {
			switch part {
			case "real":
				a.i = bits(r.float())
			case "imag":
				a.im = bits(r.float())
			default:
				r.skip()
			}
		})
	case "as_sym_int", "as_sym_float", "as_sym_bool":
		return r.readArg()
	case "as_tensors":
		a.kind = argTensors
		a.items = r.readItems(func() arg { return arg{kind: argValue, text: r.readName()} })
	case "as_optional_tensors":
		a.kind = argTensors
		a.items = r.readItems(r.readArg)
	case "as_ints":
		a.kind = argInts
		a.ints = r.readInts(r.integer)
	case "as_floats":
		a.kind = argFloats
		a.ints = r.readInts(func() int64 { return bits(r.float()) })
	case "as_bools":
		a.kind = argBools
		a.ints = r.readInts(func() int64 { return number(r.boolean()) })
	case "as_strings":
		a.kind = argStrings
		a.items = r.readItems(func() arg { return arg{kind: argString, text: r.str()} })
	case "as_sym_ints":
		a.kind = argSymInts
		a.items = r.readItems(r.readArg)
	case "as_sym_floats":
		a.kind = argSymFloats
		a.items = r.readItems(r.readArg)
	case "as_sym_bools":
		a.kind = argSymBools
		a.items = r.readItems(r.readArg)
	case "as_graph":
		a.kind = argGraph
		r.object(func(key string) {
			if key == "graph" {
				a.graph = r.readGraph()
			} else {
				r.skip()
			}
		})
		if r.err == nil && a.graph == nil {
			r.fail("a graph is missing")
		}
	default:
		r.skip()
		a = arg{kind: argOther, text: clip(key)}
	}
	return a
}

func (r *reader) readItems(item func() arg) (items []arg) {
	r.array(func() {
		r.charge(argCost)
		items = append(items, item())
	})
	return items
}

func (r *reader) readInts(item func() int64) (ints []int64) {
	r.array(func() {
		r.charge(16)
		ints = append(ints, item())
	})
	return ints
}

// readName reads {"name": ...}.
func (r *reader) readName() (name string) {
	r.object(func(key string) {
		if key == "name" {
			name = r.str()
		} else {
			r.skip()
		}
	})
	if r.err == nil && name == "" {
		r.fail("a value has no name")
	}
	return name
}

func (r *reader) readDevice() arg {
	a := arg{kind: argDevice, im: -1}
	r.object(func(key string) {
		switch {
		case key == "type":
			a.text = r.str()
		case key == "index" && !r.null():
			a.im = r.integer()
		case key != "index":
			r.skip()
		}
	})
	return a
}

func (r *reader) readGraph() *graph {
	g := &graph{metas: map[string]*meta{}}
	r.charge(nodeCost)
	r.object(func(key string) {
		switch key {
		case "inputs":
			g.inputs = r.readItems(r.readArg)
		case "outputs":
			g.outputs = r.readItems(r.readArg)
		case "nodes":
			r.array(func() {
				r.charge(nodeCost)
				g.nodes = append(g.nodes, r.readNode())
			})
		case "tensor_values":
			r.object(func(name string) {
				r.charge(metaCost + int64(len(name)))
				g.metas[name] = r.readMeta()
			})
		default:
			r.skip()
		}
	})
	return g
}

func (r *reader) readNode() (n node) {
	r.object(func(key string) {
		switch {
		case key == "target":
			n.target = r.str()
		case key == "name" && !r.null():
			n.name = r.str()
		case key == "inputs":
			r.array(func() {
				r.charge(argCost)
				n.args = append(n.args, r.readNamedArg())
			})
		case key == "outputs":
			n.results = r.readItems(r.readArg)
		case key != "name":
			r.skip()
		}
	})
	if r.err == nil && n.target == "" {
		r.fail("a node has no target")
	}
	return n
}

func (r *reader) readNamedArg() (a namedArg) {
	found := false
	r.object(func(key string) {
		switch {
		case key == "name":
			a.name = r.str()
		case key == "arg":
			a.arg, found = r.readArg(), true
		case key == "kind" && !r.null():
			a.keyword = r.integer() == 2
		case key != "kind":
			r.skip()
		}
	})
	if r.err == nil && !found {
		r.fail("an argument has no value")
	}
	return a
}

func (r *reader) readMeta() *meta {
	m := &meta{}
	r.object(func(key string) {
		switch key {
		case "dtype":
			m.dtype = r.integer()
		case "sizes":
			m.sizes = r.readSizes()
		case "strides":
			m.strides = r.readSizes()
		case "storage_offset":
			m.offset = r.readSize()
		case "layout":
			m.layout = r.integer()
		case "device":
			m.device = r.readDevice().text
		default:
			r.skip()
		}
	})
	return m
}

func (r *reader) readSizes() []size {
	sizes := []size{}
	r.array(func() {
		r.charge(32)
		sizes = append(sizes, r.readSize())
	})
	return sizes
}

func (r *reader) readSize() (s size) {
	r.object(func(key string) {
		switch key {
		case "as_int":
			s.n = r.integer()
		case "as_expr":
			r.object(func(key string) {
				if key == "expr_str" {
					s.expr = r.str()
				} else {
					r.skip()
				}
			})
		default:
			r.skip()
		}
	})
	return s
}

// readSpecs reads the specs of inputs or outputs.
func (r *reader) readSpecs() (specs []spec) {
	r.array(func() {
		r.charge(argCost + 64)
		s := spec{}
		r.object(func(kind string) {
			s.kind = kind
			r.object(func(key string) {
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
					s.target = r.str()
				default:
					r.skip()
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
	r.object(func(key string) {
		switch key {
		case "graph_module":
			r.object(func(key string) {
				switch key {
				case "graph":
					m.graph = r.readGraph()
				case "signature":
					r.object(func(key string) {
						switch key {
						case "input_specs":
							m.inputs = r.readSpecs()
						case "output_specs":
							m.outputs = r.readSpecs()
						default:
							r.skip()
						}
					})
				case "module_call_graph":
					r.array(func() { r.readCall(m) })
				default:
					r.skip()
				}
			})
		case "range_constraints":
			r.object(func(name string) {
				r.charge(metaCost)
				m.ranges[name] = r.readBounds()
			})
		case "schema_version":
			r.object(func(key string) {
				switch key {
				case "major":
					m.major = r.integer()
				case "minor":
					m.minor = r.integer()
				default:
					r.skip()
				}
			})
		case "torch_version":
			m.producer = r.str()
		default:
			r.skip()
		}
	})
	return m
}

func (r *reader) readBounds() bounds {
	b := bounds{minInt, maxInt}
	r.object(func(key string) {
		switch {
		case key == "min_val" && !r.null():
			b.low = r.integer()
		case key == "max_val" && !r.null():
			b.high = r.integer()
		case key != "min_val" && key != "max_val":
			r.skip()
		}
	})
	return b
}

// readCall reads how the whole module, which has no name, is called.
func (r *reader) readCall(m *model) {
	var name, in, out string
	var names []string
	r.object(func(key string) {
		switch {
		case key == "fqn":
			name = r.str()
		case key == "signature" && !r.null():
			r.object(func(key string) {
				switch {
				case key == "in_spec":
					in = r.str()
				case key == "out_spec":
					out = r.str()
				case key == "forward_arg_names" && !r.null():
					r.array(func() { names = append(names, r.str()) })
				case key != "forward_arg_names":
					r.skip()
				}
			})
		case key != "signature":
			r.skip()
		}
	})
	if name == "" && in != "" {
		m.inSpec, m.outSpec, m.names = in, out, names
	}
}
