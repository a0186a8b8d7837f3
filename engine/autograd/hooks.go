package autograd

import (
	"slices"
	"sync"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// hook is a callback of a backward pass.
type hook struct {
	*context
	function uintptr
	number   int64
	output   int // the output whose gradient the hook receives; -1 for all outputs
	list     *hooks
	group    *group // the group of a hook on several tensors
	place    int    // its index in the group
	on       any    // for a member of a group: the *Node or *AutogradMeta whose gradient it receives
}

// hooks is a list of hooks in the order of their calls. The slice is never modified, only replaced, so that a backward pass can iterate
// over it.
type hooks struct{ list []*hook }

// registered has all hooks and groups by id. Its lock protects all lists of hooks.
var registered = struct {
	sync.Mutex
	last   int64
	all    map[int64]*hook
	groups map[int64]*group
}{all: map[int64]*hook{}, groups: map[int64]*group{}}

// add registers a hook and returns its id.
func (l *hooks) add(function, data, deleter uintptr, output int, on ...*tensor.Tensor) int64 {
	return l.addHook(&hook{context: newContext(data, deleter, on...), function: function, output: output})
}

func (l *hooks) addHook(h *hook) int64 {
	registered.Lock()
	defer registered.Unlock()
	registered.last++
	h.number, h.list = registered.last, l
	registered.all[h.number] = h
	l.list = append(slices.Clip(l.list), h)
	return h.number
}

// RemoveHook removes a hook, or a group of hooks, by its id. Unknown ids have no effect.
func RemoveHook(c dispatch.Context, number int64) error {
	h, g := removeHook(number)
	if h != nil {
		h.release()
	}
	if g != nil {
		for _, h := range g.members {
			_ = RemoveHook(c, h.number)
		}
	}
	return nil
}

// removeHook removes a hook from its list and returns it, or returns the group with the id, whose hooks have their own ids.
func removeHook(number int64) (*hook, *group) {
	registered.Lock()
	defer registered.Unlock()
	h, g := registered.all[number], registered.groups[number]
	delete(registered.groups, number)
	if h != nil {
		h.group.removeMember()
		delete(registered.all, number)
		i := slices.Index(h.list.list, h)
		h.list.list = slices.Delete(slices.Clone(h.list.list), i, i+1)
	}
	return h, g
}

// clear removes all hooks of a list.
func (l *hooks) clear() {
	for _, h := range l.currentHooks() {
		_ = RemoveHook(dispatch.Context{}, h.number)
		h.release()
	}
}

// currentHooks returns the current hooks, each with a new reference.
func (l *hooks) currentHooks() []*hook {
	registered.Lock()
	defer registered.Unlock()
	for _, h := range l.list {
		h.retain()
	}
	return l.list
}

// callEach calls f for each hook until it returns an error. l is nil if no hook was ever registered; then no lock is taken.
func (l *hooks) callEach(f func(h *hook) error) (err error) {
	if l == nil {
		return nil
	}
	for _, h := range l.currentHooks() {
		if err == nil {
			err = f(h)
		}
		h.release()
	}
	return err
}

// leafForHook returns the leaf as its hook receives it: a sparse tensor if the leaf is sparse.
func (h *hook) leafForHook(leaf *tensor.Tensor) (*tensor.Tensor, error) {
	if places := h.placesAt(h.place); places != nil {
		return withValues(places, leaf)
	}
	return leaf.Alias(), nil
}

// gradForHook returns the gradient as the tensor's hook receives it: with the indices of the tensor if it is sparse.
func (h *hook) gradForHook(c dispatch.Context, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t == nil {
		return nil, nil
	}
	return gradientOf(c, h.placesAt(h.place), t)
}

// callOn calls a tensor's hook with its gradient, and replaces the gradient by the hook's result.
func (h *hook) callOn(c dispatch.Context, n *Node, grad **tensor.Tensor) error {
	shown, err := h.gradForHook(c, *grad)
	if err != nil {
		return err
	}
	one := []*tensor.Tensor{shown}
	defer func() { one[0].Release() }()
	if err := h.callHook(c, n, one, one); err != nil || one[0] == shown {
		return err
	}
	made, err := toValues(c, h.placesAt(h.place), one[0])
	if err == nil {
		(*grad).Release()
		*grad = made
	}
	return err
}

// callHook calls a hook with tensors, and stores its non-nil results in replaced.
func (h *hook) callHook(c dispatch.Context, n *Node, tensors, replaced []*tensor.Tensor) error {
	made, err := program.Call(c, h.function, h.data, tensors, len(replaced))
	for i, t := range made {
		if t == nil {
			continue
		}
		if err == nil {
			err = n.checkReplacement(replaced[i], t)
		}
		if err != nil {
			t.Release()
			continue
		}
		replaced[i].Release()
		replaced[i] = t
	}
	return err
}

// checkReplacement returns an error if t, the result of a hook, differs from old in dtype, device or sizes.
func (n *Node) checkReplacement(old, t *tensor.Tensor) error {
	if old == nil {
		return status.Runtimef("a hook on %s can't replace a None gradient with a non-None value", n.name)
	}
	switch want := likeOf(old); {
	case t.DType() != want.dtype:
		return status.Runtimef("a hook on %s has changed the type of value (was %v got %v)", n.name, want.dtype, t.DType())
	case t.Device() != want.device:
		return status.Runtimef("a hook on %s has changed the device of value (was %v got %v)", n.name, want.device, t.Device())
	case !slices.Equal(t.Sizes(), old.Sizes()):
		return status.Runtimef("a hook on %s has changed the size of value (was %v got %v)", n.name, old.Sizes(), t.Sizes())
	}
	return nil
}

// attached has the hooks and the context of a node.
type attached struct {
	before, after hooks
	context       *context
}

// attachedHooks returns the node's attached, which it creates if necessary.
func (n *Node) attachedHooks() *attached {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.attached.Load()
	if a == nil {
		a = new(attached)
		n.attached.Store(a)
	}
	return a
}

// listeners has the hooks of a leaf: before its gradient is accumulated, and after.
type listeners struct{ before, after hooks }

func (v *AutogradMeta) hooksForLeaf() *listeners {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.listeners == nil {
		v.listeners = new(listeners)
	}
	return v.listeners
}

// RegisterHook registers a hook that is called with the gradient of self, and returns its id. A non-NULL result of the hook replaces the
// gradient.
func RegisterHook(_ dispatch.Context, self *tensor.Tensor, function, data, deleter uintptr) (int64, error) {
	if err := checkHookable("register_hook", self, function); err != nil {
		return 0, err
	}
	if n, output := currentGradFn(self); n != nil {
		defer n.Release()
		return n.attachedHooks().before.add(function, data, deleter, output, self), nil
	}
	return autogradMetaOf(self).hooksForLeaf().before.add(function, data, deleter, 0, self), nil
}

// RegisterPostAccumulateGradHook registers a hook that is called after the gradient of the leaf self was accumulated, and returns its id.
func RegisterPostAccumulateGradHook(_ dispatch.Context, self *tensor.Tensor, function, data, deleter uintptr) (int64, error) {
	if err := checkHookable("register_post_accumulate_grad_hook", self, function); err != nil {
		return 0, err
	}
	if n, _ := currentGradFn(self); n != nil {
		defer n.Release()
		return 0, status.Runtimef("post accumulate grad hooks cannot be registered on non-leaf tensors; this one was computed by %s", n.name)
	}
	return autogradMetaOf(self).hooksForLeaf().after.add(function, data, deleter, 0, self), nil
}

func checkHookable(op string, self *tensor.Tensor, function uintptr) error {
	if isTransformed(self) {
		return status.NotImplementedf("%s inside vmap or jvp: a hook would receive the batched gradients, without tangents; register it on a tensor outside of the transform",
			op)
	}
	if !requiresGrad(self) {
		return status.Runtimef("cannot register a hook on a tensor that doesn't require gradient")
	}
	return checkCallback(op, "hook", function)
}

// NodeRegisterHook registers a hook that is called after a node was executed, with the gradients of its inputs and outputs.
func NodeRegisterHook(_ dispatch.Context, self tensor.Node, function, data, deleter uintptr) (number int64, err error) {
	if err = checkCallback("node_register_hook", "hook", function); err == nil {
		err = withNode(self, func(n *Node) error {
			number = n.attachedHooks().after.add(function, data, deleter, -1)
			return nil
		})
	}
	return number, err
}

// NodeRegisterPrehook registers a hook that is called before a node is executed, with the gradients of its outputs.
func NodeRegisterPrehook(_ dispatch.Context, self tensor.Node, function, data, deleter uintptr) (number int64, err error) {
	if err = checkCallback("node_register_prehook", "hook", function); err == nil {
		err = withNode(self, func(n *Node) error {
			number = n.attachedHooks().before.add(function, data, deleter, -1)
			return nil
		})
	}
	return number, err
}

// callTensorHooks calls the hooks on the gradients of single outputs (Tensor.register_hook).
func (r *backwardPass) callTensorHooks(p *pending) error {
	n := p.node
	var list *hooks
	if n.leaf != nil {
		if l := autogradMetaOf(n.leaf).leafHooks(); l != nil {
			list = &l.before
		}
	} else if a := n.attached.Load(); a != nil {
		list = &a.before
	}
	return list.callEach(func(h *hook) error {
		switch {
		case h.output < 0:
			return nil
		case h.group != nil:
			return r.gatherForGroup(h, p.grads[h.output])
		}
		return h.callOn(r.c, n, &p.grads[h.output])
	})
}

// leafHooks returns the hooks of a leaf, or nil.
func (v *AutogradMeta) leafHooks() *listeners {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.listeners
}

// callPreHooks calls the pre-hooks of a node with the gradients of its outputs.
func (r *backwardPass) callPreHooks(p *pending) error {
	a := p.node.attached.Load()
	if a == nil {
		return nil
	}
	return a.before.callEach(func(h *hook) error {
		if h.output >= 0 {
			return nil
		}
		return h.callHook(r.c, p.node, p.grads, p.grads)
	})
}

// callPostHooks calls the hooks of a node with the gradients of its inputs, made, and of its outputs.
func (r *backwardPass) callPostHooks(p *pending, made []*tensor.Tensor) error {
	a := p.node.attached.Load()
	if a == nil {
		return nil
	}
	return a.after.callEach(func(h *hook) error {
		return h.callHook(r.c, p.node, slices.Concat(made, p.grads), made)
	})
}

// callAccumulateHooks calls the post-accumulate-grad hooks of a leaf.
func (r *backwardPass) callAccumulateHooks(leaf *tensor.Tensor) error {
	l := autogradMetaOf(leaf).leafHooks()
	if l == nil {
		return nil
	}
	return l.after.callEach(func(h *hook) error {
		shown, err := h.leafForHook(leaf)
		if err != nil {
			return err
		}
		defer shown.Release()
		_, err = program.Call(r.c, h.function, h.data, []*tensor.Tensor{shown}, 0)
		return err
	})
}
