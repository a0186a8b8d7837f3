package schema

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Aten is the content of aten.yaml: how calls by ATen's names reach the operators.
type Aten struct {
	Overloads []*AtenOverload `yaml:"overloads"`
	Absent    []struct {
		Reason    string   `yaml:"reason"`
		Overloads []string `yaml:"overloads"`
	} `yaml:"absent"`
	Missing []string `yaml:"missing"` // the operators that libtensor lacks
	Core    []string `yaml:"core"`    // the overloads of Core ATen IR
}

// AtenOverload is an overload of an operator of ATen, with those that are derived from it.
type AtenOverload struct {
	Schema  string   `yaml:"schema"`
	Entry   string   `yaml:"entry"` // ID of the operator, "=" for a function in C
	Map     string   `yaml:"map"`
	Form    string   `yaml:"form"`
	InPlace bool     `yaml:"in_place"`
	Out     []string `yaml:"out"`
}

// Computed is the Entry of overloads that functions in C implement.
const Computed = "="

// IsComputed reports whether a function in C implements the overload: either the function of the overload or, after the sign, that of
// another one.
func (o *AtenOverload) IsComputed() bool { return strings.HasPrefix(o.Entry, Computed) }

// Name returns the name with the overload, as in add.Tensor and relu.
func (o *AtenOverload) Name() string {
	name, _, _ := strings.Cut(o.Schema, "(")
	return name
}

// Signature returns the schema without the name.
func (o *AtenOverload) Signature() string { return strings.TrimPrefix(o.Schema, o.Name()) }

// SplitAtenName returns the name of an operator and that of its overload, "" for the default one.
func SplitAtenName(name string) (base, overload string) {
	base, overload, _ = strings.Cut(name, ".")
	return base, overload
}

// LoadAten reads aten.yaml in the folder engine, and checks it against the operators.
func LoadAten(engine string, ops []*Operator) (*Aten, error) {
	path := filepath.Join(engine, "schema/aten.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	table := &Aten{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(table); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	known := map[string]bool{}
	for _, o := range ops {
		known[o.ID()] = true
	}
	seen := map[string]bool{}
	for _, o := range table.Overloads {
		if o.Entry == "" {
			o.Entry, _ = SplitAtenName(o.Name())
		}
		switch {
		case !known[o.Entry] && !o.IsComputed():
			return nil, fmt.Errorf("%s: %s: entry %q is not a public operator", path, o.Name(), o.Entry)
		case strings.Contains(o.Map, " "):
			return nil, fmt.Errorf("%s: %s: map %q contains a space; separate its items by commas alone", path, o.Name(), o.Map)
		case seen[o.Name()]:
			return nil, fmt.Errorf("%s: %s: also defined above", path, o.Name())
		case o.Form != "" && o.Form != "in_place" && o.Form != "out":
			return nil, fmt.Errorf("%s: %s: form %q is neither in_place nor out", path, o.Name(), o.Form)
		}
		seen[o.Name()] = true
	}
	return table, nil
}
