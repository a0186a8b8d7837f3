package pickle

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/libtensor/libtensor/engine/status"
)

// decoder interprets the opcodes of a pickle.
type decoder struct {
	op     string
	data   []byte
	at     int
	stack  []any
	memo   map[uint32]any
	shared map[any]bool
	rules  Rules
}

// Rules determine the objects that a pickle may contain.
type Rules struct {
	Name  func(Global) error // rejects names that must not occur
	Fills func(Global) bool  // whether the object that a name creates may be assigned items and state
	Spend func(int64) error  // rejects to take more bytes of memory
	// Persistent resolves a reference to an object outside of the pickle; if nil, the result is a Persistent.
	Persistent func(id any) (any, error)
}

// opcodeCost is the approximate maximum of memory per opcode, without its text operand: a slot on the stack and in a container, an empty
// container, a slot in the memo.
const opcodeCost = 128

// Decode reads a pickle. shared holds the identities of the values that occur more than once.
func Decode(op string, data []byte, rules Rules) (value any, shared map[any]bool, err error) {
	d := &decoder{op: op, data: data, memo: map[uint32]any{}, shared: map[any]bool{}, rules: rules}
	for {
		start := d.at
		code, err := d.readBytes(1)
		if err == nil {
			err = rules.Spend(opcodeCost)
		}
		if err != nil {
			return nil, nil, err
		}
		if code[0] == opStop {
			break
		}
		if err := d.executeOpcode(code[0], start); err != nil {
			return nil, nil, err
		}
	}
	value, err = d.popValue()
	return value, d.shared, err
}

// longText is the length from which quoted text in a structure counts as an object that can be shared.
const longText = 32

// Quoted is about how long text becomes as a string of JSON: control characters take six bytes.
func Quoted(text string) int {
	n := len(text)
	for i := range len(text) {
		if text[i] < ' ' {
			n += 5
		}
	}
	return n
}

// Identity returns a key that identifies an object, or nil for values without identity.
func Identity(value any) any {
	switch v := value.(type) {
	case *List, *Tuple, *Set, *Dict, *Call, *Persistent, *big.Int:
		return v
	case string:
		if len(v) >= longText || Quoted(v) >= longText {
			return unsafe.StringData(v)
		}
	case []byte:
		if len(v) >= longText {
			return unsafe.SliceData(v)
		}
	}
	return nil
}

// newError returns an error that names the operator and the position in the pickle.
func (d *decoder) newError(format string, args ...any) error {
	return status.Runtimef("%s: the pickle is damaged at byte %d: "+format, append([]any{d.op, d.at}, args...)...)
}

func (d *decoder) readBytes(n uint64) ([]byte, error) {
	if n > uint64(len(d.data)-d.at) {
		return nil, d.newError("%d more bytes are expected, and %d are left", n, len(d.data)-d.at)
	}
	b := d.data[d.at : d.at+int(n)]
	d.at += int(n)
	return b, nil
}

// readUint reads an unsigned little-endian integer of n bytes.
func (d *decoder) readUint(n uint64) (uint64, error) {
	b, err := d.readBytes(n)
	if err != nil {
		return 0, err
	}
	var whole [8]byte
	copy(whole[:], b)
	return binary.LittleEndian.Uint64(whole[:]), nil
}

// readPrefixedBytes reads bytes that follow their length, an n-byte integer.
func (d *decoder) readPrefixedBytes(n uint64) ([]byte, error) {
	length, err := d.readUint(n)
	if err != nil {
		return nil, err
	}
	return d.readBytes(length)
}

// ValidText reports whether bytes are text as Python pickles it: UTF-8 in which halves of surrogate pairs are encoded as if they were
// characters.
func ValidText(b []byte) bool {
	if utf8.Valid(b) {
		return true
	}
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			if len(b) < 3 || b[0] != 0xed || b[1]&0xe0 != 0xa0 || b[2]&0xc0 != 0x80 {
				return false
			}
			size = 3
		}
		b = b[size:]
	}
	return true
}

func (d *decoder) decodeString(n uint64) error {
	b, err := d.readPrefixedBytes(n)
	if err != nil {
		return err
	}
	if !ValidText(b) {
		return d.newError("a string is not UTF-8")
	}
	d.pushValue(string(b))
	return d.rules.Spend(int64(len(b)))
}

func (d *decoder) readLine() (string, error) {
	end := bytes.IndexByte(d.data[d.at:], '\n')
	if end < 0 {
		return "", d.newError("a name has no end")
	}
	b, err := d.readBytes(uint64(end) + 1)
	return string(b[:end]), err
}

func (d *decoder) pushValue(v any) { d.stack = append(d.stack, v) }

func (d *decoder) popValue() (any, error) {
	v, err := d.peekValue()
	if err == nil {
		d.stack = d.stack[:len(d.stack)-1]
	}
	return v, err
}

func (d *decoder) peekValue() (any, error) {
	if len(d.stack) == 0 {
		return nil, d.newError("a value is missing")
	}
	v := d.stack[len(d.stack)-1]
	if _, is := v.(mark); is {
		return nil, d.newError("a value is missing")
	}
	return v, nil
}

// popToMark removes the last mark and returns the values above it.
func (d *decoder) popToMark() ([]any, error) {
	for i := len(d.stack) - 1; i >= 0; i-- {
		if _, is := d.stack[i].(mark); is {
			items := slices.Clone(d.stack[i+1:])
			d.stack = d.stack[:i]
			return items, nil
		}
	}
	return nil, d.newError("a mark is missing")
}

func (d *decoder) popValues(n int) ([]any, error) {
	items := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		var err error
		if items[i], err = d.popValue(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (d *decoder) pushInt(n uint64, err error) error {
	d.pushValue(int64(n))
	return err
}

// executeOpcode executes one opcode, which is at byte start.
func (d *decoder) executeOpcode(code byte, start int) error {
	if run := opcodeHandlers[code]; run != nil {
		return run(d)
	}
	return status.Runtimef("%s: the pickle uses opcode %#02x at byte %d, which is not allowed in tensor files", d.op, code, start)
}

// opcodeHandlers execute the opcodes that tensor files contain.
var opcodeHandlers = [256]func(d *decoder) error{
	opProto:          (*decoder).checkProtocol,
	opFrame:          func(d *decoder) error { _, err := d.readBytes(8); return err },
	opMark:           newPushHandler(func() any { return mark{} }),
	opNone:           newPushHandler(func() any { return nil }),
	opNewTrue:        newPushHandler(func() any { return true }),
	opNewFalse:       newPushHandler(func() any { return false }),
	opEmptyTuple:     newPushHandler(func() any { return &Tuple{} }),
	opEmptyList:      newPushHandler(func() any { return &List{} }),
	opEmptyDict:      newPushHandler(func() any { return &Dict{} }),
	opEmptySet:       newPushHandler(func() any { return &Set{} }),
	opBinInt1:        func(d *decoder) error { return d.pushInt(d.readUint(1)) },
	opBinInt2:        func(d *decoder) error { return d.pushInt(d.readUint(2)) },
	opBinInt:         (*decoder).decodeInt32,
	opLong1:          func(d *decoder) error { return d.decodeLong(1) },
	opLong4:          func(d *decoder) error { return d.decodeLong(4) },
	opBinFloat:       (*decoder).decodeFloat,
	opShortUnicode:   func(d *decoder) error { return d.decodeString(1) },
	opShortBinString: func(d *decoder) error { return d.decodeString(1) },
	opBinString:      func(d *decoder) error { return d.decodeString(4) },
	opBinUnicode:     func(d *decoder) error { return d.decodeString(4) },
	opBinUnicode8:    func(d *decoder) error { return d.decodeString(8) },
	opShortBinBytes:  func(d *decoder) error { return d.decodeBytes(1) },
	opBinBytes:       func(d *decoder) error { return d.decodeBytes(4) },
	opBinBytes8:      func(d *decoder) error { return d.decodeBytes(8) },
	opTuple1:         func(d *decoder) error { return d.pushTuple(d.popValues(1)) },
	opTuple2:         func(d *decoder) error { return d.pushTuple(d.popValues(2)) },
	opTuple3:         func(d *decoder) error { return d.pushTuple(d.popValues(3)) },
	opTuple:          func(d *decoder) error { return d.pushTuple(d.popToMark()) },
	opAppend:         newAddHandler(opAppend, func(d *decoder) ([]any, error) { return d.popValues(1) }),
	opSetItem:        newAddHandler(opSetItem, func(d *decoder) ([]any, error) { return d.popValues(2) }),
	opAppends:        newAddHandler(opAppends, (*decoder).popToMark),
	opSetItems:       newAddHandler(opSetItems, (*decoder).popToMark),
	opAddItems:       newAddHandler(opAddItems, (*decoder).popToMark),
	opGlobal:         (*decoder).decodeLineGlobal,
	opStackGlobal:    (*decoder).decodeStackGlobal,
	opReduce:         (*decoder).decodeCall,
	opNewObj:         (*decoder).decodeCall,
	opBuild:          (*decoder).setState,
	opBinPersID:      (*decoder).decodePersistentID,
	opBinPut:         func(d *decoder) error { return d.putMemo(d.readUint(1)) },
	opLongBinPut:     func(d *decoder) error { return d.putMemo(d.readUint(4)) },
	opMemoize:        func(d *decoder) error { return d.putMemo(uint64(len(d.memo)), nil) },
	opBinGet:         func(d *decoder) error { return d.getMemo(d.readUint(1)) },
	opLongBinGet:     func(d *decoder) error { return d.getMemo(d.readUint(4)) },
}

func newPushHandler(newValue func() any) func(d *decoder) error {
	return func(d *decoder) error {
		d.pushValue(newValue())
		return nil
	}
}

// newAddHandler returns a handler that adds the items that pop returns to the value below them.
func newAddHandler(code byte, items func(d *decoder) ([]any, error)) func(d *decoder) error {
	return func(d *decoder) error {
		list, err := items(d)
		if err != nil {
			return err
		}
		return d.addItems(code, list)
	}
}

func (d *decoder) checkProtocol() error {
	version, err := d.readUint(1)
	if err == nil && (version < 2 || version > 5) {
		return status.Runtimef("%s: pickle protocol %d is not supported; 2 to 5 are", d.op, version)
	}
	return err
}

func (d *decoder) decodeInt32() error {
	n, err := d.readUint(4)
	d.pushValue(int64(int32(n)))
	return err
}

func (d *decoder) decodeFloat() error {
	b, err := d.readBytes(8)
	if err != nil {
		return err
	}
	d.pushValue(math.Float64frombits(binary.BigEndian.Uint64(b)))
	return nil
}

func (d *decoder) pushTuple(items []any, err error) error {
	d.pushValue(&Tuple{items})
	return err
}

func (d *decoder) decodeLineGlobal() error {
	module, err := d.readLine()
	if err != nil {
		return err
	}
	name, err := d.readLine()
	if err != nil {
		return err
	}
	return d.pushGlobal(module, name)
}

func (d *decoder) decodePersistentID() error {
	id, err := d.popValue()
	if err != nil {
		return err
	}
	var value any = &Persistent{id}
	if d.rules.Persistent != nil {
		if value, err = d.rules.Persistent(id); err != nil {
			return err
		}
	}
	d.pushValue(value)
	return nil
}

func (d *decoder) decodeBytes(n uint64) error {
	b, err := d.readPrefixedBytes(n)
	d.pushValue(b)
	return err
}

// decodeLong reads an integer of any size in two's complement.
func (d *decoder) decodeLong(n uint64) error {
	b, err := d.readPrefixedBytes(n)
	if err != nil {
		return err
	}
	if len(b) > maxLong {
		return d.newError("an integer of %d bytes exceeds the maximum of %d bytes", len(b), maxLong)
	}
	reversed := slices.Clone(b)
	slices.Reverse(reversed)
	v := new(big.Int).SetBytes(reversed)
	if len(b) > 0 && b[len(b)-1] >= 0x80 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	if v.IsInt64() {
		d.pushValue(v.Int64())
	} else {
		d.pushValue(v)
	}
	return nil
}

// maxLong bounds the bytes of an integer: turning it into text takes time that grows with their square, and Python reads no more
// than 4300 digits.
const maxLong = 1785

// addItems adds items to the container on top of the stack.
func (d *decoder) addItems(code byte, items []any) error {
	into, err := d.peekValue()
	if err != nil {
		return err
	}
	switch to := into.(type) {
	case *List:
		if code == opAppend || code == opAppends {
			to.Items = append(to.Items, items...)
			return nil
		}
	case *Set:
		if code == opAddItems {
			to.Items = append(to.Items, items...)
			return nil
		}
	case *Dict:
		if code == opSetItem || code == opSetItems {
			to.Entries, err = d.appendEntries(to.Entries, items)
			return err
		}
	case *Call:
		if (code == opSetItem || code == opSetItems) && d.rules.Fills(to.Func) {
			to.Entries, err = d.appendEntries(to.Entries, items)
			return err
		}
	}
	return d.newError("items are added to %s, which does not support them", Describe(into))
}

func (d *decoder) appendEntries(to []Entry, items []any) ([]Entry, error) {
	if len(items)%2 != 0 {
		return to, d.newError("a key has no value")
	}
	for i := 0; i < len(items); i += 2 {
		to = append(to, Entry{items[i], items[i+1]})
	}
	return to, nil
}

func (d *decoder) pushGlobal(module, name string) error {
	g := Global{module, name}
	d.pushValue(g)
	return d.rules.Name(g)
}

func (d *decoder) decodeStackGlobal() error {
	items, err := d.popValues(2)
	if err != nil {
		return err
	}
	module, ok1 := items[0].(string)
	name, ok2 := items[1].(string)
	if !ok1 || !ok2 {
		return d.newError("a name is not a string")
	}
	return d.pushGlobal(module, name)
}

func (d *decoder) decodeCall() error {
	items, err := d.popValues(2)
	if err != nil {
		return err
	}
	function, ok1 := items[0].(Global)
	args, ok2 := items[1].(*Tuple)
	if !ok1 || !ok2 {
		return d.newError("a call does not consist of a name and a tuple of arguments")
	}
	d.pushValue(&Call{Func: function, Args: args})
	return nil
}

func (d *decoder) setState() error {
	state, err := d.popValue()
	if err != nil {
		return err
	}
	into, err := d.peekValue()
	if err != nil {
		return err
	}
	call, ok := into.(*Call)
	if !ok || call.State != nil || !d.rules.Fills(call.Func) {
		return d.newError("state is set on %s, which does not support it or has state already", Describe(into))
	}
	call.State = state
	return nil
}

func (d *decoder) putMemo(i uint64, err error) error {
	if err != nil {
		return err
	}
	v, err := d.peekValue()
	d.memo[uint32(i)] = v
	return err
}

func (d *decoder) getMemo(i uint64, err error) error {
	if err != nil {
		return err
	}
	v, ok := d.memo[uint32(i)]
	if !ok {
		return d.newError("memo entry %d does not exist", i)
	}
	if id := Identity(v); id != nil {
		d.shared[id] = true
	}
	d.pushValue(v)
	return nil
}
