package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema"
)

// generateKernelTable writes the numbers, signatures and dtypes of kernels, by which operators and devices name them.
func generateKernelTable(out *output) error {
	all, err := schema.ReadKernels(filepath.Join("engine", schema.Units))
	if err != nil {
		return err
	}
	var numbers, rows strings.Builder
	for _, k := range all {
		if k.DTypes>>len(dtype.All) != 0 {
			return fmt.Errorf("kernel %s has functions for more dtypes than there are", k.Name)
		}
		name := schema.Camel(k.Name, true)
		at := strings.IndexAny(k.Signature, "=>")
		whole, operands, fixed := false, "", 0
		if at >= 0 {
			whole, operands = k.Signature[at] == '>', k.Signature[:at]+k.Signature[at+1:]
		}
		for i, letter := range operands {
			if letter == 'X' {
				fixed |= 1 << i
			}
		}
		fmt.Fprintf(&numbers, "\t%s\n", name)
		fmt.Fprintf(&rows, "\t%s: {name: %q, signature: %q, dtypes: %#x", name, k.Name, k.Signature, k.DTypes)
		if operands != "" {
			fmt.Fprintf(&rows, ", operands: %q, outputs: %d, whole: %t, fixed: %d", operands, at, whole, fixed)
		}
		rows.WriteString("},\n")
	}
	text := goBanner + "package kernelapi\n\n// The kernels of engine/kernel/src/units, by name.\nconst (\n\tNone Kernel = iota\n" +
		numbers.String()
	text += "\tCount // the number of kernels, and None\n)\n\nvar table = [Count]facts{\n" + rows.String() + "}\n"
	out.write("engine/kernelapi/gen_kernels.go", text)
	return nil
}
