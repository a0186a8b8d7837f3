package autograd

import (
	"slices"
	"sync"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// saved is a saved tensor of a node.
type saved struct {
	name    string         // of the argument or result
	absent  bool           // no requested derivative needs it
	number  bool           // a plain number, which is not freed before the node
	t       *tensor.Tensor // without its autograd metadata, which may own the node; nil if hooks keep a packed value
	version int64          // of the storage when it was saved
	from    Edge           // of an operand
	result  bool           // of the node, number from.Output
	of      *AutogradMeta  // the autograd metadata of an operand, which the tensor may have lost since
	follows bool           // the leaf itself, which may be assigned other data; a tensor that a hook unpacked for a leaf has separate data
	packed  *packedTensor
}

// packedTensor is the result of a pack hook.
type packedTensor struct {
	by     *savers
	packed uintptr
	like   like
}

// savers are the hooks through which a thread saves tensors. They are reference-counted, by the thread and by the tensors that they packed.
type savers struct {
	*context
	pack, unpack, drop uintptr
	below              uint32 // those that the thread had before
}

// saving has the saved-tensor hooks that threads have pushed, by id.
var saving = struct {
	sync.Mutex
	last uint32
	all  map[uint32]*savers
}{all: map[uint32]*savers{}}

// PushSavedTensorsHooks makes the calling thread save tensors through hooks, until PopSavedTensorsHooks.
func PushSavedTensorsHooks(c dispatch.Context, pack, unpack, drop, data, deleter uintptr) error {
	const op = "push_saved_tensors_hooks"
	if err := checkCallback(op, "pack", pack); err != nil {
		return err
	}
	if err := checkCallback(op, "unpack", unpack); err != nil {
		return err
	}
	saving.Lock()
	defer saving.Unlock()
	for saving.last++; saving.last == 0 || saving.all[saving.last] != nil; saving.last++ {
	}
	s := &savers{newContext(data, deleter), pack, unpack, drop, c.Saving()}
	if err := c.SaveBy(op, saving.last); err != nil {
		return err
	}
	saving.all[saving.last] = s
	return nil
}

// PopSavedTensorsHooks removes the hooks that the calling thread pushed last.
func PopSavedTensorsHooks(c dispatch.Context) error {
	const op = "pop_saved_tensors_hooks"
	s := popHooks(c.Saving())
	if s == nil {
		return status.Runtimef("%s: no saved-tensor hooks are active on this thread", op)
	}
	err := c.SaveBy(op, s.below)
	s.release()
	return err
}

// popHooks removes and returns pushed hooks. It returns nil if one of the hooks itself has popped them.
func popHooks(number uint32) *savers {
	saving.Lock()
	defer saving.Unlock()
	s := saving.all[number]
	delete(saving.all, number)
	return s
}

// saversOf returns the hooks by which the call's thread saves tensors, with a reference, nil for none: a hook may have popped them.
func saversOf(c dispatch.Context) *savers {
	number := c.Saving()
	if number == 0 {
		return nil
	}
	saving.Lock()
	defer saving.Unlock()
	s := saving.all[number]
	if s != nil {
		s.retain()
	}
	return s
}

// packTensor calls the pack hook with a tensor and its autograd metadata. The packedTensor takes the reference to the hooks.
func (s *savers) packTensor(c dispatch.Context, t *tensor.Tensor) (*packedTensor, error) {
	version := valuesOf(t).Version()
	made, err := program.Pack(c.Recorded(false), s.pack, s.data, t)
	if err != nil {
		s.release()
		return nil, err
	}
	p := &packedTensor{s, made, likeOf(t)}
	if valuesOf(t).Version() != version {
		p.releaseHooks()
		return nil, status.Runtimef("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be modified " +
			"by in-place operations as this can lead to unexpected side-effects: change a clone() of them")
	}
	return p, nil
}

func (p *packedTensor) releaseHooks() {
	if p.by.drop != 0 {
		program.Delete(p.by.drop, p.packed)
	}
	p.by.release()
}

// unpackTensor calls the unpack hook, and returns its tensor without autograd metadata.
func (p *packedTensor) unpackTensor(c dispatch.Context, n *Node) (*tensor.Tensor, error) {
	t, err := program.Unpack(c, p.by.unpack, p.by.data, p.packed)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, status.Typef("Output of saved tensor unpack_hook expected to be a Tensor but got None, for a tensor that %s saved", n.name)
	}
	defer t.Release()
	if want := p.like.sizes(); !slices.Equal(t.Sizes(), want) {
		return nil, status.Runtimef("saved_tensors_hooks: unpack_hook returned a tensor of shape %v for a saved tensor of shape %v of %s; return a tensor of the shape that pack_hook received",
			t.Sizes(), want, n.name)
	}
	return t.Plain(), nil
}

// addSaved adds a saved tensor to the node and returns its index. It takes the references of s. shown is the tensor that the pack hook
// receives.
func (n *Node) addSaved(c dispatch.Context, s saved, shown *tensor.Tensor) (at int, err error) {
	if n.saved == nil {
		n.saved = n.firstSaved[:0]
	}
	var by *savers
	if !s.t.IsWrappedNumber() {
		by = saversOf(c)
	}
	if by != nil {
		s.packed, err = by.packTensor(c, shown)
		s.t.Release()
		s.t = nil
	} else {
		s.version = valuesOf(s.t).Version()
		s.follows = s.from.Node != nil && s.from.Node.leaf != nil && s.t.Components() == nil && s.from.Node.leaf.Storage() == s.t.Storage()
	}
	n.saved = append(n.saved, s)
	return len(n.saved) - 1, err
}

// releaseSaved releases a saved tensor, and appends the node to which it refers.
func (s *saved) releaseSaved(nodes []*Node) []*Node {
	s.t.Release()
	if s.packed != nil {
		s.packed.releaseHooks()
	}
	if s.from.Node != nil {
		nodes = append(nodes, s.from.Node)
	}
	*s = saved{name: s.name, absent: s.absent, number: s.number}
	return nodes
}

// addUnsavedName adds the name of a tensor that is not saved, because no required derivative uses it.
func (n *Node) addUnsavedName(name string) {
	if n.saved == nil {
		n.saved = n.firstSaved[:0]
	}
	n.saved = append(n.saved, saved{name: name, absent: true})
}

// checkUnchanged returns an error if a saved tensor was modified in place, or detached in place, after it was saved.
func (n *Node) checkUnchanged(s *saved) error {
	if now := valuesOf(s.t).Version(); now != s.version {
		return n.modifiedError(s, now)
	}
	if from := s.from.Node; s.of != nil && from != nil && from.leaf == nil && s.of.cut.Load() == from.number {
		return status.Runtimef("Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported, please use out-of-place `.detach()` instead: "+
			"%s saved its argument of shape %v", n.name, s.t.Sizes())
	}
	return nil
}

// modifiedError returns the error for a saved tensor that was modified in place.
func (n *Node) modifiedError(s *saved, now int64) error {
	origin := ""
	switch {
	case s.result:
		origin = outputName(n, s.from.Output)
	case s.of != nil:
		if made, output := s.of.gradFn(); made != nil {
			origin = outputName(made, output)
			made.Release()
		}
	}
	return status.Runtimef("one of the variables needed for gradient computation has been modified by an inplace operation: [%s %v]%s, is at version %d; expected version %d instead. "+
		"It was saved by %s, whose gradient needs it as it was: change a clone() of it", typeName(s.t), s.t.Sizes(), origin, now, s.version,
		n.name)
}
