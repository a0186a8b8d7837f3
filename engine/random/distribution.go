package random

import "github.com/libtensor/libtensor/engine/dtype"

// Distribution says what is drawn. It is one of this package's types, whose fields are all that a device needs to draw from it.
type Distribution interface {
	// Check refuses dtypes and parameters that nothing can be drawn for; each is dtype.None where elements have no parameters.
	Check(to, each dtype.DType) error

	// draw fills to. The generator is held, Check has passed, and each is as long as to, or has the weights of Multinomial. rowMajor is
	// set where to is a contiguous tensor. Parameters of elements are checked before the first draw, and where to is empty too.
	draw(g *Generator, to, each Span, rowMajor bool) error
}

// Fill draws from a distribution into a span, with parameters for its elements in each where it has any. PyTorch's normal numbers
// depend on whether the span is a contiguous tensor: rowMajor. What is refused draws nothing.
func (g *Generator) Fill(to, each Span, d Distribution, rowMajor bool) error {
	if err := d.Check(to.DType, each.DType); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return d.draw(g, to, each, rowMajor)
}
