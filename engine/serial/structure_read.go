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

// parseStructure parses a structure's JSON.
func parseStructure(op, structure string) (any, error) {
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

func (s *saver) newNodeError(node any) error {
	text, _ := json.Marshal(node) // the input was valid JSON
	return status.Valuef("%s: the structure contains %.80s, which is invalid", s.op, text)
}

// readValue returns the pickle value of a node.
func (s *saver) readValue(node any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, status.Valuef("%s: containers are nested more than %d levels deep", s.op, maxDepth-1)
	}
	switch n := node.(type) {
	case nil, bool, string:
		return n, nil
	case json.Number:
		return s.parseNumber(n.String())
	case []any:
		items, err := s.readValues(n, depth)
		return &pickle.List{Items: items}, err
	case map[string]any:
		return s.readTagged(n, depth)
	}
	return nil, s.newNodeError(node)
}

func (s *saver) readValues(nodes []any, depth int) ([]any, error) {
	items := make([]any, len(nodes))
	for i, n := range nodes {
		var err error
		if items[i], err = s.readValue(n, depth+1); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (s *saver) parseNumber(text string) (any, error) {
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, status.Valuef("%s: the number %.80s is out of range for float64", s.op, text)
		}
		return f, nil
	}
	i, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, s.newNodeError(text)
	}
	if i.IsInt64() {
		return i.Int64(), nil
	}
	return i, nil
}

// readTagged returns the value of a tagged object, whose kind one of its keys names.
func (s *saver) readTagged(n map[string]any, depth int) (any, error) {
	for tag, read := range tagReaders {
		content, ok := n[tag]
		if !ok {
			continue
		}
		for key := range n {
			if key != tag && !slices.Contains(allowedKeys[tag], key) {
				return nil, s.newNodeError(n)
			}
		}
		v, err := read(s, content, depth)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return nil, s.newNodeError(n)
		}
		if state, ok := n["state"]; ok {
			if v, err = s.addState(v.(*pickle.Call), content, state, depth); err != nil {
				return nil, err
			}
		}
		if wanted, ok := n["parameter"]; ok {
			return s.makeParameter(v.(*pickle.Call), content, wanted)
		}
		return v, nil
	}
	if number, ok := n["def"]; ok && len(n) == 2 {
		v, err := s.readValue(n["value"], depth)
		i, isNumber := parseInt(number)
		if err != nil || !isNumber {
			return v, err
		}
		s.defined[i] = v
		return v, nil
	}
	return nil, s.newNodeError(n)
}

// addState adds attributes to the object that a call creates.
func (s *saver) addState(c *pickle.Call, content, state any, depth int) (any, error) {
	value, err := s.readValue(state, depth+1)
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
	i, _ := parseInt(content)
	s.tensorValues[int(i)] = newCall(rebuildFromType, c.Func, tensorClass, c.Args, value)
	return s.tensorValues[int(i)], nil
}

// makeParameter returns the call that makes a tensor a parameter.
func (s *saver) makeParameter(c *pickle.Call, content, wanted any) (any, error) {
	requires, ok := wanted.(bool)
	if !ok || !slices.Contains(tensorMakers, c.Func) && c.Func != rebuildFromType {
		return nil, status.Valuef("%s: the parameter of tensor %v must be true or false, once", s.op, content)
	}
	i, _ := parseInt(content)
	if c.Func == rebuildFromType {
		inner := newCall(c.Args.Items[0].(pickle.Global), c.Args.Items[2].(*pickle.Tuple).Items...)
		s.tensorValues[int(i)] = newCall(rebuildStateful, inner, requires, newCall(orderedDict), c.Args.Items[3])
	} else {
		s.tensorValues[int(i)] = newCall(rebuildParameter, c, requires, newCall(orderedDict))
	}
	return s.tensorValues[int(i)], nil
}

// allowedKeys are the keys that may accompany a tag.
var allowedKeys = map[string][]string{"ordered_dict": {"state"}, "tensor": {"location", "state", "parameter"}, "storage": {"location"},
	"typed_storage": {"location"}}

// tagReaders convert the content of tagged nodes to values, or to nil for content that does not fit.
var tagReaders map[string]func(s *saver, content any, depth int) (any, error)

func init() {
	tagReaders = map[string]func(s *saver, content any, depth int) (any, error){
		"tensor": func(s *saver, content any, _ int) (any, error) {
			if i, ok := parseInt(content); ok {
				return s.encodeTensor(i)
			}
			return nil, nil
		},
		"storage":       func(s *saver, content any, _ int) (any, error) { return s.readStorage(content, false) },
		"typed_storage": func(s *saver, content any, _ int) (any, error) { return s.readStorage(content, true) },
		"tuple": func(s *saver, content any, depth int) (any, error) {
			return s.readItems(content, depth, func(items []any) any { return newTuple(items...) })
		},
		"set": func(s *saver, content any, depth int) (any, error) {
			return s.readItems(content, depth, func(items []any) any { return newCall(builtinSet, &pickle.List{Items: items}) })
		},
		"size": func(s *saver, content any, depth int) (any, error) {
			return s.readItems(content, depth, func(items []any) any { return newCall(torchSize, newTuple(items...)) })
		},
		"complex": func(s *saver, content any, depth int) (any, error) {
			return s.readItems(content, depth, func(items []any) any { return newCall(builtinComplex, items...) })
		},
		"dict": func(s *saver, content any, depth int) (any, error) {
			entries, err := s.readEntries(content, depth)
			return &pickle.Dict{Entries: entries}, err
		},
		"counter": func(s *saver, content any, depth int) (any, error) {
			entries, err := s.readEntries(content, depth)
			return newCall(counter, &pickle.Dict{Entries: entries}), err
		},
		"ordered_dict": func(s *saver, content any, depth int) (any, error) {
			entries, err := s.readEntries(content, depth)
			dict := newCall(orderedDict)
			dict.Entries = entries
			return dict, err
		},
		"int": func(s *saver, content any, _ int) (any, error) {
			text, _ := content.(string)
			return s.parseNumber(text)
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
		"bytes": func(_ *saver, content any, _ int) (any, error) { return encodeBytes(content) },
		"bytearray": func(_ *saver, content any, _ int) (any, error) {
			v, err := encodeBytes(content)
			if v == nil || err != nil {
				return nil, err
			}
			return newCall(builtinBytearray, v), nil
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
				return newCall(getLayout, "torch."+text), nil
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
				return newCall(torchDevice, d.Type.String()), nil
			}
			return newCall(torchDevice, d.Type.String(), int64(d.Index)), nil
		},
		"ref": func(s *saver, content any, _ int) (any, error) {
			i, _ := parseInt(content)
			return s.defined[i], nil
		},
	}
}

// parseInt returns the value of a JSON integer.
func parseInt(node any) (int64, bool) {
	n, ok := node.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

func (s *saver) readItems(content any, depth int, of func([]any) any) (any, error) {
	nodes, ok := content.([]any)
	if !ok {
		return nil, nil
	}
	items, err := s.readValues(nodes, depth)
	if err != nil {
		return nil, err
	}
	return of(items), nil
}

func (s *saver) readEntries(content any, depth int) ([]pickle.Entry, error) {
	nodes, ok := content.([]any)
	if !ok {
		return nil, s.newNodeError(content)
	}
	entries := make([]pickle.Entry, len(nodes))
	for i, n := range nodes {
		pair, _ := n.([]any)
		if len(pair) != 2 {
			return nil, s.newNodeError(n)
		}
		values, err := s.readValues(pair, depth)
		if err != nil {
			return nil, err
		}
		entries[i] = pickle.Entry{Key: values[0], Value: values[1]}
	}
	return entries, nil
}

// readStorage returns the value of a storage that is saved explicitly.
func (s *saver) readStorage(content any, typed bool) (any, error) {
	i, ok := parseInt(content)
	if !ok {
		return nil, nil
	}
	t, err := s.getTensor(i)
	if err != nil {
		return nil, err
	}
	if t.IsMeta() {
		return nil, status.NotImplementedf("%s: storage %d is on the meta device, where it has no bytes to save", s.op, i)
	}
	k := s.storages[t.Storage()]
	if typed && k.dtype != t.DType() {
		return nil, status.Runtimef("%s: the storage of tensor %d is saved with dtype %v and viewed as another dtype; save it as an untyped storage",
			s.op, i, t.DType())
	}
	return k.toPersistent(), nil
}

// encodeBytes returns the call that represents bytes in protocol 2: text of one character a byte.
func encodeBytes(content any) (any, error) {
	text, ok := content.(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil, nil
	}
	runes := make([]rune, len(data))
	for i, b := range data {
		runes[i] = rune(b)
	}
	return newCall(codecsEncode, string(runes), "latin1"), nil
}
