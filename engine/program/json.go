package program

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/status"
)

// maxDepth is the deepest nesting of JSON that is read.
const maxDepth = 200

// reader reads a JSON text in one pass, and allocates only for the values that its caller keeps. After the first error its methods return zero
// values, and loops end.
type reader struct {
	op    string
	name  string // of the record
	data  []byte
	at    int
	depth int
	err   error
	spend func(int64) error // charges memory to the budget of the file
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = status.Runtimef("%s: the file is damaged: record %.100q, byte %d: %s", r.op, r.name, r.at, fmt.Sprintf(format, args...))
	}
	r.at = len(r.data)
}

// charge charges n bytes to the budget, before they are allocated.
func (r *reader) charge(n int64) {
	if r.err == nil {
		r.err = r.spend(n)
	}
}

// peek returns the next byte that is not white space, 0 at the end.
func (r *reader) peek() byte {
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// take consumes the byte c, which must come next.
func (r *reader) take(c byte) bool {
	if r.err != nil {
		return false
	}
	if got := r.peek(); got != c {
		r.fail("%q is expected, not %q", c, got)
		return false
	}
	r.at++
	return true
}

// sequence calls item for each item between two brackets.
func (r *reader) sequence(left, right byte, item func()) {
	if !r.take(left) {
		return
	}
	if r.depth++; r.depth > maxDepth {
		r.fail("values are nested deeper than %d", maxDepth)
		return
	}
	if r.peek() == right {
		r.at++
		r.depth--
		return
	}
	for r.err == nil {
		item()
		if r.err == nil && r.peek() == right {
			r.at++
			r.depth--
			return
		}
		r.take(',')
	}
}

// array calls item for each item of an array; item reads it.
func (r *reader) array(item func()) { r.sequence('[', ']', item) }

// object calls member with each key of an object; member reads or skips the value.
func (r *reader) object(member func(key string)) {
	r.sequence('{', '}', func() {
		key := r.text()
		if r.take(':') {
			member(string(key))
		}
	})
}

// literal consumes a word such as null if it comes next.
func (r *reader) literal(word string) bool {
	if r.err != nil {
		return false
	}
	r.peek()
	if end := r.at + len(word); end <= len(r.data) && string(r.data[r.at:end]) == word {
		r.at = end
		return true
	}
	return false
}

// null consumes a null if it comes next.
func (r *reader) null() bool { return r.literal("null") }

func (r *reader) boolean() bool {
	if r.literal("true") {
		return true
	}
	if !r.literal("false") {
		r.fail("true or false is expected")
	}
	return false
}

// number consumes the characters of a number.
func (r *reader) number() string {
	if r.err != nil {
		return ""
	}
	r.peek()
	start := r.at
	for r.at < len(r.data) {
		c := r.data[r.at]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		r.at++
	}
	if r.at-start > 64 {
		r.fail("a number has %d characters", r.at-start)
		return ""
	}
	return string(r.data[start:r.at])
}

func (r *reader) integer() int64 {
	text := r.number()
	if r.err != nil {
		return 0
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.fail("%.40q is no integer of 64 bits", text)
	}
	return i
}

// float reads a number. PyTorch writes infinities and NaN as strings, and Python's json as words.
func (r *reader) float() float64 {
	quoted := r.peek() == '"'
	if quoted {
		r.at++
	}
	var f float64
	switch {
	case r.literal("NaN"):
		f = math.NaN()
	case r.literal("Infinity"):
		f = math.Inf(1)
	case r.literal("-Infinity"):
		f = math.Inf(-1)
	default:
		text := r.number()
		var err error
		if f, err = strconv.ParseFloat(text, 64); err != nil && !math.IsInf(f, 0) {
			r.fail("%.40q is no number", text)
		}
	}
	if quoted {
		r.take('"')
	}
	return f
}

// str reads a string.
func (r *reader) str() string {
	text := r.text()
	r.charge(int64(len(text)) + 16)
	if r.err != nil {
		return ""
	}
	for _, c := range text {
		if c == 0 {
			r.fail("a string has a NUL")
			return ""
		}
	}
	return string(text)
}

// text reads a string. The bytes are valid until the next call, in the record itself unless the string has escapes.
func (r *reader) text() []byte {
	if !r.take('"') {
		return nil
	}
	for i := r.at; i < len(r.data); i++ {
		switch r.data[i] {
		case '"':
			text := r.data[r.at:i]
			r.at = i + 1
			if !utf8.Valid(text) {
				r.fail("a string is not UTF-8")
			}
			return text
		case '\\':
			return r.escaped(i)
		}
	}
	r.fail("a string has no end")
	return nil
}

// escaped reads the rest of a string that has its first escape at first.
func (r *reader) escaped(first int) []byte {
	out := append([]byte(nil), r.data[r.at:first]...)
	for i := first; i < len(r.data); i++ {
		switch c := r.data[i]; c {
		case '"':
			r.at = i + 1
			if !utf8.Valid(out) {
				r.fail("a string is not UTF-8")
			}
			return out
		case '\\':
			if i++; i == len(r.data) {
				break
			}
			switch c = r.data[i]; c {
			case 'n':
				out = append(out, '\n')
			case 't':
				out = append(out, '\t')
			case 'r':
				out = append(out, '\r')
			case 'b':
				out = append(out, '\b')
			case 'f':
				out = append(out, '\f')
			case '"', '\\', '/':
				out = append(out, c)
			case 'u':
				unit, ok := r.unit(i + 1)
				if i += 4; !ok {
					r.fail("a string has an invalid escape")
					return nil
				}
				if low, ok := r.unit(i + 3); utf16.IsSurrogate(unit) && ok && r.data[i+1] == '\\' && r.data[i+2] == 'u' {
					unit = utf16.DecodeRune(unit, low)
					i += 6
				}
				out = utf8.AppendRune(out, unit)
			default:
				r.fail("a string has an invalid escape")
				return nil
			}
		default:
			out = append(out, c)
		}
	}
	r.fail("a string has no end")
	return nil
}

// unit reads the four hexadecimal digits at i.
func (r *reader) unit(i int) (rune, bool) {
	if i+4 > len(r.data) {
		return 0, false
	}
	u, err := strconv.ParseUint(string(r.data[i:i+4]), 16, 16)
	return rune(u), err == nil
}

// skip consumes the next value.
func (r *reader) skip() {
	switch r.peek() {
	case '{':
		r.object(func(string) { r.skip() })
	case '[':
		r.array(r.skip)
	case '"':
		r.text()
	default:
		if !r.null() && !r.literal("true") && !r.literal("false") && !r.literal("NaN") && !r.literal("Infinity") && !r.literal("-Infinity") && r.number() == "" {
			r.fail("a value is expected")
		}
	}
}

// end checks that nothing follows the value.
func (r *reader) end() error {
	if r.err == nil && r.peek() != 0 {
		r.fail("the text goes on after its end")
	}
	return r.err
}
