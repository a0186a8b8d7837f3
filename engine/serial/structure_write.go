package serial

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/status"
)

// text builds the JSON of a structure. A value that occurs more than once is written once, so that the text is no longer
// than the pickle justifies.
type text struct {
	strings.Builder
	paid    int
	shared  map[any]bool
	numbers map[any]int
	open    map[any]bool
}

const (
	// valueCost is the memory for one value of the structure in the calling language.
	valueCost = 64
	// textCost is how many times the structure's text is in memory while a language reads it: here, half as long again because it
	// grows, then for C, and for the language, which may take four bytes for a character.
	textCost = 8
	// tensorCost is the memory of a tensor without its bytes.
	tensorCost = 1024
)

// writeStructure returns the JSON of a pickle's value.
func (l *loader) writeStructure(root any) (string, error) {
	err := l.writeValue(root, 0)
	return l.text.String(), err
}

// writeValue writes a value, or a reference to a shared one that was written before.
func (l *loader) writeValue(value any, depth int) error {
	t := &l.text
	if depth > maxDepth {
		return l.newDepthError()
	}
	if err := l.spendBudget(value); err != nil {
		return err
	}
	id := pickle.Identity(value)
	if id == nil || !t.shared[id] {
		return l.writeContent(value, depth)
	}
	if t.open[id] {
		return status.Runtimef("%s: the file has %s that contains itself, which is not supported", l.op, pickle.Describe(value))
	}
	if n, ok := t.numbers[id]; ok {
		fmt.Fprintf(t, `{"ref": %d}`, n)
		return nil
	}
	t.open[id] = true
	n := len(t.numbers)
	t.numbers[id] = n
	fmt.Fprintf(t, `{"def": %d, "value": `, n)
	err := l.writeContent(value, depth)
	t.WriteString("}")
	delete(t.open, id)
	return err
}

func (l *loader) newDepthError() error {
	return status.Runtimef("%s: containers are nested more than %d levels deep", l.op, maxDepth-1)
}

// spendBudget charges a value, its text if it is long, and the text written since the last call.
func (l *loader) spendBudget(value any) error {
	length := l.text.Len()
	switch v := value.(type) {
	case string:
		length += pickle.Quoted(v)
	case []byte:
		length += base64.StdEncoding.EncodedLen(len(v))
	}
	cost := valueCost + textCost*int64(max(length-l.text.paid, 0))
	l.text.paid = max(length, l.text.paid)
	return l.budget.Spend(cost)
}

// writeContent writes a value without regard to sharing.
func (l *loader) writeContent(value any, depth int) error {
	t := &l.text
	switch v := value.(type) {
	case nil:
		t.WriteString("null")
	case bool:
		t.WriteString(strconv.FormatBool(v))
	case int64:
		t.writeInt(big.NewInt(v))
	case *big.Int:
		t.writeInt(v)
	case float64:
		t.writeFloat(v)
	case string:
		t.writeString(v)
	case []byte:
		t.writeTagged("bytes", base64.StdEncoding.EncodeToString(v))
	case *pickle.List:
		return l.writeItems(v.Items, depth)
	case *pickle.Tuple:
		return l.writeTaggedItems("tuple", v.Items, depth)
	case *pickle.Set:
		return l.writeSet(v.Items, depth)
	case *pickle.Dict:
		return l.writeDict("dict", v.Entries, nil, depth)
	case *pickle.Persistent:
		return l.writeStorage(v)
	case pickle.Global:
		d, ok := dtypeOf(v)
		if !ok {
			return status.Runtimef("%s: the file contains the function or class %v as a value, which is not allowed", l.op, v)
		}
		t.writeTagged("dtype", d.String())
	case *pickle.Call:
		return l.writeCall(v, depth)
	default:
		return l.newValueError("the file", value)
	}
	return nil
}

// writeString writes a string, which may contain halves of surrogate pairs.
func (t *text) writeString(s string) {
	if utf8.ValidString(s) {
		t.writeQuoted(s)
	} else {
		t.writeTagged("text", base64.StdEncoding.EncodeToString([]byte(s)))
	}
}

// writeQuoted writes a JSON string.
func (t *text) writeQuoted(s string) {
	t.WriteByte('"')
	written := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			t.WriteString(s[written:i])
			written = i + 1
			switch c {
			case '"', '\\':
				t.WriteByte('\\')
				t.WriteByte(c)
			case '\n':
				t.WriteString(`\n`)
			default:
				fmt.Fprintf(t, `\u%04x`, c)
			}
		}
	}
	t.WriteString(s[written:])
	t.WriteByte('"')
}

func (t *text) writeTagged(tag, content string) {
	fmt.Fprintf(t, `{"%s": `, tag)
	t.writeQuoted(content)
	t.WriteString("}")
}

// writeInt writes an integer, as a number if a JavaScript number represents it exactly.
func (t *text) writeInt(i *big.Int) {
	if i.BitLen() <= 53 {
		t.WriteString(i.String())
	} else {
		t.writeTagged("int", i.String())
	}
}

func (t *text) writeFloat(f float64) {
	switch {
	case math.IsNaN(f):
		t.writeTagged("float", "nan")
	case math.IsInf(f, 1):
		t.writeTagged("float", "inf")
	case math.IsInf(f, -1):
		t.writeTagged("float", "-inf")
	default:
		s := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		t.WriteString(s)
	}
}

func (l *loader) writeItems(items []any, depth int) error {
	l.text.WriteString("[")
	for i, item := range items {
		if i > 0 {
			l.text.WriteString(", ")
		}
		if err := l.writeValue(item, depth+1); err != nil {
			return err
		}
	}
	l.text.WriteString("]")
	return nil
}

func (l *loader) writeTaggedItems(tag string, items []any, depth int) error {
	fmt.Fprintf(&l.text, `{"%s": `, tag)
	err := l.writeItems(items, depth)
	l.text.WriteString("}")
	return err
}

func (l *loader) writeSet(items []any, depth int) error {
	for _, item := range items {
		if err := l.checkKey(item, depth); err != nil {
			return err
		}
	}
	return l.writeTaggedItems("set", items, depth)
}

func (l *loader) writeDict(tag string, entries []pickle.Entry, state any, depth int) error {
	t := &l.text
	fmt.Fprintf(t, `{"%s": [`, tag)
	for i, e := range entries {
		if err := l.checkKey(e.Key, depth); err != nil {
			return err
		}
		if i > 0 {
			t.WriteString(", ")
		}
		if err := l.writeItems([]any{e.Key, e.Value}, depth); err != nil {
			return err
		}
	}
	t.WriteString("]")
	return l.writeEnd(state, depth)
}

// writeEnd writes the state of an object after its content, and closes it.
func (l *loader) writeEnd(state any, depth int) error {
	if state != nil {
		l.text.WriteString(`, "state": `)
		if err := l.writeValue(state, depth+1); err != nil {
			return err
		}
	}
	l.text.WriteString("}")
	return nil
}

// writeNumbered writes a tensor or storage.
func (l *loader) writeNumbered(tag string, i int, location, more string, state any, depth int) error {
	fmt.Fprintf(&l.text, `{"%s": %d%s`, tag, i, more)
	if location != "cpu" && location != "" {
		l.text.WriteString(`, "location": `)
		l.text.writeString(location)
	}
	return l.writeEnd(state, depth)
}

func (l *loader) writeStorage(p *pickle.Persistent) error {
	i, typed, err := l.addStorageTensor(p)
	if err != nil {
		return err
	}
	s, _, err := l.resolveStorage(p)
	tag := "storage"
	if typed {
		tag = "typed_storage"
	}
	if err != nil {
		return err
	}
	return l.writeNumbered(tag, i, s.location, "", nil, 0)
}

// writeCall writes the object that a call creates.
func (l *loader) writeCall(c *pickle.Call, depth int) error {
	i, err := l.resolveTensor(c)
	if err != nil {
		return err
	}
	if i >= 0 {
		inner, state, err := l.unwrapTensor(c)
		if err != nil {
			return err
		}
		if inner == nil {
			inner = c
		}
		return l.writeNumbered("tensor", i, l.locationOf(inner), parameterOf(c), state, depth)
	}
	args := c.Args.Items
	c.Func = canonicalizeName(c.Func)
	switch c.Func {
	case orderedDict:
		if entries, ok := orderedEntries(c); ok && isState(c.State) {
			return l.writeDict("ordered_dict", entries, c.State, depth)
		}
	case counter:
		if dict, ok := singleArgument(args).(*pickle.Dict); ok {
			return l.writeDict("counter", dict.Entries, nil, depth)
		}
	case torchSize:
		if sizes, err := l.parseSizes(c); err == nil && len(sizes) <= maxDepth {
			return l.writeTaggedItems("size", c.Args.Items[0].(*pickle.Tuple).Items, depth)
		}
	case builtinSet:
		if list, ok := singleArgument(args).(*pickle.List); ok {
			return l.writeSet(list.Items, depth)
		}
	case builtinComplex:
		if len(args) == 2 && isReal(args[0]) && isReal(args[1]) {
			return l.writeTaggedItems("complex", args, depth)
		}
	case codecsEncode, builtinBytes, builtinBytearray:
		if data, ok := decodeBytes(c); ok {
			tag := "bytes"
			if c.Func == builtinBytearray {
				tag = "bytearray"
			}
			l.text.writeTagged(tag, base64.StdEncoding.EncodeToString(data))
			return nil
		}
	case getLayout:
		name, _ := singleArgument(args).(string)
		if name, ok := strings.CutPrefix(name, "torch."); ok && slices.Contains(layouts, name) {
			l.text.writeTagged("layout", name)
			return nil
		}
	case torchDevice:
		return l.writeDevice(c)
	}
	return l.newValueError("a result of "+c.Func.String(), c.Args)
}

// parameterOf returns the part of a parameter's text after its tensor: whether it requires grad.
func parameterOf(c *pickle.Call) string {
	if c.Func != rebuildParameter && c.Func != rebuildStateful {
		return ""
	}
	return fmt.Sprintf(`, "parameter": %v`, len(c.Args.Items) < 2 || c.Args.Items[1] == true)
}

// isReal reports whether a value is a part of a complex number.
func isReal(value any) bool {
	switch value.(type) {
	case int64, float64:
		return true
	}
	return false
}

// isState reports whether a value can be the state of an object.
func isState(value any) bool {
	if value == nil {
		return true
	}
	dict, ok := value.(*pickle.Dict)
	return ok && !slices.ContainsFunc(dict.Entries, func(e pickle.Entry) bool {
		_, named := e.Key.(string)
		return !named
	})
}

// checkKey returns an error for keys of dicts, and items of sets, that Python cannot look up. It pays for every look at an item: tuples
// that hold each other twice over unfold to more than anybody can look at.
func (l *loader) checkKey(value any, depth int) error {
	if err := l.budget.Spend(valueCost); err != nil {
		return err
	}
	switch v := value.(type) {
	case *pickle.Tuple:
		if depth > maxDepth {
			return l.newDepthError()
		}
		for _, item := range v.Items {
			if err := l.checkKey(item, depth+1); err != nil {
				return err
			}
		}
		return nil
	case *pickle.List, *pickle.Set, *pickle.Dict:
	case *pickle.Call:
		if f := canonicalizeName(v.Func); f != builtinSet && f != builtinBytearray && f != orderedDict && f != counter {
			return nil
		}
	default:
		return nil
	}
	return l.newValueError("a key of a dict, or an item of a set,", value)
}

// locationOf returns where the storage of the tensor that a call makes was saved from.
func (l *loader) locationOf(c *pickle.Call) string {
	if c.Func == rebuildMeta {
		return ""
	}
	s, _, err := l.resolveStorage(c.Args.Items[0])
	if err != nil {
		return ""
	}
	return s.location
}

// singleArgument returns the argument of a call with one argument, otherwise nil.
func singleArgument(args []any) any {
	if len(args) != 1 {
		return nil
	}
	return args[0]
}

// decodeBytes returns the bytes of text of one character a byte: encode(text, "latin1"), or bytearray of that or of bytes.
func decodeBytes(c *pickle.Call) ([]byte, bool) {
	args := c.Args.Items
	if c.Func != codecsEncode && len(args) == 0 {
		return nil, true
	}
	if c.Func == builtinBytearray && len(args) == 1 {
		if data, ok := args[0].([]byte); ok {
			return data, true
		}
		inner, ok := args[0].(*pickle.Call)
		if !ok || inner.Func != codecsEncode {
			return nil, false
		}
		return decodeBytes(inner)
	}
	if len(args) != 2 || args[1] != "latin1" {
		return nil, false
	}
	coded, ok := args[0].(string)
	data := make([]byte, 0, len(coded))
	for _, r := range coded {
		if r > 255 {
			return nil, false
		}
		data = append(data, byte(r))
	}
	return data, ok
}

func (l *loader) writeDevice(c *pickle.Call) error {
	args := c.Args.Items
	if len(args) == 0 || len(args) > 2 {
		return l.newValueError("a device", c.Args)
	}
	name, ok := args[0].(string)
	if len(args) == 2 {
		index, isInt := args[1].(int64)
		ok = ok && isInt
		name += ":" + strconv.FormatInt(index, 10)
	}
	if _, err := device.Parse(name); !ok || err != nil {
		return l.newValueError("a device", args[0])
	}
	l.text.writeTagged("device", name)
	return nil
}
