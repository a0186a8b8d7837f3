package dispatch

import (
	"sync"

	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// levels holds the active transforms by their numbers, which threads' modes store.
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
	return findLevel(int64(c.modes.Level))
}

// findLevel returns the active transform with a number, or nil.
func findLevel(number int64) *tensor.Level {
	levels.RLock()
	defer levels.RUnlock()
	if l := levels.all[uint32(number)]; l != nil && int64(l.Number) == number {
		return l
	}
	return nil
}

// LevelNumber returns the number of the innermost transform that the thread is in, 0 for none.
func (c Context) LevelNumber() uint32 { return c.currentModes().Level }

// Around returns a context of the same thread outside of a transform.
func (c Context) Around(l *tensor.Level) Context {
	m := c.currentModes()
	m.Level = 0
	if l.Outer != nil {
		m.Level = l.Outer.Number
	}
	return Context{c.passed, &m}
}

// TransformAround returns the number of the transform around the one with the given number, 0 for none, or that of the thread's current one
// if the number is unknown.
func (c Context) TransformAround(level int64) uint32 {
	l := findLevel(level)
	if l == nil || !c.isWithin(l) {
		return c.currentModes().Level
	}
	return c.Around(l).currentModes().Level
}

// drawing returns the dispatch key of the current transform if it affects random operators.
func (c Context) drawing() tensor.DispatchKeys {
	if c.modes == nil || c.modes.Level == 0 {
		return 0
	}
	return tensor.Transformed
}

// Transforming applies a transform to a call on tensors with the transform's level as their innermost.
type Transforming func(c Context, call *Call, l *tensor.Level) error

// applyVmap and applyJvp are functions of engine/vmap and engine/jvp, which import this package.
var applyVmap, applyJvp Transforming

// Batch and Differentiate set applyVmap and applyJvp when the program starts.
func Batch(f Transforming)         { applyVmap = f }
func Differentiate(f Transforming) { applyJvp = f }

func init() {
	Register(tensor.Transformed, &TensorKind{Name: "transformed", Instead: "call it outside of the transform",
		Serve: func() Backend { return BoxedBackend(runTransformed, func(*Operator) bool { return true }) }})
}

// runTransformed dispatches a call at the innermost level of its tensors, or of the transforms that affect random operators.
func runTransformed(c Context, call *Call) error {
	var l *tensor.Level
	call.AnyTensor(func(t *tensor.Tensor) bool {
		l = innerLevel(l, t)
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
		return applyJvp(c, call, l)
	}
	return applyVmap(c, call, l)
}

// enterTransform starts a transform on the thread and returns its number.
func (c Context) enterTransform(op string, l *tensor.Level) (int64, error) {
	l.Outer = c.Level()
	err := c.setModes(op, func(m *Modes) {
		levels.Lock()
		defer levels.Unlock()
		levels.last++
		l.Number = levels.last
		levels.all[l.Number] = l
		m.Level = l.Number
	})
	return int64(l.Number), err
}

// leaveTransform ends a transform and those inside it. The thread is then in the transform around it.
func (c Context) leaveTransform(transform string, level int64) error {
	op := transform + "_end"
	l, err := findTransform(op, transform, level)
	if err != nil {
		return err
	}
	if !c.isWithin(l) {
		return status.Runtimef("%s: %s level %d was started by another thread, which must end it", op, transform, level)
	}
	return c.endTransforms(op, l.Outer)
}

// isWithin reports whether the thread is in a transform.
func (c Context) isWithin(l *tensor.Level) bool {
	at := c.Level()
	for at != nil && at != l {
		at = at.Outer
	}
	return at == l
}

// endTransforms ends the transforms of the thread that are inside of around, or all if around is nil.
func (c Context) endTransforms(op string, around *tensor.Level) error {
	for l := c.Level(); l != around; l = l.Outer {
		l.End()
		removeLevel(l)
	}
	return c.setModes(op, func(m *Modes) {
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
	l := findLevel(level)
	if level != 0 && (l == nil || !c.isWithin(l)) {
		return status.Runtimef("%s: no transform of level %d is active on this thread", op, level)
	}
	return c.endTransforms(op, l)
}

// removeLevel removes a transform that has ended from the list of active ones.
func removeLevel(l *tensor.Level) {
	levels.Lock()
	defer levels.Unlock()
	delete(levels.all, l.Number)
}

// findTransform returns the active transform with a number and the given kind, "vmap" or "jvp".
func findTransform(op, transform string, number int64) (*tensor.Level, error) {
	if l := findLevel(number); l != nil && l.Forward == (transform == "jvp") {
		return l, nil
	}
	return nil, status.Runtimef("%s: no %s of level %d is active", op, transform, number)
}

// innermostLevel returns the innermost level of tensors, or nil if none is wrapped.
func innermostLevel(tensors ...*tensor.Tensor) (l *tensor.Level) {
	for _, t := range tensors {
		l = innerLevel(l, t)
	}
	return l
}

// innerLevel returns the level of t if it is inside of l, and otherwise l, which may be nil.
func innerLevel(l *tensor.Level, t *tensor.Tensor) *tensor.Level {
	if w := t.Wrapped(); w != nil && (l == nil || w.Level.Number > l.Number) {
		return w.Level
	}
	return l
}
