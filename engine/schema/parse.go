package schema

import (
	"fmt"
	"slices"
	"strings"
)

// parseSignature parses "name:overload(Type name=default, *, Type name) -> Type" or "-> (Type name, Type name)", or the name alone.
func (o *Operator) parseSignature() error {
	head, rest, signed := strings.Cut(o.Func, "(")
	o.Name, o.Overload, _ = strings.Cut(head, ":")
	if !signed {
		return nil
	}
	end := findClosing(rest)
	if end < 0 {
		return fmt.Errorf("argument list is not closed")
	}
	kwOnly := false
	for _, text := range splitFields(rest[:end]) {
		if text == "*" {
			kwOnly = true
			continue
		}
		a, err := parseArg(text)
		if err != nil {
			return err
		}
		a.KwOnly = kwOnly
		o.Args = append(o.Args, a)
	}
	result, ok := strings.CutPrefix(strings.TrimSpace(rest[end+1:]), "->")
	if !ok {
		return fmt.Errorf("no result in signature")
	}
	result = strings.TrimSpace(result)
	for i, a := range o.Args {
		o.Args[i].Words = o.Words[a.Name]
	}
	if result == "()" {
		return nil
	}
	if strings.HasPrefix(result, "(") && strings.HasSuffix(result, ")") {
		for _, text := range splitFields(result[1 : len(result)-1]) {
			a, err := parseArg(text)
			if err != nil {
				return err
			}
			o.Returns = append(o.Returns, a)
		}
		return nil
	}
	t, alias, mutated, err := parseType(result)
	o.Returns = []Arg{{Name: "out", Type: t, AliasSet: alias, Mutated: mutated}}
	return err
}

// findClosing returns the index of the parenthesis that closes an already opened one.
func findClosing(s string) int {
	depth := 1
	for i, r := range s {
		switch r {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// splitFields splits at commas outside brackets.
func splitFields(s string) []string {
	var out []string
	depth, start := 0, 0
	for i, r := range s {
		switch r {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(s[start:]); last != "" {
		out = append(out, last)
	}
	return out
}

func parseArg(text string) (Arg, error) {
	kind, name, ok := strings.Cut(text, " ")
	if !ok {
		return Arg{}, fmt.Errorf("argument %q has no name", text)
	}
	name, def, _ := strings.Cut(name, "=")
	t, alias, mutated, err := parseType(kind)
	return Arg{Name: name, Type: t, Default: def, AliasSet: alias, Mutated: mutated}, err
}

func parseType(text string) (t Type, alias string, mutated bool, err error) {
	if i := strings.Index(text, "("); i >= 0 {
		j := strings.Index(text, ")")
		if j < i {
			return t, "", false, fmt.Errorf("type %q is malformed", text)
		}
		alias, mutated = strings.CutSuffix(text[i+1:j], "!")
		text = text[:i] + text[j+1:]
	}
	text, t.Optional = strings.CutSuffix(text, "?")
	text, t.List = strings.CutSuffix(text, "[]")
	if t.List && !t.Optional {
		text, t.Optional = strings.CutSuffix(text, "?") // Tensor?[]: a list of tensors, some absent
	}
	t.Base = strings.ReplaceAll(text, "Tensor|Scalar", "Operand")
	if t.Function = functionTypes[text]; t.Function != "" {
		t.Base = "pointer"
	}
	if text == "const_pointer" {
		t.Base, t.Const = "pointer", true
	}
	if !slices.Contains(Bases, t.Base) {
		return t, "", false, fmt.Errorf("type %q is not one of %v", text, Bases)
	}
	return t, alias, mutated, nil
}
