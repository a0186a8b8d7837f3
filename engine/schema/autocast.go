package schema

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Policies are the words of autocast.yaml, each the name of a constant in engine/dispatch.
var Policies = []string{"lower_precision", "float32", "promote", "as_first", "unsafe"}

// AutocastDevices are the types of devices that autocast.yaml has tables of, in the order of their rows in engine/dispatch.
var AutocastDevices = []string{"cpu", "cuda"}

// Autocast returns the policies of operators in autocast.yaml of the folder engine: for each name of an operator, one for each of
// AutocastDevices, "" for none. It returns an error where the table names no operator, or one twice.
func Autocast(engine string, all []*Operator) (map[string][]string, error) {
	text, err := os.ReadFile(filepath.Join(engine, "schema/autocast.yaml"))
	if err != nil {
		return nil, err
	}
	var tables map[string]map[string][][]string
	d := yaml.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&tables); err != nil {
		return nil, fmt.Errorf("autocast.yaml: %w", err)
	}
	names := map[string]bool{}
	for _, o := range all {
		names[o.Name] = o.AliasOf == ""
	}
	policies := map[string][]string{}
	for _, device := range slices.Sorted(maps.Keys(tables)) {
		row := slices.Index(AutocastDevices, device)
		if row < 0 {
			return nil, fmt.Errorf("autocast.yaml: %s is none of %v", device, AutocastDevices)
		}
		for policy, lists := range tables[device] {
			if !slices.Contains(Policies, policy) {
				return nil, fmt.Errorf("autocast.yaml: %s: %s is none of %v", device, policy, Policies)
			}
			for _, name := range slices.Concat(lists...) {
				if !names[name] {
					return nil, fmt.Errorf("autocast.yaml: %s: there is no operator %s that is not an alias", device, name)
				}
				if policies[name] == nil {
					policies[name] = make([]string, len(AutocastDevices))
				}
				if policies[name][row] != "" {
					return nil, fmt.Errorf("autocast.yaml: %s: %s is listed twice", device, name)
				}
				policies[name][row] = policy
			}
		}
	}
	return policies, nil
}
