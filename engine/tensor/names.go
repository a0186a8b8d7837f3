package tensor

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/status"
)

// Names of dimensions are lists with "" for an unnamed dimension. Lists are immutable once a tensor has them, so that aliases share them.

// SetNames returns the tensor names of its dimensions, "" for one without; a list without any name, and nil, leave it unnamed. The list is
// the tensor's from now on, and its aliases'.
func (t *Tensor) SetNames(names []string) {
	t.kind.names, t.kind.keys = nil, t.kind.keys&^Named
	if len(names) == len(t.sizes) && slices.ContainsFunc(names, func(name string) bool { return name != "" }) {
		t.kind.names, t.kind.keys = &names, t.kind.keys|Named
	}
}

// Rename is SetNames, and rejects while a call on another thread uses the tensor.
func (t *Tensor) Rename(op string, names []string) error {
	t.changing.Add(1)
	defer t.changing.Add(-1)
	if UsedElsewhere(t) {
		return status.Runtimef("%s: the tensor of sizes %v is in use by a call on another thread and cannot change its names; wait until that call returns",
			op, t.sizes)
	}
	t.SetNames(names)
	return nil
}

// Names returns the names of the dimensions, "" for unnamed ones, or nil if none is named. Do not change the list.
func (t *Tensor) Names() []string {
	if t.kind.names == nil {
		return nil
	}
	return *t.kind.names
}

// RepeatedName returns the first name that occurs twice in a list, or "".
func RepeatedName(names []string) string {
	for i, name := range names {
		if name != "" && slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// NamesText returns the text of names in errors: ['N', None].
func NamesText(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = "None"
		if name != "" {
			texts[i] = "'" + name + "'"
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// CheckNames returns an error for names that are no identifiers of ASCII letters, digits and underscores, and repeats.
func CheckNames(op string, names []string) error {
	for _, name := range names {
		if !isIdentifier(name) {
			if !utf8.ValidString(name) {
				name = strings.ToValidUTF8(name, "?")
			}
			return status.Runtimef("%s: Invalid name: a valid identifier contains only digits, alphabetical characters, and/or underscore and starts with a non-digit. got: '%s'",
				op, name)
		}
	}
	if name := RepeatedName(names); name != "" {
		return status.Runtimef("%s: Cannot construct a tensor with duplicate names. Got names: %s: '%s' occurs twice", op, NamesText(names), name)
	}
	return nil
}

// isIdentifier reports whether a name consists of letters, digits and underscores, and does not begin with a digit.
func isIdentifier(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}
