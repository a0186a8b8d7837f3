package autograd

import (
	"github.com/libtensor/libtensor/engine/inherit"
	"github.com/libtensor/libtensor/engine/tensor"
)

func init() {
	inherit.Value(&numbers)
	inherit.Value(&registered.last)
	inherit.Read(&anomaly, func(parents *anomalies) {
		anomaly.on.Store(parents.on.Load())
		anomaly.nan.Store(parents.nan.Load())
		if w := parents.watcher.Load(); w != nil {
			anomaly.watcher.Store(&watcher{w.function, w.context})
		}
	})
	tensor.InheritAutogradMeta = inheritAutogradMeta
}

// inheritAutogradMeta copies the autograd metadata of a leaf: flags, gradient and hooks. For other tensors it returns the reason for which
// a child cannot use them. It reads old without locking, because threads of the parent may have held its locks at the fork.
func inheritAutogradMeta(h *tensor.Heirs, old tensor.AutogradMeta) (tensor.AutogradMeta, string) {
	if meta, ok := old.(creationMeta); ok {
		return meta, ""
	}
	v, ok := old.(*AutogradMeta)
	switch {
	case !ok:
		return nil, "has an unknown autograd graph, which a forked child does not inherit; call detach() before the fork"
	case v.node != nil:
		return nil, "has a grad_fn, which a forked child does not inherit; call detach() before the fork"
	case v.view != nil:
		return nil, "is a view that autograd tracks, which a forked child does not inherit; call detach() before the fork"
	}
	made := &AutogradMeta{requires: v.requires, hidden: v.hidden, set: v.set, changes: v.changes, elsewhere: v.elsewhere,
		functionView: v.functionView,
		inferred:     v.inferred, creationMeta: v.creationMeta, since: v.since}
	made.refs.Store(1)
	made.cut.Store(v.cut.Load())
	if l := v.listeners; l != nil {
		made.listeners = new(listeners)
		if !made.listeners.before.copyFrom(&l.before) || !made.listeners.after.copyFrom(&l.after) {
			return nil, "is sparse and has hooks, or shares hooks with other tensors, which a forked child does not inherit; register the hooks in the child"
		}
	}
	if v.grad != nil {
		made.grad = h.Tensor(v.grad)
	}
	return made, ""
}

// copyFrom copies hooks and keeps their ids. It returns false for hooks on several tensors and for hooks of sparse tensors, which cannot be
// copied.
func (l *hooks) copyFrom(old *hooks) bool {
	for _, o := range old.list {
		if o.group != nil || o.places != nil {
			return false
		}
		c := &context{data: o.data, deleter: o.deleter}
		c.refs.Store(1)
		h := &hook{context: c, function: o.function, number: o.number, output: o.output, list: l, place: o.place}
		registered.all[h.number] = h
		l.list = append(l.list, h)
	}
	return true
}
