package serial

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/status"
)

// parse reads a structure's JSON.
func parse(op, structure string) (any, error) {
	if !utf8.ValidString(structure) {
		return nil, status.Valuef("%s: the structure is not UTF-8", op)
	}
	d := json.NewDecoder(strings.NewReader(structure))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, status.Valuef("%s: the structure is not JSON: %v", op, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, status.Valuef("%s: the structure has extra data after its end", op)
	}
	return root, nil
}

func (s *saver) wrong(node any) error {
	text, _ := json.Marshal(node) // the input was valid JSON
	return status.Valuef("%s: the structure contains %.80s, which is invalid", s.op, text)
}

// value returns the pickle value of a node.
func (s *saver) value(node any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, status.Valuef("%s: containers are nested more than %d levels deep", s.op, maxDepth-1)
	}
	switch n := node.(type) {
	case nil, bool, string:
		return n, nil
	case json.Number:
		return s.number(n.String())
	case []any:
		items, err := s.values(n, depth)
		return &pickle.List{Items: items}, err
	case map[string]any:
		return s.tagged(n, depth)
	}
	return nil, s.wrong(node)
}

func (s *saver) values(nodes []any, depth int) ([]any, error) {
	items := make([]any, len(nodes))
	for i, n := range nodes {
		var err error
		if items[i], err = s.value(n, depth+1); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (s *saver) number(text string) (any, error) {
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, status.Valuef("%s: the number %.80s is out of range for float64", s.op, text)
		}
		return f, nil
	}
	i, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, s.wrong(text)
	}
	if i.IsInt64() {
		return i.Int64(), nil
	}
	return i, nil
}

// tagged returns the value of an object, which one of its keys names the kind of.
func (s *saver) tagged(n map[string]any, depth int) (any, error) {
	for tag, read := range readers {
		content, ok := n[tag]
		if !ok {
			continue
		}
		for key := range n {
			if key != tag && !slices.Contains(companions[tag], key) {
				return nil, s.wrong(n)
			}
		}
		v, err := read(s, content, depth)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return nil, s.wrong(n)
		}
		if state, ok := n["state"]; ok {
			if v, err = s.stateful(v.(*pickle.Call), content, state, depth); err != nil {
				return nil, err
			}
		}
		if wanted, ok := n["parameter"]; ok {
			return s.parameter(v.(*pickle.Call), content, wanted)
		}
		return v, nil
	}
	if number, ok := n["def"]; ok && len(n) == 2 {
		v, err := s.value(n["value"], depth)
		i, isNumber := integer(number)
		if err != nil || !isNumber {
			return v, err
		}
		s.defined[i] = v
		return v, nil
	}
	return nil, s.wrong(n)
}

// stateful adds attributes to the object that a call creates.
func (s *saver) stateful(c *pickle.Call, content, state any, depth int) (any, error) {
	value, err := s.value(state, depth+1)
	if err != nil {
		return nil, err
	}
	if c.Func == orderedDict {
		c.State = value
		return c, nil
	}
	if !slices.Contains(tensorMakers, c.Func) || value == nil || !isState(value) {
		return nil, status.Valuef("%s: the state of tensor %v must be one dict with string keys", s.op, content)
	}
	i, _ := integer(content)
	s.made[int(i)] = call(rebuildFromType, c.Func, tensorClass, c.Args, value)
	return s.made[int(i)], nil
}

// parameter makes the result of a call a parameter.
func (s *saver) parameter(c *pickle.Call, content, wanted any) (any, error) {
	requires, ok := wanted.(bool)
	if !ok || !slices.Contains(tensorMakers, c.Func) && c.Func != rebuildFromType {
		return nil, status.Valuef("%s: the parameter of tensor %v must be true or false, once", s.op, content)
	}
	i, _ := integer(content)
	if c.Func == rebuildFromType {
		inner := call(c.Args.Items[0].(pickle.Global), c.Args.Items[2].(*pickle.Tuple).Items...)
		s.made[int(i)] = call(rebuildStateful, inner, requires, call(orderedDict), c.Args.Items[3])
	} else {
		s.made[int(i)] = call(rebuildParameter, c, requires, call(orderedDict))
	}
	return s.made[int(i)], nil
}

// companions are the keys that may accompany a tag.
var companions = map[string][]string{"ordered_dict": {"state"}, "tensor": {"location", "state", "parameter"}, "storage": {"location"}, "typed_storage": {"location"}}

// readers turn the content of tagged nodes into values, nil for content that does not fit.
var readers map[string]func(s *saver, content any, depth int) (any, error)

func init() {
	readers = map[string]func(s *saver, content any, depth int) (any, error){
		"tensor": func(s *saver, content any, _ int) (any, error) {
			if i, ok := integer(content); ok {
				return s.tensor(i)
			}
			return nil, nil
		},
		"storage":       func(s *saver, content any, _ int) (any, error) { return s.storage(content, false) },
		"typed_storage": func(s *saver, content any, _ int) (any, error) { return s.storage(content, true) },
		"tuple": func(s *saver, content any, depth int) (any, error) {
			return s.items(content, depth, func(items []any) any { return tuple(items...) })
		},
		"set": func(s *saver, content any, depth int) (any, error) {
			return s.items(content, depth, func(items []any) any { return call(builtinSet, &pickle.List{Items: items}) })
		},
		"size": func(s *saver, content any, depth int) (any, error) {
			return s.items(content, depth, func(items []any) any { return call(torchSize, tuple(items...)) })
		},
		"complex": func(s *saver, content any, depth int) (any, error) {
			return s.items(content, depth, func(items []any) any { return call(builtinComplex, items...) })
		},
		"dict": func(s *saver, content any, depth int) (any, error) {
			entries, err := s.entries(content, depth)
			return &pickle.Dict{Entries: entries}, err
		},
		"counter": func(s *saver, content any, depth int) (any, error) {
			entries, err := s.entries(content, depth)
			return call(counter, &pickle.Dict{Entries: entries}), err
		},
		"ordered_dict": func(s *saver, content any, depth int) (any, error) {
			entries, err := s.entries(content, depth)
			dict := call(orderedDict)
			dict.Entries = entries
			return dict, err
		},
		"int": func(s *saver, content any, _ int) (any, error) {
			text, _ := content.(string)
			return s.number(text)
		},
		"float": func(s *saver, content any, _ int) (any, error) {
			text, _ := content.(string)
			if f, err := strconv.ParseFloat(text, 64); err == nil {
				return f, nil
			}
			return nil, nil
		},
		"text": func(_ *saver, content any, _ int) (any, error) {
			text, ok := content.(string)
			data, err := base64.StdEncoding.DecodeString(text)
			if !ok || err != nil || !pickle.ValidText(data) {
				return nil, nil
			}
			return string(data), nil
		},
		"bytes": func(_ *saver, content any, _ int) (any, error) { return readBytes(content) },
		"bytearray": func(_ *saver, content any, _ int) (any, error) {
			v, err := readBytes(content)
			if v == nil || err != nil {
				return nil, err
			}
			return call(builtinBytearray, v), nil
		},
		"dtype": func(_ *saver, content any, _ int) (any, error) {
			text, _ := content.(string)
			if d, ok := parseDType(text); ok {
				return dtypeName(d), nil
			}
			return nil, nil
		},
		"layout": func(_ *saver, content any, _ int) (any, error) {
			if text, _ := content.(string); slices.Contains(layouts, text) {
				return call(getLayout, "torch."+text), nil
			}
			return nil, nil
		},
		"device": func(_ *saver, content any, _ int) (any, error) {
			text, _ := content.(string)
			d, err := device.Parse(text)
			if err != nil {
				return nil, err
			}
			if d.Index < 0 {
				return call(torchDevice, d.Type.String()), nil
			}
			return call(torchDevice, d.Type.String(), int64(d.Index)), nil
		},
		"ref": func(s *saver, content any, _ int) (any, error) {
			i, _ := integer(content)
			return s.defined[i], nil
		},
	}
}

// integer returns the value of a JSON integer.
func integer(node any) (int64, bool) {
	n, ok := node.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

func (s *saver) items(content any, depth int, of func([]any) any) (any, error) {
	nodes, ok := content.([]any)
	if !ok {
		return nil, nil
	}
	items, err := s.values(nodes, depth)
	if err != nil {
		return nil, err
	}
	return of(items), nil
}

func (s *saver) entries(content any, depth int) ([]pickle.Entry, error) {
	nodes, ok := content.([]any)
	if !ok {
		return nil, s.wrong(content)
	}
	entries := make([]pickle.Entry, len(nodes))
	for i, n := range nodes {
		pair, _ := n.([]any)
		if len(pair) != 2 {
			return nil, s.wrong(n)
		}
		values, err := s.values(pair, depth)
		if err != nil {
			return nil, err
		}
		entries[i] = pickle.Entry{Key: values[0], Value: values[1]}
	}
	return entries, nil
}

// storage returns the value of a storage that is saved itself.
func (s *saver) storage(content any, typed bool) (any, error) {
	i, ok := integer(content)
	if !ok {
		return nil, nil
	}
	t, err := s.at(i)
	if err != nil {
		return nil, err
	}
	if t.IsMeta() {
		return nil, status.NotImplementedf("%s: storage %d is on the meta device, where it has no bytes to save", s.op, i)
	}
	k := s.kept[t.Storage()]
	if typed && k.dtype != t.DType() {
		return nil, status.Runtimef("%s: the storage of tensor %d is saved with dtype %v and viewed as another dtype; save it as an untyped storage", s.op, i, t.DType())
	}
	return k.persistent(), nil
}

// readBytes is Python's way to pickle bytes with protocol 2: text of one character a byte.
func readBytes(content any) (any, error) {
	text, ok := content.(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil, nil
	}
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return call(codecsEncode, string(runes), "latin1"), nil
}
