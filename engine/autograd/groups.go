package autograd

import (
	"cmp"
	"maps"
	"slices"

	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/tensor"
)

// group is a hook on the gradients of several tensors. It has one member hook on each tensor.
type group struct {
	number  int64
	members []*hook
	left    int  // members that are not removed
	first   bool // called with the first gradient of a backward pass, otherwise with all
}

// removeMember records, under the lock of registered, that a member was removed. The last one removes the group.
func (g *group) removeMember() {
	if g == nil {
		return
	}
	if g.left--; g.left == 0 {
		delete(registered.groups, g.number)
	}
}

// assignID assigns the id by which the group is removed.
func (g *group) assignID() {
	registered.Lock()
	defer registered.Unlock()
	registered.last++
	g.number = registered.last
	if len(g.members) > 0 {
		registered.groups[g.number] = g
	}
}

// RegisterMultiGradHook registers a hook that is called with the gradients of several tensors, and returns its id.
func RegisterMultiGradHook(c dispatch.Context, tensors []*tensor.Tensor, first bool, function, data, deleter uintptr) (int64, error) {
	const op = "register_multi_grad_hook"
	if err := checkCallback(op, "hook", function); err != nil {
		return 0, err
	}
	for _, t := range tensors {
		if err := checkHookable(op, t, function); err != nil {
			return 0, err
		}
	}
	shared := newContext(data, deleter, tensors...)
	g := &group{first: first, left: len(tensors)}
	for i := range tensors {
		shared.retain()
		g.members = append(g.members, &hook{context: shared, function: function, group: g, place: i})
	}
	g.assignID()
	for i, t := range tensors {
		h := g.members[i]
		if n, output := currentGradFn(t); n != nil {
			h.on, h.output = n, output
			n.attachedHooks().before.addHook(h)
			n.Release()
			continue
		}
		v := autogradMetaOf(t)
		h.on = v
		v.hooksForLeaf().before.addHook(h)
	}
	shared.release()
	return g.number, nil
}

// gathered has the gradients of a group that a backward pass has computed so far.
type gathered struct {
	hook  *hook // one of the group
	grads []*tensor.Tensor
	left  int // members that the backward pass will reach
}

// gatherForGroup adds a gradient to a group. It calls the group's hook at the first gradient (mode "any"), or once all gradients are known
// (mode "all").
func (r *backwardPass) gatherForGroup(h *hook, grad *tensor.Tensor) error {
	shown, err := h.gradForHook(r.c, grad)
	if err != nil {
		return err
	}
	defer shown.Release()
	g := h.group
	have := r.gathered[g]
	if have == nil {
		h.retain()
		have = &gathered{hook: h, grads: make([]*tensor.Tensor, len(g.members))}
		if r.gathered == nil {
			r.gathered = map[*group]*gathered{}
		}
		r.gathered[g] = have
		if g.first {
			_, err := program.Call(r.c, h.function, h.data, []*tensor.Tensor{shown}, 0)
			return err
		}
		reached := r.reachableNodes()
		for _, h := range g.members {
			if reached[h.on] {
				have.left++
			}
		}
	}
	if g.first {
		return nil
	}
	if shown != nil {
		have.grads[h.place] = shown.Alias()
	}
	if have.left--; have.left > 0 {
		return nil
	}
	return r.callGroupHook(have)
}

// callGroupHook calls the hook of a group with its gradients.
func (r *backwardPass) callGroupHook(have *gathered) error {
	_, err := program.Call(r.c, have.hook.function, have.hook.data, have.grads, 0)
	return err
}

func (g *gathered) release() {
	for _, t := range g.grads {
		t.Release()
	}
	g.hook.release()
}

// callIncompleteGroups calls the hooks of groups some of whose gradients are undefined, at the end of a backward pass.
func (r *backwardPass) callIncompleteGroups() error {
	for _, g := range slices.SortedFunc(maps.Keys(r.gathered), func(a, b *group) int { return cmp.Compare(a.number, b.number) }) {
		if have := r.gathered[g]; have.left > 0 {
			have.left = 0
			if err := r.callGroupHook(have); err != nil {
				return err
			}
		}
	}
	return nil
}

// reachableNodes returns the nodes that the backward pass visits, and the metadata of the leaves that get a gradient.
func (r *backwardPass) reachableNodes() map[any]bool {
	if r.reached != nil {
		return r.reached
	}
	r.reached = map[any]bool{}
	add := func(n *Node) {
		r.reached[n] = true
		if n.leaf != nil {
			r.reached[autogradMetaOf(n.leaf)] = true
		}
	}
	if r.needed != nil {
		for n, needed := range r.needed {
			if needed {
				add(n)
			}
		}
		return r.reached
	}
	next := []*Node{}
	visit := func(e Edge) {
		if e.Node != nil && !r.reached[e.Node] {
			add(e.Node)
			next = append(next, e.Node)
		}
	}
	for _, e := range r.roots {
		visit(e)
	}
	for len(next) > 0 {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		for _, e := range n.edges {
			visit(e)
		}
	}
	return r.reached
}
