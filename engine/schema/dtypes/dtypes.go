// Package dtypes reads dtypes.yaml, the only source of the names and properties of dtypes in every language and format. It does not import
// engine/dtype, whose table is generated from it.
package dtypes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// DType is a row of the table.
type DType struct {
	Name        string   `yaml:"name"`
	Go          string   `yaml:"go"` // the constant in engine/dtype
	Size        int      `yaml:"size"`
	Kind        string   `yaml:"kind"` // of Kinds
	Signed      *bool    `yaml:"signed"`
	Real        string   `yaml:"real"`
	Complex     string   `yaml:"complex"`
	Compute     string   `yaml:"compute"`
	Limits      []string `yaml:"limits"`
	ScalarType  string   `yaml:"scalar_type"`
	Storage     bool     `yaml:"storage"`
	DLPack      *int     `yaml:"dlpack"`
	NumPy       string   `yaml:"numpy"`
	Arrow       string   `yaml:"arrow"`
	Safetensors string   `yaml:"safetensors"`
	Exported    int      `yaml:"exported"`
	Array       string   `yaml:"array"`
}

// Kinds are the kinds of dtypes.
var Kinds = []string{"bool", "unsigned", "int", "float", "complex", "quantized"}

// Load reads the table in the folder engine.
func Load(engine string) ([]DType, error) {
	text, err := os.ReadFile(filepath.Join(engine, "schema/dtypes/dtypes.yaml"))
	if err != nil {
		return nil, err
	}
	var all []DType
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("dtypes.yaml: %w", err)
	}
	for _, d := range all {
		if err := d.check(all); err != nil {
			return nil, fmt.Errorf("dtypes.yaml: %s: %w", d.Name, err)
		}
	}
	return all, nil
}

// check returns an error if a field is missing or names no dtype.
func (d DType) check(all []DType) error {
	if d.Name == "" || d.Go == "" || d.Size < 1 || d.ScalarType == "" || !slices.Contains(Kinds, d.Kind) {
		return fmt.Errorf("name, go, size, scalar_type and kind (one of %v) are required", Kinds)
	}
	for _, name := range []string{d.Real, d.Complex, d.Compute} {
		if name != "" && !slices.ContainsFunc(all, func(o DType) bool { return o.Name == name }) {
			return fmt.Errorf("%q is not a dtype of the table", name)
		}
	}
	if (d.Kind == "complex") != (d.Real != "") || (d.Kind == "float") != (len(d.Limits) == 4) {
		return fmt.Errorf("complex dtypes need real, and floats need four limits")
	}
	for _, text := range d.Limits {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return err
		}
	}
	return nil
}

// IsSigned reports whether the dtype has negative numbers.
func (d DType) IsSigned() bool {
	if d.Signed != nil {
		return *d.Signed
	}
	return d.Kind != "bool" && d.Kind != "unsigned"
}

// Values returns the limits as numbers: epsilon, smallest normal number, largest number and decimal digits of a float, nil for others.
func (d DType) Values() []float64 {
	var values []float64
	for _, text := range d.Limits {
		value, _ := strconv.ParseFloat(text, 64) // check has read them
		values = append(values, value)
	}
	return values
}
