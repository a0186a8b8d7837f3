package autograd

import (
	"slices"
	"sync"

	"github.com/libtensor/libtensor/engine/aten"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// hook is a function of the program's that a run calls.
type hook struct {
	*context
	function uintptr
	number   int64
	output   int // the result whose gradient it is given alone; -1 for those of all
	list     *hooks
	group    *group // that it is a member of
	place    int    // among the members
	on       any    // of a member: the *Node or *Variable whose gradient it is given
}

// hooks are called in their order. A run takes the list as it is; the list is replaced, not changed.
type hooks struct{ list []*hook }

// registered are all hooks by their numbers, and the lock over their lists.
var registered = struct {
	sync.Mutex
	last   int64
	all    map[int64]*hook
	groups map[int64]*group
}{all: map[int64]*hook{}, groups: map[int64]*group{}}

// add registers a hook and gives its number.
func (l *hooks) add(function, data, deleter uintptr, output int, on ...*tensor.Tensor) int64 {
	return l.join(&hook{context: newContext(data, deleter, on...), function: function, output: output})
}

func (l *hooks) join(h *hook) int64 {
	registered.Lock()
	defer registered.Unlock()
	registered.last++
	h.number, h.list = registered.last, l
	registered.all[h.number] = h
	l.list = append(slices.Clip(l.list), h)
	return h.number
}

// RemoveHook removes a hook by its number.
func RemoveHook(c aten.Ctx, number int64) error {
	h, g := unregister(number)
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

// unregister takes a hook off its list, or gives a group, whose hooks have numbers of their own.
func unregister(number int64) (*hook, *group) {
	registered.Lock()
	defer registered.Unlock()
	h, g := registered.all[number], registered.groups[number]
	delete(registered.groups, number)
	if h != nil {
		h.group.lost()
		delete(registered.all, number)
		i := slices.Index(h.list.list, h)
		h.list.list = slices.Delete(slices.Clone(h.list.list), i, i+1)
	}
	return h, g
}

// clear removes all hooks of a list.
func (l *hooks) clear() {
	for _, h := range l.now() {
		_ = RemoveHook(aten.Ctx{}, h.number)
		h.release()
	}
}

// now are the hooks of this moment, each with a reference for the caller.
func (l *hooks) now() []*hook {
	registered.Lock()
	defer registered.Unlock()
	for _, h := range l.list {
		h.retain()
	}
	return l.list
}

// run calls the hooks that f takes, until one fails. Where nobody ever registered one there is no list, and nothing to lock.
func (l *hooks) run(f func(h *hook) error) (err error) {
	if l == nil {
		return nil
	}
	for _, h := range l.now() {
		if err == nil {
			err = f(h)
		}
		h.release()
	}
	return err
}

// whole is a leaf as its hook is given it: of a sparse tensor at its places.
func (h *hook) whole(leaf *tensor.Tensor) (*tensor.Tensor, error) {
	if places := h.placesAt(h.place); places != nil {
		return entries(places, leaf)
	}
	return leaf.Alias(), nil
}

// shown is a gradient as the hook of a tensor is given it: of a sparse tensor at its places.
func (h *hook) shown(c aten.Ctx, t *tensor.Tensor) (*tensor.Tensor, error) {
	if t == nil {
		return nil, nil
	}
	return gradientOf(c, h.placesAt(h.place), t)
}

// callOn gives the hook of a tensor its gradient, and puts what it makes in the place of that.
func (h *hook) callOn(c aten.Ctx, n *Node, grad **tensor.Tensor) error {
	shown, err := h.shown(c, *grad)
	if err != nil {
		return err
	}
	one := []*tensor.Tensor{shown}
	defer func() { one[0].Release() }()
	if err := h.call(c, n, one, one); err != nil || one[0] == shown {
		return err
	}
	made, err := placed(c, h.placesAt(h.place), one[0])
	if err == nil {
		(*grad).Release()
		*grad = made
	}
	return err
}

// call gives a hook tensors, and puts what it makes in the place of some of them.
func (h *hook) call(c aten.Ctx, n *Node, tensors, replaced []*tensor.Tensor) error {
	made, err := program.Call(c, h.function, h.data, tensors, len(replaced))
	for i, t := range made {
		if t == nil {
			continue
		}
		if err == nil {
			err = n.alike(replaced[i], t)
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

// alike refuses a gradient that is not like that in whose place it is to come.
func (n *Node) alike(old, t *tensor.Tensor) error {
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

// attached is what users attach to a node.
type attached struct {
	before, after hooks
	context       *context
}

// attach gives the node room for what is attached to it.
func (n *Node) attach() *attached {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.attached.Load()
	if a == nil {
		a = new(attached)
		n.attached.Store(a)
	}
	return a
}

// listeners are the hooks of a leaf: on its gradient as it comes, and once it has been added.
type listeners struct{ before, after hooks }

func (v *Variable) listen() *listeners {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.listeners == nil {
		v.listeners = new(listeners)
	}
	return v.listeners
}

// RegisterHook has a hook called with the gradient of self.
func RegisterHook(_ aten.Ctx, self *tensor.Tensor, function, data, deleter uintptr) (int64, error) {
	if err := hookable("register_hook", self, function); err != nil {
		return 0, err
	}
	if n, output := current(self); n != nil {
		defer n.Release()
		return n.attach().before.add(function, data, deleter, output, self), nil
	}
	return variableOf(self).listen().before.add(function, data, deleter, 0, self), nil
}

// RegisterPostAccumulateGradHook has a hook called when the gradient of a leaf has been added to.
func RegisterPostAccumulateGradHook(_ aten.Ctx, self *tensor.Tensor, function, data, deleter uintptr) (int64, error) {
	if err := hookable("register_post_accumulate_grad_hook", self, function); err != nil {
		return 0, err
	}
	if n, _ := current(self); n != nil {
		defer n.Release()
		return 0, status.Runtimef("post accumulate grad hooks cannot be registered on non-leaf tensors; this one was made by %s", n.name)
	}
	return variableOf(self).listen().after.add(function, data, deleter, 0, self), nil
}

func hookable(op string, self *tensor.Tensor, function uintptr) error {
	if isTransformed(self) {
		return status.NotImplementedf("%s inside vmap or jvp: a hook would be called with the gradients of all examples at once, and without tangents; register it on a tensor outside", op)
	}
	if !wanted(self) {
		return status.Runtimef("cannot register a hook on a tensor that doesn't require gradient")
	}
	return given(op, "hook", function)
}

// NodeRegisterHook has a hook called when a run has gone through a node.
func NodeRegisterHook(_ aten.Ctx, self tensor.Node, function, data, deleter uintptr) (number int64, err error) {
	if err = given("node_register_hook", "hook", function); err == nil {
		err = with(self, func(n *Node) error {
			number = n.attach().after.add(function, data, deleter, -1)
			return nil
		})
	}
	return number, err
}

// NodeRegisterPrehook has a hook called before a run goes through a node.
func NodeRegisterPrehook(_ aten.Ctx, self tensor.Node, function, data, deleter uintptr) (number int64, err error) {
	if err = given("node_register_prehook", "hook", function); err == nil {
		err = with(self, func(n *Node) error {
			number = n.attach().before.add(function, data, deleter, -1)
			return nil
		})
	}
	return number, err
}

// arrive calls the hooks on the gradients of single results, those of tensors.
func (r *run) arrive(p *pending) error {
	n := p.node
	var list *hooks
	if n.leaf != nil {
		if l := variableOf(n.leaf).heard(); l != nil {
			list = &l.before
		}
	} else if a := n.attached.Load(); a != nil {
		list = &a.before
	}
	return list.run(func(h *hook) error {
		switch {
		case h.output < 0:
			return nil
		case h.group != nil:
			return r.gather(h, p.grads[h.output])
		}
		return h.callOn(r.c, n, &p.grads[h.output])
	})
}

// heard are the hooks of a leaf, nil for none.
func (v *Variable) heard() *listeners {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.listeners
}

// enter calls the hooks on the gradients of all results of a node.
func (r *run) enter(p *pending) error {
	a := p.node.attached.Load()
	if a == nil {
		return nil
	}
	return a.before.run(func(h *hook) error {
		if h.output >= 0 {
			return nil
		}
		return h.call(r.c, p.node, p.grads, p.grads)
	})
}

// leave calls the hooks of a node with the gradients of its operands, made, and of its results.
func (r *run) leave(p *pending, made []*tensor.Tensor) error {
	a := p.node.attached.Load()
	if a == nil {
		return nil
	}
	return a.after.run(func(h *hook) error {
		return h.call(r.c, p.node, slices.Concat(made, p.grads), made)
	})
}

// accumulated calls the hooks of a leaf whose gradient has been added to.
func (r *run) accumulated(leaf *tensor.Tensor) error {
	l := variableOf(leaf).heard()
	if l == nil {
		return nil
	}
	return l.after.run(func(h *hook) error {
		shown, err := h.whole(leaf)
		if err != nil {
			return err
		}
		defer shown.Release()
		_, err = program.Call(r.c, h.function, h.data, []*tensor.Tensor{shown}, 0)
		return err
	})
}
