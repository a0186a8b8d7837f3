package scores

import "testing"

func TestBest(t *testing.T) {
	for _, c := range []struct {
		scores []float32
		best   int
	}{{[]float32{3}, 0}, {[]float32{-2, -1, -3}, 1}, {[]float32{1, 5, 5}, 1}} {
		if found := Best(c.scores); found != c.best {
			t.Errorf("Best(%v) is %d, not %d", c.scores, found, c.best)
		}
	}
}
