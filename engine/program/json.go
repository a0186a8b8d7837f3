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

// reader reads a JSON text in one pass, and allocates only for the values that its caller keeps. After the first error its methods return
// zero values, and loops end.
type reader struct {
	op    string
	name  string // of the record
	data  []byte
	at    int
	depth int
	err   error
	spend func(int64) error // charges memory to the budget of the file
}

// setError records an error at the current byte, unless there is one already, and ends the reading.
func (r *reader) setError(format string, args ...any) {
	if r.err == nil {
		r.err = status.Runtimef("%s: the file is damaged: record %.100q, byte %d: %s", r.op, r.name, r.at, fmt.Sprintf(format, args...))
	}
	r.at = len(r.data)
}

// spendBudget charges n bytes to the budget, before they are allocated.
func (r *reader) spendBudget(n int64) {
	if r.err == nil {
		r.err = r.spend(n)
	}
}

// peekByte returns the next byte that is not white space, 0 at the end.
func (r *reader) peekByte() byte {
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

// takeByte consumes the byte c, which must come next.
func (r *reader) takeByte(c byte) bool {
	if r.err != nil {
		return false
	}
	if got := r.peekByte(); got != c {
		r.setError("%q is expected, not %q", c, got)
		return false
	}
	r.at++
	return true
}

// readSequence calls item for each item between two brackets.
func (r *reader) readSequence(left, right byte, item func()) {
	if !r.takeByte(left) {
		return
	}
	if r.depth++; r.depth > maxDepth {
		r.setError("values are nested deeper than %d", maxDepth)
		return
	}
	if r.peekByte() == right {
		r.at++
		r.depth--
		return
	}
	for r.err == nil {
		item()
		if r.err == nil && r.peekByte() == right {
			r.at++
			r.depth--
			return
		}
		r.takeByte(',')
	}
}

// readArray calls item for each item of an array; item reads it.
func (r *reader) readArray(item func()) { r.readSequence('[', ']', item) }

// readObject calls member with each key of an object; member reads or skips the value.
func (r *reader) readObject(member func(key string)) {
	r.readSequence('{', '}', func() {
		key := r.readText()
		if r.takeByte(':') {
			member(string(key))
		}
	})
}

// takeLiteral consumes a word such as null if it comes next, and reports whether it did.
func (r *reader) takeLiteral(word string) bool {
	if r.err != nil {
		return false
	}
	r.peekByte()
	if end := r.at + len(word); end <= len(r.data) && string(r.data[r.at:end]) == word {
		r.at = end
		return true
	}
	return false
}

// takeNull consumes a null if it comes next, and reports whether it did.
func (r *reader) takeNull() bool { return r.takeLiteral("null") }

func (r *reader) readBool() bool {
	if r.takeLiteral("true") {
		return true
	}
	if !r.takeLiteral("false") {
		r.setError("true or false is expected")
	}
	return false
}

// readNumber consumes the characters of a number.
func (r *reader) readNumber() string {
	if r.err != nil {
		return ""
	}
	r.peekByte()
	start := r.at
	for r.at < len(r.data) {
		c := r.data[r.at]
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		r.at++
	}
	if r.at-start > 64 {
		r.setError("a number has %d characters", r.at-start)
		return ""
	}
	return string(r.data[start:r.at])
}

func (r *reader) readInt() int64 {
	text := r.readNumber()
	if r.err != nil {
		return 0
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.setError("%.40q is no integer of 64 bits", text)
	}
	return i
}

// readFloat reads a number. PyTorch writes infinities and NaN as strings, and Python's json as words.
func (r *reader) readFloat() float64 {
	quoted := r.peekByte() == '"'
	if quoted {
		r.at++
	}
	var f float64
	switch {
	case r.takeLiteral("NaN"):
		f = math.NaN()
	case r.takeLiteral("Infinity"):
		f = math.Inf(1)
	case r.takeLiteral("-Infinity"):
		f = math.Inf(-1)
	default:
		text := r.readNumber()
		var err error
		if f, err = strconv.ParseFloat(text, 64); err != nil && !math.IsInf(f, 0) {
			r.setError("%.40q is no number", text)
		}
	}
	if quoted {
		r.takeByte('"')
	}
	return f
}

// readString reads a string.
func (r *reader) readString() string {
	text := r.readText()
	r.spendBudget(int64(len(text)) + 16)
	if r.err != nil {
		return ""
	}
	for _, c := range text {
		if c == 0 {
			r.setError("a string has a NUL")
			return ""
		}
	}
	return string(text)
}

// readText reads a string. The bytes are valid until the next call, in the record itself unless the string has escapes.
func (r *reader) readText() []byte {
	if !r.takeByte('"') {
		return nil
	}
	for i := r.at; i < len(r.data); i++ {
		switch r.data[i] {
		case '"':
			text := r.data[r.at:i]
			r.at = i + 1
			if !utf8.Valid(text) {
				r.setError("a string is not UTF-8")
			}
			return text
		case '\\':
			return r.readEscaped(i)
		}
	}
	r.setError("a string has no end")
	return nil
}

// readEscaped reads the rest of a string that has its first escape at first.
func (r *reader) readEscaped(first int) []byte {
	out := append([]byte(nil), r.data[r.at:first]...)
	for i := first; i < len(r.data); i++ {
		switch c := r.data[i]; c {
		case '"':
			r.at = i + 1
			if !utf8.Valid(out) {
				r.setError("a string is not UTF-8")
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
				unit, ok := r.parseUnit(i + 1)
				if i += 4; !ok {
					r.setError("a string has an invalid escape")
					return nil
				}
				if low, ok := r.parseUnit(i + 3); utf16.IsSurrogate(unit) && ok && r.data[i+1] == '\\' && r.data[i+2] == 'u' {
					unit = utf16.DecodeRune(unit, low)
					i += 6
				}
				out = utf8.AppendRune(out, unit)
			default:
				r.setError("a string has an invalid escape")
				return nil
			}
		default:
			out = append(out, c)
		}
	}
	r.setError("a string has no end")
	return nil
}

// parseUnit parses the four hexadecimal digits at i, a UTF-16 code unit.
func (r *reader) parseUnit(i int) (rune, bool) {
	if i+4 > len(r.data) {
		return 0, false
	}
	u, err := strconv.ParseUint(string(r.data[i:i+4]), 16, 16)
	return rune(u), err == nil
}

// skipValue consumes the next value.
func (r *reader) skipValue() {
	switch r.peekByte() {
	case '{':
		r.readObject(func(string) { r.skipValue() })
	case '[':
		r.readArray(r.skipValue)
	case '"':
		r.readText()
	default:
		if !r.takeNull() && !r.takeLiteral("true") && !r.takeLiteral("false") && !r.takeLiteral("NaN") && !r.takeLiteral("Infinity") &&
			!r.takeLiteral("-Infinity") && r.readNumber() == "" {
			r.setError("a value is expected")
		}
	}
}

// checkEnd checks that nothing follows the value.
func (r *reader) checkEnd() error {
	if r.err == nil && r.peekByte() != 0 {
		r.setError("the text goes on after its end")
	}
	return r.err
}
