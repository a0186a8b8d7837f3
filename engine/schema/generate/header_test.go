package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func lines(t *testing.T, file string) []string {
	text, err := os.ReadFile("../../../" + file)
	require.NoError(t, err)
	return strings.Split(string(text), "\n")
}

var (
	declaration = regexp.MustCompile(`^(TENSOR_API \w|typedef |static inline )`)
	pythonWord  = regexp.MustCompile(`\b(None|True|False|Python)\b`)
)

// TestEveryDeclarationHasACommentAboveIt: editors show the comment right above a declaration.
func TestEveryDeclarationHasACommentAboveIt(t *testing.T) {
	header := lines(t, "include/tensor.h")
	count := 0
	for i, line := range header {
		if !declaration.MatchString(line) {
			continue
		}
		count++
		above := header[i-1]
		assert.Regexp(t, `^// \S`, above, "line %d: %s", i+1, line)
	}
	assert.Greater(t, count, 1800)
}

func TestCommentsOfTheHeaderFitALine(t *testing.T) {
	for i, line := range lines(t, "include/tensor.h") {
		if !declaration.MatchString(line) {
			assert.LessOrEqual(t, len([]rune(line)), commentWidth, "line %d: %s", i+1, line)
		}
	}
}

// TestCommentsOfTheHeaderAreAboutC: they mention functions that exist, and no words of Python.
func TestCommentsOfTheHeaderAreAboutC(t *testing.T) {
	header := lines(t, "include/tensor.h")
	whole := strings.Join(header, "\n")
	for i, line := range header {
		if !strings.HasPrefix(line, "//") {
			continue
		}
		assert.NotRegexp(t, pythonWord, line, "line %d", i+1)
		for _, name := range regexp.MustCompile("`(tensor_\\w+)`").FindAllStringSubmatch(line, -1) {
			assert.Contains(t, whole, " "+name[1]+"(", "line %d", i+1)
		}
	}
}

// TestCommentsOfTheTypesAreAboutJavaScript: code in them is in camel case, and mentions no C functions and no words of Python.
func TestCommentsOfTheTypesAreAboutJavaScript(t *testing.T) {
	index := regexp.MustCompile(`'[^']*'|\[[^\]]*\]`) // such as '1:, None, ..., ::2'
	snake := regexp.MustCompile("`[a-z0-9]+_[a-z0-9_]+`")
	for i, line := range lines(t, "bindings/node/gen_index.d.ts") {
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "*") || strings.HasPrefix(text, "/**") {
			assert.NotRegexp(t, pythonWord, index.ReplaceAllString(line, ""), "line %d", i+1)
			assert.NotRegexp(t, snake, line, "line %d", i+1)
			assert.NotRegexp(t, `\btensor_`, line, "line %d", i+1)
		}
	}
}

func TestTextIsWrapped(t *testing.T) {
	assert.Equal(t, []string{"one two", "three", "", "- four", "  five", "- six"}, wrapText("one two\nthree\n\n- four five\n- six", 7))
	assert.Equal(t, "// a\n//\n// b\n", formatComment("// ", "a\n\nb\n"))
}
