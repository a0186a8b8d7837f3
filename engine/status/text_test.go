package status

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

type size int

func (size) String() string { return "size" }

func TestMessagesShowListsWithCommas(t *testing.T) {
	for _, c := range []struct {
		arg  any
		want string
	}{
		{[]int64{}, "[]"},
		{[]int64{3}, "[3]"},
		{[]int64{4, 3}, "[4, 3]"},
		{[2]int{4, 3}, "[4, 3]"},
		{[][]int64{{4, 3}, {}}, "[[4, 3], []]"},
		{[]string{"a b", "c"}, "[a b, c]"},
		{[]any{1, []int{2, 3}, nil, "x"}, "[1, [2, 3], <nil>, x]"},
		{[]float64{0.5, 1e30}, "[0.5, 1e+30]"},
		{[]size{1, 2}, "[size, size]"},
		{size(1), "size"},
		{errors.New("of [1 2]"), "of [1 2]"},
		{nil, "<nil>"},
		{7, "7"},
	} {
		assert.Equal(t, "op: "+c.want, Runtimef("op: %v", c.arg).Error())
	}
	assert.Equal(t, `["a", "b"] [07, 11]`, Textf("%q %02d", []string{"a", "b"}, []int{7, 11}))
	assert.Equal(t, "ab", Textf("%s", []byte("ab")))
}
