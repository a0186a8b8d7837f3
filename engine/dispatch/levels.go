package dispatch

import (
	"sync"

	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// levels are the transforms that are under way, by their numbers, which threads' modes keep.
var levels = struct {
	sync.RWMutex
	last uint32
	all  map[uint32]*tensor.Level
}{all: map[uint32]*tensor.Level{}}

// Level returns the innermost transform that the thread is in; nil for none.
func (c Context) Level() *tensor.Level {
	if c.modes == nil || c.modes.Level == 0 {
		return nil
	}
	return numbered(int64(c.modes.Level))
}

// numbered returns the transform under way of a number, nil for none.
func numbered(number int64) *tensor.Level {
	levels.RLock()
	defer levels.RUnlock()
	if l := levels.all[uint32(number)]; l != nil && int64(l.Number) == number {
		return l
	}
	return nil
}

// LevelNumber returns the number of the innermost transform that the thread is in, 0 for none.
func (c Context) LevelNumber() uint32 { return c.now().Level }

// Around returns a context of the same thread outside of a transform.
func (c Context) Around(l *tensor.Level) Context {
	m := c.now()
	m.Level = 0
	if l.Outer != nil {
		m.Level = l.Outer.Number
	}
	return Context{c.passed, &m}
}

// TransformAround returns the number of the transform around the one with the given number, 0 for none, or that of the thread's current one if the
// number is unknown.
func (c Context) TransformAround(level int64) uint32 {
	l := numbered(level)
	if l == nil || !c.within(l) {
		return c.now().Level
	}
	return c.Around(l).now().Level
}

// drawing returns the dispatch key of the current transform if it affects random operators.
func (c Context) drawing() tensor.Keys {
	if c.modes == nil || c.modes.Level == 0 {
		return 0
	}
	return tensor.Transformed
}

// Transforming applies a transform to a call on tensors with the transform's level as their innermost.
type Transforming func(c Context, call *Call, l *tensor.Level) error

// batching is that of engine/vmap and differentiating that of engine/jvp, which import this package.
var batching, differentiating Transforming

// Batch and Differentiate set them, when the program starts.
func Batch(f Transforming)         { batching = f }
func Differentiate(f Transforming) { differentiating = f }

func init() {
	Register(tensor.Transformed, &Kind{Name: "transformed", Instead: "call it outside of the transform",
		Serve: func() Backend { return BoxedBackend(transformed, func(*Operator) bool { return true }) }})
}

// transformed dispatches a call at the innermost level of its tensors, or of the transforms that affect random operators.
func transformed(c Context, call *Call) error {
	var l *tensor.Level
	call.AnyTensor(func(t *tensor.Tensor) bool {
		l = inner(l, t)
		return false
	})
	if call.Is(Random) {
		around := c.Level()
		for around != nil && around.Forward {
			around = around.Outer
		}
		if around != nil && (l == nil || around.Number > l.Number) {
			l = around
		}
	}
	switch {
	case l == nil: // from the requested layout, or for random operators
		return call.Run(c.Excluding(tensor.Transformed))
	case l.Forward && call.writesCustom():
		return status.NotImplementedf("%s: the operator writes to an argument, and has no derivative inside of jvp", call.Name)
	case l.Forward:
		return differentiating(c, call, l)
	}
	return batching(c, call, l)
}

// enter starts a transform on the thread and returns its number.
func (c Context) enter(op string, l *tensor.Level) (int64, error) {
	l.Outer = c.Level()
	err := c.set(op, func(m *Modes) {
		levels.Lock()
		defer levels.Unlock()
		levels.last++
		l.Number = levels.last
		levels.all[l.Number] = l
		m.Level = l.Number
	})
	return int64(l.Number), err
}

// leave ends a transform, with those inside, and has the thread in the one around it.
func (c Context) leave(transform string, level int64) error {
	op := transform + "_end"
	l, err := underWay(op, transform, level)
	if err != nil {
		return err
	}
	if !c.within(l) {
		return status.Runtimef("%s: %s level %d was started by another thread, which must end it", op, transform, level)
	}
	return c.end(op, l.Outer)
}

// within reports whether the thread is in a transform.
func (c Context) within(l *tensor.Level) bool {
	at := c.Level()
	for at != nil && at != l {
		at = at.Outer
	}
	return at == l
}

// end ends the transforms that the thread is in inside of one, or all with nil, and has it in that one.
func (c Context) end(op string, around *tensor.Level) error {
	for l := c.Level(); l != around; l = l.Outer {
		l.End()
		forget(l)
	}
	return c.set(op, func(m *Modes) {
		m.Level = 0
		if around != nil {
			m.Level = around.Number
		}
	})
}

// TransformLevel implements the operator transform_level.
func (c Context) TransformLevel() (int64, error) {
	if l := c.Level(); l != nil {
		return int64(l.Number), nil
	}
	return 0, nil
}

// TransformLeave implements the operator transform_leave.
func (c Context) TransformLeave(level int64) error {
	const op = "transform_leave"
	l := numbered(level)
	if level != 0 && (l == nil || !c.within(l)) {
		return status.Runtimef("%s: no transform of level %d is active on this thread", op, level)
	}
	return c.end(op, l)
}

// forget takes a transform that has ended off the list.
func forget(l *tensor.Level) {
	levels.Lock()
	defer levels.Unlock()
	delete(levels.all, l.Number)
}

// underWay returns the transform of a number, which is of the kind that transform names.
func underWay(op, transform string, number int64) (*tensor.Level, error) {
	if l := numbered(number); l != nil && l.Forward == (transform == "jvp") {
		return l, nil
	}
	return nil, status.Runtimef("%s: no %s of level %d is active", op, transform, number)
}

// innermost returns the innermost level of tensors, or nil if none is wrapped.
func innermost(tensors ...*tensor.Tensor) (l *tensor.Level) {
	for _, t := range tensors {
		l = inner(l, t)
	}
	return l
}

// inner returns the level of t if it is inside of l, and otherwise l, which may be nil.
func inner(l *tensor.Level, t *tensor.Tensor) *tensor.Level {
	if w := t.Wrapped(); w != nil && (l == nil || w.Level.Number > l.Number) {
		return w.Level
	}
	return l
}
