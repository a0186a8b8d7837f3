package serial

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/status"
)

// describe tells what a value is, for messages.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case *pickle.List:
		return fmt.Sprintf("a list of %d items", len(v.Items))
	case *pickle.Tuple:
		return fmt.Sprintf("a tuple of %d items", len(v.Items))
	case *pickle.Set:
		return fmt.Sprintf("a set of %d items", len(v.Items))
	case *pickle.Dict:
		return fmt.Sprintf("a dict of %d items", len(v.Entries))
	case *pickle.Call:
		return "a result of " + v.Func.String()
	case *pickle.Persistent:
		return "a storage"
	case []byte:
		return "bytes"
	case string:
		return fmt.Sprintf("the string %.40q", v)
	}
	return fmt.Sprint(value)
}

// text builds the JSON of a structure. A value that occurs more than once is written once, so that the text is no longer
// than the pickle justifies.
type text struct {
	strings.Builder
	op      string
	limit   int
	shared  map[any]bool
	numbers map[any]int
	open    map[any]bool
}

// expansion bounds how many times longer than its pickle a structure may be: short strings that occur often make up the most.
const expansion = 128

func newText(op string, pickled int, shared map[any]bool) text {
	return text{op: op, limit: expansion*pickled + 1<<16, shared: shared, numbers: map[any]int{}, open: map[any]bool{}}
}

// structure is the JSON of a pickle's value.
func (l *loader) structure(root any) (string, error) {
	err := l.write(root, 0)
	return l.text.String(), err
}

func (l *loader) write(value any, depth int) error {
	t := &l.text
	if depth > maxDepth {
		return status.Runtimef("%s: containers lie more than %d deep in each other", l.op, maxDepth)
	}
	if t.Len() > t.limit {
		return status.Runtimef("%s: the pickle unfolds to more than %d bytes, which is refused", l.op, t.limit)
	}
	id := pickle.Identity(value)
	if id == nil || !t.shared[id] {
		return l.plain(value, depth)
	}
	if t.open[id] {
		return status.Runtimef("%s: the file has %s that contains itself, which is not supported", l.op, describe(value))
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
		t.quote(v)
	case []byte:
		t.tagged("bytes", base64.StdEncoding.EncodeToString(v))
	case *pickle.List:
		return l.items(v.Items, depth)
	case *pickle.Tuple:
		return l.tag("tuple", v.Items, depth)
	case *pickle.Set:
		return l.tag("set", v.Items, depth)
	case *pickle.Dict:
		return l.dict("dict", v.Entries, nil, depth)
	case *pickle.Persistent:
		return l.writeStorage(v)
	case pickle.Global:
		d, ok := dtypeOf(v)
		if !ok {
			return status.Runtimef("%s: the file holds the function or class %v as a value, which is refused", l.op, v)
		}
		t.tagged("dtype", d.String())
	case *pickle.Call:
		return l.made(v, depth)
	default:
		return l.bad("the file", value)
	}
	return nil
}

func (t *text) quote(s string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string cannot fail
	t.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func (t *text) tagged(tag, content string) {
	fmt.Fprintf(t, `{"%s": `, tag)
	t.quote(content)
	t.WriteString("}")
}

// integer writes one that JavaScript's numbers hold as it is.
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

func (l *loader) dict(tag string, entries []pickle.Entry, state any, depth int) error {
	t := &l.text
	fmt.Fprintf(t, `{"%s": [`, tag)
	for i, e := range entries {
		if i > 0 {
			t.WriteString(", ")
		}
		if err := l.items([]any{e.Key, e.Value}, depth); err != nil {
			return err
		}
	}
	t.WriteString("]")
	if state != nil {
		t.WriteString(`, "state": `)
		if err := l.write(state, depth+1); err != nil {
			return err
		}
	}
	t.WriteString("}")
	return nil
}

// number writes a tensor or storage.
func (l *loader) number(tag string, i int, location string) {
	fmt.Fprintf(&l.text, `{"%s": %d`, tag, i)
	if location != "cpu" && location != "" {
		l.text.WriteString(`, "location": `)
		l.text.quote(location)
	}
	l.text.WriteString("}")
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
	l.number(tag, i, s.location)
	return err
}

// made writes what a call stands for.
func (l *loader) made(c *pickle.Call, depth int) error {
	i, err := l.tensor(c)
	if err != nil {
		return err
	}
	if i >= 0 {
		l.number("tensor", i, l.locationOf(c))
		return nil
	}
	args := c.Args.Items
	c.Func = canonical(c.Func)
	if c.Func != orderedDict && (len(c.Entries) > 0 || c.State != nil) {
		return l.bad("a plain value", c)
	}
	switch c.Func {
	case orderedDict:
		if len(args) == 0 {
			return l.dict("ordered_dict", c.Entries, c.State, depth)
		}
	case counter:
		if dict, ok := only(args).(*pickle.Dict); ok {
			return l.dict("dict", dict.Entries, nil, depth)
		}
	case torchSize:
		if sizes, err := l.ints(c); err == nil && len(sizes) <= maxDepth {
			return l.tag("size", c.Args.Items[0].(*pickle.Tuple).Items, depth)
		}
	case builtinSet:
		if list, ok := only(args).(*pickle.List); ok {
			return l.tag("set", list.Items, depth)
		}
	case builtinComplex:
		if len(args) == 2 {
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
		if name, ok := strings.CutPrefix(name, "torch."); ok {
			l.text.tagged("layout", name)
			return nil
		}
	case torchDevice:
		return l.device(c)
	}
	return l.bad("a result of "+c.Func.String(), c.Args)
}

// locationOf is where a tensor's storage was saved from.
func (l *loader) locationOf(c *pickle.Call) string {
	for c.Func == rebuildParameter {
		c = c.Args.Items[0].(*pickle.Call)
	}
	if c.Func == rebuildMeta {
		return ""
	}
	s, _, err := l.storage(c.Args.Items[0])
	if err != nil {
		return ""
	}
	return s.location
}

// only is the single argument of a call, nil when there are none or more.
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
