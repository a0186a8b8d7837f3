package schema

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Structure is a structure of a C header that Go passes to C.
type Structure struct {
	Name   string
	Path   string // of the header
	Text   string // the declarations of the fields in C, without comments; alignas(n) is LT_ALIGNED_n
	Fields []Field
}

// Field is a field of a structure, with the numbers of elements of an array, the outermost first.
type Field struct {
	Name, Type string
	Lengths    []int
}

// FieldTypes are the C types that fields may have, and those of Go for them. Other fields are structures.
var FieldTypes = map[string]string{
	"bool": "bool", "char": "uint8", "double": "float64", "float": "float32", "int16_t": "int16", "int32_t": "int32", "int64_t": "int64", "int8_t": "int8",
	"uint32_t": "uint32", "uint64_t": "uint64", "uint8_t": "uint8", "uintptr_t": "uintptr",
}

var (
	enumBody     = regexp.MustCompile(`(?s)\benum \{(.*?)\}`)
	constantBody = regexp.MustCompile(`(?m)^constexpr int(?:64_t)? ([^;(]*);`)
	alignment    = regexp.MustCompile(`\balignas\((\w+)\) `)
	aligned      = regexp.MustCompile(`\bLT_ALIGNED_\w+ `)
	enumItem     = regexp.MustCompile(`^(\w+)(?:\s*=\s*(.+))?$`)
	typedefBody  = regexp.MustCompile(`(?m)^typedef struct \{([^{}]*)\} (lt_\w+);`)
	structBody   = regexp.MustCompile(`(?m)^struct (\w+) \{([^{}()]*)\};`)
	pointerField = regexp.MustCompile(`\*\w`)
	declaration  = regexp.MustCompile(`^(\w+)\s+(.+)$`)
	declarator   = regexp.MustCompile(`^(\w+)((?:\[[\w* ]+\])*)$`)
)

// ReadStructures returns the structures that headers declare, which patterns name, by name: those with a typedef, and, of kernel sources,
// those that are arguments of kernels, called NAME_args or NAME_params, and those that these contain. Structures with pointers are left
// out: C alone uses them.
func ReadStructures(patterns ...string) ([]Structure, error) {
	return ReadNamedStructures(nil, patterns...)
}

// ReadNamedStructures returns the structures with the given names, and those that these contain; without names it is ReadStructures.
func ReadNamedStructures(names []string, patterns ...string) ([]Structure, error) {
	constants, declared, wanted := map[string]int{}, map[string]Structure{}, slices.Clone(names)
	err := eachFile(patterns, func(path, text string) error {
		text = alignment.ReplaceAllString(lineComment.ReplaceAllString(text, ""), "LT_ALIGNED_$1 ")
		if err := readEnums(text, constants); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for _, m := range typedefBody.FindAllStringSubmatch(text, -1) {
			declared[m[2]] = Structure{m[2], path, m[1], nil}
			if names == nil && !pointerField.MatchString(m[1]) {
				wanted = append(wanted, m[2])
			}
		}
		for _, m := range structBody.FindAllStringSubmatch(text, -1) {
			declared[m[1]] = Structure{m[1], path, m[2], nil}
			if names == nil && (strings.HasSuffix(m[1], "_args") || strings.HasSuffix(m[1], "_params")) {
				wanted = append(wanted, m[1])
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []Structure
	for len(wanted) > 0 {
		s, known := declared[wanted[0]]
		if !known {
			return nil, fmt.Errorf("no header declares %s", wanted[0])
		}
		wanted = wanted[1:]
		if slices.ContainsFunc(all, func(o Structure) bool { return o.Name == s.Name }) {
			continue
		}
		if s.Fields, err = readFields(s.Text, constants); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", s.Name, s.Path, err)
		}
		for _, f := range s.Fields {
			if _, known := FieldTypes[f.Type]; !known {
				if _, known = declared[f.Type]; !known {
					return nil, fmt.Errorf("%s of %s: the field %s has the type %s, which Go has no type for", s.Name, s.Path, f.Name, f.Type)
				}
				wanted = append(wanted, f.Type)
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Structure) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// eachFile calls f with the path and the text of each file that patterns name.
func eachFile(patterns []string, f func(path, text string) error) error {
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err == nil {
				err = f(path, string(text))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// readEnums adds the constants of enumerations, which may be products of those before them, to those known, and other integer constants
// that are such products.
func readEnums(text string, known map[string]int) error {
	for _, m := range constantBody.FindAllStringSubmatch(text, -1) {
		for _, item := range strings.Split(m[1], ",") {
			if part := enumItem.FindStringSubmatch(strings.TrimSpace(item)); part != nil {
				if n, err := valueOf(part[2], known); err == nil {
					known[part[1]] = n
				}
			}
		}
	}
	for _, m := range enumBody.FindAllStringSubmatch(text, -1) {
		next := 0
		for _, item := range strings.Split(strings.TrimRight(m[1], ", \n"), ",") {
			part := enumItem.FindStringSubmatch(strings.TrimSpace(item))
			if part == nil {
				return fmt.Errorf("%q is not a constant of an enumeration", item)
			}
			if part[2] != "" {
				var err error
				if next, err = valueOf(part[2], known); err != nil {
					return err
				}
			}
			known[part[1]] = next
			next++
		}
	}
	return nil
}

// valueOf returns the product of numbers and constants.
func valueOf(text string, constants map[string]int) (int, error) {
	product := 1
	for _, factor := range strings.Split(text, "*") {
		factor = strings.TrimSpace(factor)
		n, known := constants[factor]
		if !known {
			var err error
			if n, err = strconv.Atoi(factor); err != nil {
				return 0, err
			}
		}
		product *= n
	}
	return product, nil
}

// readFields reads the declarations of a structure's fields.
func readFields(text string, constants map[string]int) ([]Field, error) {
	var fields []Field
	for _, line := range strings.Split(text, ";") {
		line = strings.Join(strings.Fields(aligned.ReplaceAllString(line, "")), " ")
		if line == "" {
			continue
		}
		m := declaration.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("%q does not declare fields", line)
		}
		for _, item := range strings.Split(m[2], ",") {
			d := declarator.FindStringSubmatch(strings.TrimSpace(item))
			if d == nil {
				return nil, fmt.Errorf("%q is neither a field nor an array", item)
			}
			f := Field{Name: d[1], Type: m[1]}
			for _, length := range strings.FieldsFunc(d[2], func(r rune) bool { return r == '[' || r == ']' }) {
				n, err := valueOf(length, constants)
				if err != nil {
					return nil, err
				}
				f.Lengths = append(f.Lengths, n)
			}
			fields = append(fields, f)
		}
	}
	return fields, nil
}
