package schema_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/libtensor/libtensor/engine/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAutocastPoliciesAreOfOperators(t *testing.T) {
	all, err := schema.Load("..")
	require.NoError(t, err)
	policies, err := schema.Autocast("..", all)
	require.NoError(t, err)
	assert.Equal(t, []string{"lower_precision", "lower_precision"}, policies["matmul"])
	assert.Equal(t, []string{"float32", "unsafe"}, policies["nn.binary_cross_entropy"])
	assert.Equal(t, []string{"promote", ""}, policies["cat"])
	assert.NotContains(t, policies, "add")
}

func TestAutocastRejectsInvalidTables(t *testing.T) {
	all := []*schema.Operator{{Name: "matmul"}, {Name: "other", AliasOf: "matmul"}}
	for text, said := range map[string]string{
		"cpu: {lower_precision: [[nothing]]}":                     "there is no operator nothing",
		"cpu: {lower_precision: [[other]]}":                       "there is no operator other that is not an alias",
		"cpu: {lower_precision: [[matmul, matmul]]}":              "matmul is listed twice",
		"cpu: {lower_precision: [[matmul]], float32: [[matmul]]}": "matmul is listed twice",
		"cpu: {upper: [[matmul]]}":                                "upper is none of",
		"mps: {float32: [[matmul]]}":                              "mps is none of",
		"- cpu":                                                   "autocast.yaml",
	} {
		engine := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(engine, "schema"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(engine, "schema/autocast.yaml"), []byte(text), 0o600))
		_, err := schema.Autocast(engine, all)
		assert.ErrorContains(t, err, said, text)
	}
}
