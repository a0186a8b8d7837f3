package schema

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Kernel is a kernel as its unit declares it.
type Kernel struct {
	Name, Signature string
	DTypes          uint32 // bit i is set if the kernel has a function for dtype.All[i]
}

var (
	macroLine   = regexp.MustCompile(`(?m)^[ \t]*#define (LT_\w+)(\([^)]*\))?[ \t]+(.*)$`)
	kernelStart = regexp.MustCompile(`(\{|LT_SINGLE\()\s*"(\w+)",\s*(?:"([^"]*)",\s*)?`)
	macroName   = regexp.MustCompile(`\bLT_\w+`)
	lineComment = regexp.MustCompile(`//.*`)
)

// macro is a macro of the kernel sources that lists functions by dtype.
type macro struct {
	params []string
	body   string
}

// readMacros adds the macros that a source defines to those known. LT_ROW and LT_NONE are not expanded: the first is a function.
func readMacros(text string, known map[string]macro) {
	for _, m := range macroLine.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), -1) {
		if m[1] == "LT_ROW" || m[1] == "LT_NONE" {
			continue
		}
		var params []string
		for _, p := range strings.Split(strings.Trim(m[2], "()"), ",") {
			params = append(params, strings.TrimSpace(p))
		}
		known[m[1]] = macro{params, m[3]}
	}
}

// closeOf returns the index of the bracket that closes the one at text[0].
func closeOf(text string) int {
	depth := 0
	for i, c := range text {
		switch c {
		case '(', '{':
			depth++
		case ')', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text) - 1
}

// splitList splits at commas outside of brackets, including < and > of types.
func splitList(text string) []string {
	var items []string
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case strings.ContainsRune("({<", c):
			depth++
		case strings.ContainsRune(")}>", c):
			depth--
		case c == ',' && depth == 0:
			items = append(items, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	return append(items, strings.TrimSpace(text[from:]))
}

// expandMacros replaces macros by their bodies, until only LT_ROW and LT_NONE are left.
func expandMacros(text string, known map[string]macro) string {
	for {
		var at []int
		for _, m := range macroName.FindAllStringIndex(text, -1) {
			if _, ok := known[text[m[0]:m[1]]]; ok {
				at = m
				break
			}
		}
		if at == nil {
			return text
		}
		m, end := known[text[at[0]:at[1]]], at[1]
		body := m.body
		if m.params[0] != "" && strings.HasPrefix(text[end:], "(") {
			closing := closeOf(text[end:])
			args := splitList(text[end+1 : end+closing])
			for i, p := range m.params {
				body = regexp.MustCompile(`\b`+p+`\b`).ReplaceAllLiteralString(body, args[min(i, len(args)-1)])
			}
			end += closing + 1
		}
		text = text[:at[0]] + body + text[end:]
	}
}

// readUnit returns the kernels that a unit declares, with all conditional ones.
func readUnit(text string, known map[string]macro) []Kernel {
	text = lineComment.ReplaceAllString(text, "")
	own := map[string]macro{}
	for name, m := range known {
		own[name] = m
	}
	readMacros(text, own)
	var list []Kernel
	for _, part := range strings.Split(text, "LT_UNIT(")[1:] {
		for _, m := range kernelStart.FindAllStringSubmatchIndex(part, -1) {
			e := Kernel{Name: part[m[4]:m[5]], DTypes: 1} // a single function has no dtype
			if m[6] >= 0 {
				e.Signature = part[m[6]:m[7]]
			}
			if part[m[2]] == '{' {
				rest := part[m[0]:]
				rows := expandMacros(strings.TrimSpace(rest[m[1]-m[0]:closeOf(rest)]), own)
				e.DTypes = 0
				for i, row := range splitList(strings.Trim(rows, "{} ")) {
					if row != "LT_NONE" && row != "nullptr" && row != "" {
						e.DTypes |= 1 << i
					}
				}
			}
			if !slices.ContainsFunc(list, func(o Kernel) bool { return o.Name == e.Name }) {
				list = append(list, e)
			}
		}
	}
	return list
}

// ReadKernels returns the kernels of a folder of units, by name. The macros are those of the folder above it and of the unit.
func ReadKernels(units string) ([]Kernel, error) {
	known := map[string]macro{}
	if err := eachHeader(filepath.Dir(units), func(text string) { readMacros(lineComment.ReplaceAllString(text, ""), known) }); err != nil {
		return nil, err
	}
	var all []Kernel
	if err := eachHeader(units, func(text string) { all = append(all, readUnit(text, known)...) }); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Kernel) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// eachHeader calls f with the text of each header of a folder.
func eachHeader(folder string, f func(text string)) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.h"))
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f(string(text))
	}
	return nil
}
