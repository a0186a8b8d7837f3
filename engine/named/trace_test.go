package named

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLabelsDistinguishDimensions(t *testing.T) {
	assert.Len(t, strideLabels(), 64)
	for i, a := range strideLabels() {
		assert.Equal(t, i, findLabel(3*a, len(strideLabels())))
		for _, b := range strideLabels()[:i] { // the stride of a diagonal
			assert.Equal(t, -1, findLabel(a+b, len(strideLabels())), "%d and %d", a, b)
		}
	}
}
