package npy

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/status"
)

// magic begins every .npy file; two bytes of version follow.
const magic = "\x93NUMPY"

// align is NumPy's alignment of the elements.
const align = 64

// maxHeader is the most bytes that a header may have: NumPy's own have some hundred, records with many fields some thousand.
const maxHeader = 1 << 20

// header is an array's metadata.
type header struct {
	dtype   dtype.DType
	swapped bool // the elements are big-endian
	fortran bool // column-major
	shape   []int64
	size    int64 // of the header, in bytes
}

// encodeHeader returns a header of version 1.0, or of 2.0 for a great many dimensions.
func encodeHeader(op string, d dtype.DType, shape []int64) ([]byte, error) {
	name := d.NumPyType()
	if name == "" {
		return nil, status.Typef("%s: the tensor has dtype %v, which NumPy does not have; convert it first", op, d)
	}
	order := "<"
	if d.Size() == 1 {
		order = "|"
	}
	var sizes strings.Builder
	for i, n := range shape {
		if i > 0 {
			sizes.WriteString(", ")
		}
		sizes.WriteString(strconv.FormatInt(n, 10))
	}
	if len(shape) == 1 {
		sizes.WriteString(",")
	}
	text := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, name, sizes.String())
	before := len(magic) + 2 + 2
	text += strings.Repeat(" ", -(before+len(text)+1)&(align-1)) + "\n"
	out := append([]byte(magic), 1, 0)
	out = binary.LittleEndian.AppendUint16(out, uint16(len(text))) // 64 dimensions fit
	return append(out, text...), nil
}

// parser reads the Python literal that a header is.
type parser struct {
	op   string
	text string
	at   int
}

func (p *parser) newError(format string, args ...any) error {
	return status.Runtimef("%s: the .npy header is invalid: "+format+" (%.200q)", append(append([]any{p.op}, args...), p.text)...)
}

func (p *parser) skipSpace() {
	for p.at < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.at]) >= 0 {
		p.at++
	}
}

// takeToken skips token if it is next, and reports whether it was.
func (p *parser) takeToken(token string) bool {
	p.skipSpace()
	if strings.HasPrefix(p.text[p.at:], token) {
		p.at += len(token)
		return true
	}
	return false
}

// parseString reads a string without escapes.
func (p *parser) parseString() (string, error) {
	p.skipSpace()
	if p.at < len(p.text) && (p.text[p.at] == '\'' || p.text[p.at] == '"') {
		rest := p.text[p.at+1:]
		if end := strings.IndexByte(rest, p.text[p.at]); end >= 0 && !strings.Contains(rest[:end], `\`) {
			p.at += end + 2
			return rest[:end], nil
		}
	}
	return "", p.newError("a string is expected at byte %d", p.at)
}

func (p *parser) parseInt() (int64, error) {
	p.skipSpace()
	end := p.at
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	n, err := strconv.ParseInt(p.text[p.at:end], 10, 64)
	if err != nil {
		return 0, p.newError("a size is expected at byte %d", p.at)
	}
	p.at = end
	p.takeToken("L") // as Python 2 wrote it
	return n, nil
}

func (p *parser) parseTuple() ([]int64, error) {
	if !p.takeToken("(") {
		return nil, p.newError("a tuple is expected at byte %d", p.at)
	}
	sizes := []int64{}
	for !p.takeToken(")") {
		n, err := p.parseInt()
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, n)
		if !p.takeToken(",") && !strings.HasPrefix(p.text[p.at:], ")") {
			return nil, p.newError("a comma is expected at byte %d", p.at)
		}
	}
	return sizes, nil
}

// parseHeader reads {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, in any order.
func (p *parser) parseHeader() (*header, error) {
	h := &header{dtype: dtype.None}
	seen := map[string]bool{}
	if !p.takeToken("{") {
		return nil, p.newError("it does not start with {")
	}
	for !p.takeToken("}") {
		key, err := p.parseString()
		if err != nil {
			return nil, err
		}
		if seen[key] || !p.takeToken(":") {
			return nil, p.newError("key %.100q occurs twice or has no value", key)
		}
		seen[key] = true
		if err := p.parseValue(key, h); err != nil {
			return nil, err
		}
		if !p.takeToken(",") && !strings.HasPrefix(p.text[p.at:], "}") {
			return nil, p.newError("a comma is expected at byte %d", p.at)
		}
	}
	p.skipSpace()
	if p.at != len(p.text) || !seen["descr"] || !seen["fortran_order"] || !seen["shape"] {
		return nil, p.newError("it must have the keys descr, fortran_order and shape, and nothing after them")
	}
	return h, nil
}

func (p *parser) parseValue(key string, h *header) (err error) {
	switch key {
	case "descr":
		p.skipSpace()
		if strings.HasPrefix(p.text[p.at:], "[") {
			return status.NotImplementedf("%s: the file has an array of records (%.80s), which is not supported", p.op, p.text[p.at:])
		}
		var name string
		if name, err = p.parseString(); err == nil {
			h.dtype, h.swapped, err = p.parseDType(name)
		}
	case "fortran_order":
		h.fortran = p.takeToken("True")
		if !h.fortran && !p.takeToken("False") {
			err = p.newError("fortran_order must be True or False")
		}
	case "shape":
		h.shape, err = p.parseTuple()
	default:
		err = p.newError("it has the unknown key %.100q", key)
	}
	return err
}

// parseDType reads a name such as "<f4".
func (p *parser) parseDType(name string) (d dtype.DType, swapped bool, err error) {
	order, rest := name[:min(len(name), 1)], name[min(len(name), 1):]
	for _, d := range dtype.Named() {
		if rest == d.NumPyType() && rest != "" && (order == "<" || order == ">" || (order == "|" || order == "=") && d.Size() == 1) {
			return d, order == ">" && d.Size() > 1, nil
		}
	}
	if strings.HasPrefix(rest, "O") {
		return dtype.None, false, status.NotImplementedf(
			"%s: the file has an array of Python objects, which are never loaded: they could run code",
			p.op)
	}
	return dtype.None, false, status.NotImplementedf("%s: the file has dtype %.100q, which libtensor does not have", p.op, name)
}

// decodeHeader reads the header of a file. more returns the first n bytes.
func decodeHeader(op string, more func(n int64) ([]byte, error)) (*header, error) {
	head, err := more(12)
	if err != nil {
		return nil, err
	}
	if len(head) < len(magic)+4 || string(head[:len(magic)]) != magic {
		return nil, status.Runtimef("%s: the file does not begin as a .npy file does", op)
	}
	fixed, length := int64(10), int64(binary.LittleEndian.Uint16(head[8:]))
	switch version := head[len(magic)]; version {
	case 1:
	case 2, 3:
		fixed = 12
		if len(head) < int(fixed) {
			return nil, status.Runtimef("%s: the file is truncated within its header", op)
		}
		length = int64(binary.LittleEndian.Uint32(head[8:]))
	default:
		return nil, status.NotImplementedf("%s: version %d of the .npy format is not supported; versions 1 to 3 are", op, version)
	}
	if length > maxHeader {
		return nil, status.Runtimef("%s: the length of the .npy header, %d bytes, exceeds the maximum of %d", op, length, maxHeader)
	}
	all, err := more(fixed + length)
	if err != nil {
		return nil, err
	}
	if int64(len(all)) < fixed+length {
		return nil, status.Runtimef("%s: the file is truncated within its header: it has %d of %d bytes", op, len(all), fixed+length)
	}
	h, err := (&parser{op: op, text: string(all[fixed:])}).parseHeader()
	if err == nil {
		h.size = fixed + length
	}
	return h, err
}
