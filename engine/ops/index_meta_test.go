package ops

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/dtype"
)

// An index must have data if the indexed tensor has data.
func TestIndexOnAnotherDevice(t *testing.T) {
	x := given(t, dtype.Float32, []int64{3}, 1, 2, 3)
	at := given(t, dtype.Int64, []int64{2}, 0, 2)
	_, err := IndexGet(x, []IndexItem{{Kind: IndexTensor, Tensor: onMeta(t, at)}})
	assert.ErrorContains(t, err, "indices should be either on cpu or on the same device as the indexed tensor (cpu)")
	r, err := IndexGet(onMeta(t, x), []IndexItem{{Kind: IndexTensor, Tensor: at}})
	require.NoError(t, err)
	defer r.Release()
	assert.True(t, r.IsMeta())
	assert.Equal(t, []int64{2}, r.Sizes())
}
