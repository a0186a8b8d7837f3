package schema

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// readText reads the structures of a header with the given text.
func readText(t *testing.T, text string) ([]Structure, error) {
	path := filepath.Join(t.TempDir(), "a.h")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return ReadStructures(path)
}

func TestReadStructures(t *testing.T) {
	all, err := readText(t, `
enum { LT_SIDES = 2, LT_ALL = LT_SIDES * 4 };
typedef struct {
  uintptr_t in, out[2];  // addresses
  double grid[LT_SIDES][LT_ALL];
} lt_work;
typedef struct {
  const char *name;
} lt_named;
struct part {
  int64_t n;
};
struct other {
  int64_t n;
};
struct split_args {
  part parts[2 * LT_SIDES];
};
`)
	require.NoError(t, err)
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	require.Equal(t, []string{"lt_work", "part", "split_args"}, names)
	require.Equal(t, []Field{{"in", "uintptr_t", nil}, {"out", "uintptr_t", []int{2}}, {"grid", "double", []int{2, 8}}}, all[0].Fields)
	require.Equal(t, []Field{{"parts", "part", []int{4}}}, all[2].Fields)
}

func TestReadStructuresRejectsFieldsWithoutGoTypes(t *testing.T) {
	for _, field := range []string{"long n;", "int64_t n : 3;", "int64_t n[kUnknown];", "char;"} {
		_, err := readText(t, "typedef struct {\n  "+field+"\n} lt_work;\n")
		require.ErrorContains(t, err, "lt_work", field)
	}
}
