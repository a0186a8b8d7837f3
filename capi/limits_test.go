package main

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Bindings reserve space for as many parameters and results as value.h declares.
func TestOperatorsHaveNoMoreParametersThanBindingsHaveRoomFor(t *testing.T) {
	limits, err := os.ReadFile("value.h")
	require.NoError(t, err)
	found := regexp.MustCompile(`LT_MOST_PARAMETERS = (\d+), LT_MOST_RESULTS = (\d+)`).FindSubmatch(limits)
	require.Len(t, found, 3)
	parameters, _ := strconv.Atoi(string(found[1]))
	results, _ := strconv.Atoi(string(found[2]))

	table, err := os.ReadFile("gen_operators.c")
	require.NoError(t, err)
	const row = `(?m)^    \{\w+, "([^"]*)", "[^"]*", (?:"[^"]*"|NULL), (?:lt_parameters \+ \d+|NULL), (\d+), "([^"]*)"`
	rows := regexp.MustCompile(row).FindAllSubmatch(table, -1)
	assert.Greater(t, len(rows), 900)
	for _, row := range rows {
		count, _ := strconv.Atoi(string(row[2]))
		assert.LessOrEqual(t, count, parameters, "%s has more parameters", row[1])
		assert.LessOrEqual(t, len(row[3]), results, "%s has more results", row[1])
	}
}
