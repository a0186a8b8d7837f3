package named

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// List is the text of names in errors: ['N', None].
func List(names []string) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = "None"
		if name != "" {
			texts[i] = "'" + name + "'"
		}
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// Check refuses names that are no identifiers of ASCII letters, digits and underscores, and repeats.
func Check(op string, names []string) error {
	for _, name := range names {
		if !identifier(name) {
			if !utf8.ValidString(name) {
				name = strings.ToValidUTF8(name, "?")
			}
			return status.Runtimef("%s: Invalid name: a valid identifier contains only digits, alphabetical characters, and/or underscore and starts with a non-digit. got: '%s'", op, name)
		}
	}
	if name := repeated(names); name != "" {
		return status.Runtimef("%s: Cannot construct a tensor with duplicate names. Got names: %s: '%s' is there twice", op, List(names), name)
	}
	return nil
}

func identifier(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// Dim is the dimension of t with a name.
func Dim(op string, t *tensor.Tensor, name string) (int64, error) {
	names := Of(t)
	if at := slices.Index(names, name); at >= 0 && name != "" {
		return int64(at), nil
	}
	return 0, status.Runtimef("%sName '%s' not found in Tensor%s.", op, name, List(names))
}
