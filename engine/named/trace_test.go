package named

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLabelsDistinguishDimensions(t *testing.T) {
	assert.Len(t, labels(), 64)
	for i, a := range labels() {
		assert.Equal(t, i, labelled(3*a, len(labels())))
		for _, b := range labels()[:i] { // the stride of a diagonal
			assert.Equal(t, -1, labelled(a+b, len(labels())), "%d and %d", a, b)
		}
	}
}
