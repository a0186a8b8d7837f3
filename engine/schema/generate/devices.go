package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/libtensor/libtensor/engine/schema"
)

// servedFile lists, for each operator and dtype, whether a CUDA device supports all calls, some or none. cuda/tests/served.py writes it by
// calling the operators.
const servedFile = "cuda/served.json"

func readServed() (served map[string]map[string]string, err error) {
	text, err := os.ReadFile(servedFile)
	if err == nil {
		err = json.Unmarshal(text, &served)
	}
	return served, err
}

// deviceWord returns the support of a device for an operator: "" for all calls, or if unknown, partly or `unsupported`.
func deviceWord(dtypes map[string]string) string {
	count := map[string]int{}
	for _, word := range dtypes {
		count[word]++
	}
	switch {
	case count["all"] == len(dtypes):
		return ""
	case count["none"] == len(dtypes):
		return "unsupported"
	}
	return "partly"
}

// generateDevices writes the table of operators, devices and dtypes.
func generateDevices(out *output, ops []*schema.Operator, served map[string]map[string]string) {
	var table strings.Builder
	counts := map[string]int{}
	for _, dtypes := range served {
		counts[deviceWord(dtypes)]++
	}
	table.WriteString(docsBanner + "# Operators on CUDA devices\n\n")
	fmt.Fprintf(&table, "The support of CUDA devices, by operator and dtype, for calls that the CPU supports: ✓ all calls, ◐ some calls, – no calls, which return an error; an empty cell means that the CPU does not support the dtype. "+
		"The table is measured on the simulated device (`cuda/tests/served.py`) and verified by `cuda/tests/test_served.py`. Of %d operators, CUDA supports %d, %d partly, and %d not at all. If a device is available, `dispatch.table(name)` returns the same.\n",
		len(served), counts[""], counts["partly"], counts["unsupported"])
	table.WriteString("\n| operator |")
	for _, d := range mainDTypes {
		fmt.Fprintf(&table, " %v |", d)
	}
	table.WriteString("\n|---|" + strings.Repeat("---|", len(mainDTypes)) + "\n")
	marks := map[string]string{"all": "✓", "some": "◐", "none": "–"}
	for _, category := range schema.Categories {
		for _, o := range ops {
			dtypes := served[o.ID()]
			if o.Category != category || dtypes == nil {
				continue
			}
			fmt.Fprintf(&table, "| %s |", o.ID())
			for _, d := range mainDTypes {
				fmt.Fprintf(&table, " %s |", marks[dtypes[d.String()]])
			}
			table.WriteString("\n")
		}
	}
	out.write("docs/gen_cuda.md", table.String())
}
