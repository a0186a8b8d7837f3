package dtypes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/schema/dtypes"
)

func TestTableOfEngineHasTheSameDTypes(t *testing.T) {
	rows, err := dtypes.Load("../..")
	require.NoError(t, err)
	all := dtype.Named()
	require.Len(t, rows, len(all))
	for i, d := range all {
		row := rows[i]
		assert.Equal(t, []any{row.Name, int64(row.Size), row.IsSigned(), row.ScalarType, row.NumPy, row.Safetensors},
			[]any{d.String(), d.Size(), d.IsSigned(), d.ScalarType(), d.NumPyType(), d.SafetensorsName()})
		if row.Exported > 0 {
			found, ok := dtype.OfExported(int64(row.Exported))
			assert.True(t, ok)
			assert.Equal(t, d, found)
		}
		if row.Kind == "float" {
			assert.Equal(t, row.Values()[:2], []float64{d.Epsilon(), d.SmallestNormal()}, row.Name)
		}
	}
	_, ok := dtype.OfExported(0)
	assert.False(t, ok)
}

func TestNamesAreUnique(t *testing.T) {
	rows, err := dtypes.Load("../..")
	require.NoError(t, err)
	seen := map[string]string{}
	for _, d := range rows {
		for _, name := range []string{"name " + d.Name, "Go " + d.Go, "ScalarType " + d.ScalarType, "NumPy " + d.NumPy, "Arrow " + d.Arrow,
			"safetensors " + d.Safetensors} {
			if _, text, _ := strings.Cut(name, " "); text != "" {
				assert.Empty(t, seen[name], "%s of %s", name, d.Name)
				seen[name] = d.Name
			}
		}
	}
}

func TestWrongRowsAreRejected(t *testing.T) {
	for row, message := range map[string]string{
		"{name: x, go: X, size: 1, kind: word, scalar_type: X}":                          "kind",
		"{name: x, go: X, size: 4, kind: complex, scalar_type: X}":                       "complex dtypes need real",
		"{name: x, go: X, size: 4, kind: complex, real: y, scalar_type: X}":              `"y" is not a dtype`,
		"{name: x, go: X, size: 4, kind: float, scalar_type: X}":                         "four limits",
		"{name: x, go: X, size: 4, kind: float, limits: [one, 1, 1, 1], scalar_type: X}": `parsing "one"`,
		"{name: x, go: X, size: 1, kind: quantized, scalar_type: X, compute: z}":         `"z" is not a dtype`,
		"{name: x, go: X, kind: int, scalar_type: X}":                                    "required",
	} {
		folder := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "schema/dtypes"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "schema/dtypes/dtypes.yaml"), []byte("- "+row+"\n"), 0o644))
		_, err := dtypes.Load(folder)
		assert.ErrorContains(t, err, message, row)
		assert.ErrorContains(t, err, "dtypes.yaml: x: ", row)
	}
}
