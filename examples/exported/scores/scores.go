// Package scores selects from the scores that exported programs return.
package scores

// Best returns the index of the largest score, the first one of equal scores.
func Best(scores []float32) int {
	best := 0
	for i, score := range scores {
		if score > scores[best] {
			best = i
		}
	}
	return best
}
