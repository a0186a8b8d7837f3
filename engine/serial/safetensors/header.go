package safetensors

import (
	"encoding/json"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
)

const metadataKey = "__metadata__"

func contiguousStrides(sizes []int64) []int64 { return shape.ContiguousStrides(sizes) }

// member is a key of a JSON object and its value.
type member struct {
	key   string
	value json.RawMessage
}

// parseMembers parses a JSON object, whose keys must differ.
func parseMembers(text string) ([]member, error) {
	d := json.NewDecoder(strings.NewReader(text))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, fmt.Errorf("it does not start with {")
	}
	var all []member
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // as the decoder sees to
		if seen[key] {
			return nil, fmt.Errorf("the key %.100q occurs twice", key)
		}
		seen[key] = true
		m := member{key: key}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("it has extra data after its end")
	}
	return all, nil
}

func checkMetadata(op string, pairs []member) error {
	for _, m := range pairs {
		if len(m.value) == 0 || m.value[0] != '"' {
			return status.Valuef("%s: the metadata has %.100s under %.100q; only strings are supported", op, m.value, m.key)
		}
	}
	return nil
}

func (f *File) newHeaderError(format string, args ...any) error {
	return status.Runtimef("%s: the safetensors header is invalid: "+format, append([]any{f.op}, args...)...)
}

// parseHeader reads the header and checks it against the size of the file.
func (f *File) parseHeader() error {
	if !utf8.ValidString(f.Header) {
		return f.newHeaderError("it is not UTF-8")
	}
	if !strings.HasPrefix(f.Header, "{") {
		return f.newHeaderError("it does not start with {")
	}
	all, err := parseMembers(f.Header)
	if err != nil {
		return f.newHeaderError("%v", err)
	}
	data := int64(8 + len(f.Header))
	for _, m := range all {
		if m.key == metadataKey {
			pairs, err := parseMembers(string(m.value))
			if err == nil {
				err = checkMetadata(f.op, pairs)
			}
			if err != nil {
				return f.newHeaderError("%s: %v", metadataKey, err)
			}
			f.Meta = string(m.value)
			continue
		}
		e, err := f.parseEntry(m)
		if err != nil {
			return err
		}
		e.begin, e.end = e.begin+data, e.end+data
		f.entries = append(f.entries, e)
	}
	return f.checkOffsets(data)
}

// parseEntry reads {"dtype": ..., "shape": ..., "data_offsets": ...}.
func (f *File) parseEntry(m member) (*entry, error) {
	fields, err := parseMembers(string(m.value))
	if err != nil {
		return nil, f.newHeaderError("tensor %.100q: %v", m.key, err)
	}
	e := &entry{name: m.key}
	var name string
	var offsets []int64
	for k, into := range []any{&name, &e.shape, &offsets} {
		key := []string{"dtype", "shape", "data_offsets"}[k]
		i := slices.IndexFunc(fields, func(field member) bool { return field.key == key })
		if i < 0 {
			return nil, f.newHeaderError("tensor %.100q has no %s", m.key, key)
		}
		if err := json.Unmarshal(fields[i].value, into); err != nil || strings.Contains(string(fields[i].value), "null") {
			return nil, f.newHeaderError("tensor %.100q has %.100s as %s", m.key, fields[i].value, key)
		}
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return nil, f.newHeaderError("tensor %.100q has the unknown dtype %.100q", m.key, name)
	}
	e.kind = kinds[i]
	if len(offsets) != 2 || offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > f.source.Size {
		return nil, f.newHeaderError("tensor %.100q has data_offsets %.100s", m.key, status.Textf("%v", offsets))
	}
	e.begin, e.end = offsets[0], offsets[1]
	need, err := e.computeSize()
	if err != nil || need != e.end-e.begin {
		return nil, f.newHeaderError("tensor %.100q of shape %.100s and dtype %s does not have the %d bytes that data_offsets %v specify", m.key,
			status.Textf("%v", e.shape), name, e.end-e.begin, offsets)
	}
	return e, nil
}

// computeSize returns the size in bytes for the shape and dtype.
func (e *entry) computeSize() (int64, error) {
	total := uint64(e.kind.bits)
	zero := false
	for _, n := range e.shape {
		if n < 0 {
			return 0, fmt.Errorf("size %d is negative", n)
		}
		zero = zero || n == 0
		high, low := bits.Mul64(total, uint64(max(n, 1)))
		if high != 0 || low > 1<<62 {
			return 0, fmt.Errorf("shape %v is too large", e.shape)
		}
		total = low
	}
	if zero {
		return 0, nil
	}
	if total%8 != 0 {
		return 0, fmt.Errorf("%d bits are not a multiple of 8", total)
	}
	return int64(total / 8), nil
}

// checkOffsets returns an error unless the tensors fill the file, in some order, without gaps or overlaps.
func (f *File) checkOffsets(data int64) error {
	slices.SortStableFunc(f.entries, func(a, b *entry) int {
		if a.begin != b.begin {
			return int(min(max(a.begin-b.begin, -1), 1))
		}
		return int(min(max(a.end-b.end, -1), 1))
	})
	at := data
	for _, e := range f.entries {
		if e.begin != at {
			return f.newHeaderError("tensor %.100q begins at byte %d of the data, and the one before it ends at byte %d", e.name, e.begin-data,
				at-data)
		}
		at = e.end
	}
	if at != f.source.Size {
		return status.Runtimef("%s: the header describes %d bytes of data, and the file has %d: it is damaged or truncated", f.op, at-data,
			f.source.Size-data)
	}
	return nil
}
