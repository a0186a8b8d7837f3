package kernels

import (
	"regexp"
	"strings"
)

// unit is the PTX of one unit: its head, its declarations in order, and those with a name by name.
type unit struct {
	head  string
	parts []string
	named map[string][]int
}

// heading is how the declaration of an entry, a function or a constant begins, up to its name.
var heading = regexp.MustCompile(`^\.(?:visible \.)?(?:entry|func|global|const)\b(?: +\.\w+| +\d+| *\([^)]*\))* +([A-Za-z_$][\w$]*)`)

// parsePTX parses PTX as NVRTC formats it: only a declaration, or a part of the one before it, begins a line with a dot.
func parsePTX(text string) *unit {
	u := &unit{named: map[string][]int{}}
	for text != "" {
		part := text
		if end := strings.Index(text, "\n."); end >= 0 {
			part = text[:end+1]
		}
		text = text[len(part):]
		if found := heading.FindStringSubmatch(part); found != nil {
			u.named[found[1]] = append(u.named[found[1]], len(u.parts))
			u.parts = append(u.parts, part)
		} else if last := len(u.parts) - 1; last >= 0 {
			u.parts[last] += part
		} else {
			u.head += part
		}
	}
	return u
}

// findUsedNames returns the names in a declaration behind its own that are those of declarations.
func (u *unit) findUsedNames(part string) (names []string) {
	apart := func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("_$.%", r)
	}
	for word := range strings.FieldsFuncSeq(part[len(heading.FindString(part)):], apart) {
		if u.named[word] != nil {
			names = append(names, word)
		}
	}
	return names
}

// extractEntry returns the PTX of an entry alone, with all that it reaches: the driver takes seconds to compile a whole unit.
func (u *unit) extractEntry(entry string) string {
	needed, reached := make([]bool, len(u.parts)), map[string]bool{}
	for left := []string{entry}; len(left) > 0; {
		name := left[len(left)-1]
		left = left[:len(left)-1]
		if reached[name] {
			continue
		}
		reached[name] = true
		for _, i := range u.named[name] {
			needed[i] = true
			left = append(left, u.findUsedNames(u.parts[i])...)
		}
	}
	var text strings.Builder
	text.WriteString(u.head)
	for i, part := range u.parts {
		if needed[i] {
			text.WriteString(part)
		}
	}
	return text.String()
}
