package gguf

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/status"
)

const (
	// windowBytes is how much of the header is read at a time.
	windowBytes = 1 << 16
	// textCost is the memory for metadata in multiples of its bytes: as JSON, and as objects of the calling language. A byte becomes
	// up to six characters of JSON.
	textCost = 64
	maxDepth = 4 // of arrays in arrays
)

// reader reads a header from front to back. After the first error it returns zeros.
type reader struct {
	op     string
	source *file.Source
	budget *file.Budget
	at     int64
	window []byte // bytes of the file from `from` on
	from   int64
	err    error
}

// setError records an error about the header, unless there is one already.
func (r *reader) setError(format string, args ...any) {
	if r.err == nil {
		r.err = status.Runtimef("%s: the GGUF header is invalid: "+format, append([]any{r.op}, args...)...)
	}
}

func (r *reader) spendBudget(n int64) {
	if r.err == nil {
		r.err = r.budget.Spend(n)
	}
}

// readBytes returns the next n bytes, which are valid until the next call, or nil after an error.
func (r *reader) readBytes(n int64, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > r.source.Size-r.at {
		r.err = status.Runtimef("%s: the file is damaged or truncated: it has %d bytes, and %s has %d from byte %d on", r.op, r.source.Size, what,
			uint64(n), r.at)
		return nil
	}
	if r.at < r.from || r.at+n > r.from+int64(len(r.window)) {
		r.window, r.err = r.source.Bytes(r.op, r.at, min(max(n, windowBytes), r.source.Size-r.at))
		if r.from = r.at; r.err != nil {
			return nil
		}
	}
	start := r.at - r.from
	r.at += n
	return r.window[start : start+n]
}

func (r *reader) readUint32(what string) uint32 {
	if b := r.readBytes(4, what); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) readUint64(what string) uint64 {
	if b := r.readBytes(8, what); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// readCount reads the number of items that follow, each of at least that many bytes.
func (r *reader) readCount(what string, least int64) int64 {
	n := r.readUint64("the number of " + what)
	if r.err == nil && n > uint64((r.source.Size-r.at)/least) {
		r.setError("it has %d %s, more than the %d bytes of the file can hold", n, what, r.source.Size)
	}
	if r.err != nil {
		return 0
	}
	return int64(n)
}

// readString reads a string.
func (r *reader) readString(what string) string {
	n := r.readUint64("the length of " + what)
	if n > math.MaxInt64 {
		n = math.MaxInt64
	}
	b := r.readBytes(int64(n), what)
	if r.spendBudget(textCost * int64(len(b))); r.err != nil {
		return ""
	}
	if !isText(b) {
		r.setError("%s, %.100q, is not UTF-8", what, b)
		return ""
	}
	return string(b)
}

// readMetadata reads pairs of keys and values as a JSON object, and returns the alignment of tensors.
func (r *reader) readMetadata(f *File, pairs int64) int64 {
	alignment := int64(defaultAlignment)
	seen := map[string]bool{}
	var out strings.Builder
	out.WriteString("{")
	for i := int64(0); i < pairs && r.err == nil; i++ {
		key := r.readString("a metadata key")
		if r.spendBudget(entryCost); r.err == nil && seen[key] {
			r.setError("the metadata key %.100q occurs twice", key)
		}
		seen[key] = true
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString(quoteString(key) + ":")
		begin := out.Len()
		kind := r.readUint32("the type of a metadata value")
		r.readValue(&out, key, kind, 0)
		if key == alignmentKey && r.err == nil {
			n, err := strconv.ParseUint(out.String()[begin:], 10, 32)
			if err != nil || bits.OnesCount64(n) != 1 {
				r.setError("%s is %.100s, not a power of two", alignmentKey, out.String()[begin:])
			}
			alignment = max(int64(n), 1)
		}
	}
	out.WriteString("}")
	f.Metadata = out.String()
	return alignment
}

// numbers are the metadata types with a fixed size, by number: how many bytes they have, and their JSON.
var numbers = map[uint32]struct {
	bytes int64
	text  func(bits uint64) string
}{
	0:  {1, func(v uint64) string { return strconv.FormatUint(v, 10) }},
	1:  {1, func(v uint64) string { return strconv.FormatInt(int64(int8(v)), 10) }},
	2:  {2, func(v uint64) string { return strconv.FormatUint(v, 10) }},
	3:  {2, func(v uint64) string { return strconv.FormatInt(int64(int16(v)), 10) }},
	4:  {4, func(v uint64) string { return strconv.FormatUint(v, 10) }},
	5:  {4, func(v uint64) string { return strconv.FormatInt(int64(int32(v)), 10) }},
	6:  {4, func(v uint64) string { return formatFloat(float64(math.Float32frombits(uint32(v))), 32) }},
	7:  {1, func(v uint64) string { return strconv.FormatBool(v == 1) }},
	10: {8, func(v uint64) string { return strconv.FormatUint(v, 10) }},
	11: {8, func(v uint64) string { return strconv.FormatInt(int64(v), 10) }},
	12: {8, func(v uint64) string { return formatFloat(math.Float64frombits(v), 64) }},
}

const (
	boolType, textType, arrayType = 7, 8, 9
	leastItem                     = 1 // bytes
)

// readValue reads a metadata value of a type.
func (r *reader) readValue(out *strings.Builder, key string, kind uint32, depth int) {
	if r.err != nil {
		return
	}
	if number, ok := numbers[kind]; ok {
		var wide [8]byte
		copy(wide[:], r.readBytes(number.bytes, "a metadata value"))
		v := binary.LittleEndian.Uint64(wide[:])
		if kind == boolType && v > 1 {
			r.setError("the metadata key %.100q has the bool %d", key, v)
		}
		out.WriteString(number.text(v))
		return
	}
	switch kind {
	case textType:
		out.WriteString(quoteString(r.readString("a metadata string")))
	case arrayType:
		of := r.readUint32("the type of a metadata array")
		n := r.readCount("items in a metadata array", leastItem)
		if depth == maxDepth {
			r.setError("the metadata key %.100q has more than %d arrays in each other", key, maxDepth)
		}
		out.WriteString("[")
		for i := int64(0); i < n && r.err == nil; i++ {
			if i > 0 {
				out.WriteString(",")
			}
			r.spendBudget(textCost)
			r.readValue(out, key, of, depth+1)
		}
		out.WriteString("]")
	default:
		r.setError("the metadata key %.100q has the unknown type %d", key, kind)
	}
}

func quoteString(s string) string {
	text, _ := json.Marshal(s) // a string cannot fail
	return string(text)
}

// formatFloat returns a number in JSON, which has no infinities and no NaN: {"float": "nan"}.
func formatFloat(v float64, bits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return `{"float":` + quoteString(strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, bits), "+"))) + "}"
	}
	text := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
