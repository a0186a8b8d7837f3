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

// structure returns the JSON of a pickle's value.
func (l *loader) structure(root any) (string, error) {
	err := l.write(root, 0)
	return l.text.String(), err
}

func (l *loader) write(value any, depth int) error {
	t := &l.text
	if depth > maxDepth {
		return l.tooDeep()
	}
	if err := l.spend(value); err != nil {
		return err
	}
	id := pickle.Identity(value)
	if id == nil || !t.shared[id] {
		return l.plain(value, depth)
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
	err := l.plain(value, depth)
	t.WriteString("}")
	delete(t.open, id)
	return err
}

func (l *loader) tooDeep() error {
	return status.Runtimef("%s: containers are nested more than %d levels deep", l.op, maxDepth-1)
}

// spend charges a value, its text if it is long, and the text written since the last call.
func (l *loader) spend(value any) error {
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

func (l *loader) plain(value any, depth int) error {
	t := &l.text
	switch v := value.(type) {
	case nil:
		t.WriteString("null")
	case bool:
		t.WriteString(strconv.FormatBool(v))
	case int64:
		t.integer(big.NewInt(v))
	case *big.Int:
		t.integer(v)
	case float64:
		t.float(v)
	case string:
		t.string(v)
	case []byte:
		t.tagged("bytes", base64.StdEncoding.EncodeToString(v))
	case *pickle.List:
		return l.items(v.Items, depth)
	case *pickle.Tuple:
		return l.tag("tuple", v.Items, depth)
	case *pickle.Set:
		return l.set(v.Items, depth)
	case *pickle.Dict:
		return l.dict("dict", v.Entries, nil, depth)
	case *pickle.Persistent:
		return l.writeStorage(v)
	case pickle.Global:
		d, ok := dtypeOf(v)
		if !ok {
			return status.Runtimef("%s: the file contains the function or class %v as a value, which is not allowed", l.op, v)
		}
		t.tagged("dtype", d.String())
	case *pickle.Call:
		return l.made(v, depth)
	default:
		return l.bad("the file", value)
	}
	return nil
}

// string writes text, which can have halves of surrogate pairs.
func (t *text) string(s string) {
	if utf8.ValidString(s) {
		t.quote(s)
	} else {
		t.tagged("text", base64.StdEncoding.EncodeToString([]byte(s)))
	}
}

// quote writes a string of JSON.
func (t *text) quote(s string) {
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

func (t *text) tagged(tag, content string) {
	fmt.Fprintf(t, `{"%s": `, tag)
	t.quote(content)
	t.WriteString("}")
}

// integer writes an integer that a JavaScript number holds as a plain number.
func (t *text) integer(i *big.Int) {
	if i.BitLen() <= 53 {
		t.WriteString(i.String())
	} else {
		t.tagged("int", i.String())
	}
}

func (t *text) float(f float64) {
	switch {
	case math.IsNaN(f):
		t.tagged("float", "nan")
	case math.IsInf(f, 1):
		t.tagged("float", "inf")
	case math.IsInf(f, -1):
		t.tagged("float", "-inf")
	default:
		s := strconv.FormatFloat(f, 'g', -1, 64)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		t.WriteString(s)
	}
}

func (l *loader) items(items []any, depth int) error {
	l.text.WriteString("[")
	for i, item := range items {
		if i > 0 {
			l.text.WriteString(", ")
		}
		if err := l.write(item, depth+1); err != nil {
			return err
		}
	}
	l.text.WriteString("]")
	return nil
}

func (l *loader) tag(tag string, items []any, depth int) error {
	fmt.Fprintf(&l.text, `{"%s": `, tag)
	err := l.items(items, depth)
	l.text.WriteString("}")
	return err
}

func (l *loader) set(items []any, depth int) error {
	for _, item := range items {
		if err := l.checkKey(item, depth); err != nil {
			return err
		}
	}
	return l.tag("set", items, depth)
}

func (l *loader) dict(tag string, entries []pickle.Entry, state any, depth int) error {
	t := &l.text
	fmt.Fprintf(t, `{"%s": [`, tag)
	for i, e := range entries {
		if err := l.checkKey(e.Key, depth); err != nil {
			return err
		}
		if i > 0 {
			t.WriteString(", ")
		}
		if err := l.items([]any{e.Key, e.Value}, depth); err != nil {
			return err
		}
	}
	t.WriteString("]")
	return l.end(state, depth)
}

// end writes the state of an object after its content, and closes it.
func (l *loader) end(state any, depth int) error {
	if state != nil {
		l.text.WriteString(`, "state": `)
		if err := l.write(state, depth+1); err != nil {
			return err
		}
	}
	l.text.WriteString("}")
	return nil
}

// number writes a tensor or storage.
func (l *loader) number(tag string, i int, location, more string, state any, depth int) error {
	fmt.Fprintf(&l.text, `{"%s": %d%s`, tag, i, more)
	if location != "cpu" && location != "" {
		l.text.WriteString(`, "location": `)
		l.text.string(location)
	}
	return l.end(state, depth)
}

func (l *loader) writeStorage(p *pickle.Persistent) error {
	i, typed, err := l.whole(p)
	if err != nil {
		return err
	}
	s, _, err := l.storage(p)
	tag := "storage"
	if typed {
		tag = "typed_storage"
	}
	if err != nil {
		return err
	}
	return l.number(tag, i, s.location, "", nil, 0)
}

// made writes the object of a call.
func (l *loader) made(c *pickle.Call, depth int) error {
	i, err := l.tensor(c)
	if err != nil {
		return err
	}
	if i >= 0 {
		inner, state, err := l.wrapped(c)
		if err != nil {
			return err
		}
		if inner == nil {
			inner = c
		}
		return l.number("tensor", i, l.locationOf(inner), parameterOf(c), state, depth)
	}
	args := c.Args.Items
	c.Func = canonical(c.Func)
	switch c.Func {
	case orderedDict:
		if entries, ok := orderedEntries(c); ok && isState(c.State) {
			return l.dict("ordered_dict", entries, c.State, depth)
		}
	case counter:
		if dict, ok := only(args).(*pickle.Dict); ok {
			return l.dict("counter", dict.Entries, nil, depth)
		}
	case torchSize:
		if sizes, err := l.ints(c); err == nil && len(sizes) <= maxDepth {
			return l.tag("size", c.Args.Items[0].(*pickle.Tuple).Items, depth)
		}
	case builtinSet:
		if list, ok := only(args).(*pickle.List); ok {
			return l.set(list.Items, depth)
		}
	case builtinComplex:
		if len(args) == 2 && isReal(args[0]) && isReal(args[1]) {
			return l.tag("complex", args, depth)
		}
	case codecsEncode, builtinBytes, builtinBytearray:
		if data, ok := bytesOf(c); ok {
			tag := "bytes"
			if c.Func == builtinBytearray {
				tag = "bytearray"
			}
			l.text.tagged(tag, base64.StdEncoding.EncodeToString(data))
			return nil
		}
	case getLayout:
		name, _ := only(args).(string)
		if name, ok := strings.CutPrefix(name, "torch."); ok && slices.Contains(layouts, name) {
			l.text.tagged("layout", name)
			return nil
		}
	case torchDevice:
		return l.device(c)
	}
	return l.bad("a result of "+c.Func.String(), c.Args)
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

// checkKey returns an error for keys of dicts, and items of sets, that Python cannot look up. It pays for every look at an item: tuples that hold
// each other twice over unfold to more than anybody can look at.
func (l *loader) checkKey(value any, depth int) error {
	if err := l.budget.Spend(valueCost); err != nil {
		return err
	}
	switch v := value.(type) {
	case *pickle.Tuple:
		if depth > maxDepth {
			return l.tooDeep()
		}
		for _, item := range v.Items {
			if err := l.checkKey(item, depth+1); err != nil {
				return err
			}
		}
		return nil
	case *pickle.List, *pickle.Set, *pickle.Dict:
	case *pickle.Call:
		if f := canonical(v.Func); f != builtinSet && f != builtinBytearray && f != orderedDict && f != counter {
			return nil
		}
	default:
		return nil
	}
	return l.bad("a key of a dict, or an item of a set,", value)
}

// locationOf returns where the storage of the tensor that a call makes was saved from.
func (l *loader) locationOf(c *pickle.Call) string {
	if c.Func == rebuildMeta {
		return ""
	}
	s, _, err := l.storage(c.Args.Items[0])
	if err != nil {
		return ""
	}
	return s.location
}

// only returns the single argument of a call, nil when there are none or more.
func only(args []any) any {
	if len(args) != 1 {
		return nil
	}
	return args[0]
}

// bytesOf reads text of one character a byte: encode(text, "latin1"), or bytearray of that or of bytes.
func bytesOf(c *pickle.Call) ([]byte, bool) {
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
		return bytesOf(inner)
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

func (l *loader) device(c *pickle.Call) error {
	args := c.Args.Items
	if len(args) == 0 || len(args) > 2 {
		return l.bad("a device", c.Args)
	}
	name, ok := args[0].(string)
	if len(args) == 2 {
		index, isInt := args[1].(int64)
		ok = ok && isInt
		name += ":" + strconv.FormatInt(index, 10)
	}
	if _, err := device.Parse(name); !ok || err != nil {
		return l.bad("a device", args[0])
	}
	l.text.tagged("device", name)
	return nil
}
