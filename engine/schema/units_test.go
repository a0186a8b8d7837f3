package schema

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestKernelsOfUnits(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "units"), 0o755))
	for name, text := range map[string]string{
		"rows.h": `#define LT_ROW(OP, T) (void *)lt::OP::row<T>
#define LT_NONE nullptr
#define LT_INTEGERS(OP) LT_ROW(OP, uint8_t), \
  LT_ROW(OP, int8_t)
#define LT_NO_INTEGERS LT_NONE, LT_NONE
#define LT_ALL(OP) {LT_ROW(OP, lt::Bool), LT_INTEGERS(OP)}
`,
		"units/a.h": `// LT_UNIT(comment){{"no", "", LT_ALL(No)}}
#define LT_OWN(F) {LT_NONE, (void *)lt::F<lt::Pair<int, 3>, 2>, LT_NONE}
LT_UNIT(a){
    {"second", "T>TX", LT_ALL(Second)}, LT_SINGLE("one", (lt::run<1, 2>)),
#if LT_AMX
    {"first", "", {LT_NONE, LT_NO_INTEGERS, LT_ROW(First, float)}},
#else
    {"first", "", {LT_NONE}},
#endif
    LT_END,
};
`,
		"units/b.h": `LT_UNIT(b){{"own", "=l", {LT_NO_INTEGERS, LT_ROW(Own, int)}}, LT_END};`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	all, err := ReadKernels(filepath.Join(folder, "units"))
	require.NoError(t, err)
	assert.Equal(t, []Kernel{{"first", "", 8}, {"one", "", 1}, {"own", "=l", 4}, {"second", "T>TX", 7}}, all)
}
