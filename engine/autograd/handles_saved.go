package autograd

import (
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// NodeSaved returns the saved tensors of a node, with their autograd metadata.
func NodeSaved(c dispatch.Context, self tensor.Node) ([]*tensor.Tensor, error) {
	return savedBy(c, self, func(s *saved) bool { return !s.absent })
}

// NodeSavedAs returns the saved tensors with a name.
func NodeSavedAs(c dispatch.Context, self tensor.Node, name string) ([]*tensor.Tensor, error) {
	return savedBy(c, self, func(s *saved) bool { return strings.TrimSuffix(s.name, listed) == name })
}

func savedBy(c dispatch.Context, self tensor.Node, which func(s *saved) bool) (list []*tensor.Tensor, err error) {
	err = withNode(self, func(n *Node) error {
		if err := n.beginUse(); err != nil {
			return err
		}
		defer n.endUse(false)
		s := &steps{Builder: build.Builder{C: c}, node: n, record: true}
		defer s.Close()
		for i := range n.saved {
			if !which(&n.saved[i]) {
				continue
			}
			t, err := s.Evaluate(func() *tensor.Tensor { return s.saved(i) })
			if err != nil {
				for _, t := range list {
					t.Release()
				}
				list = nil
				return err
			}
			list = append(list, t)
		}
		return nil
	})
	return list, err
}

// NodeSavedNames returns the names of the tensors that a node saves if they are needed.
func NodeSavedNames(_ dispatch.Context, self tensor.Node) (names string, err error) {
	err = withNode(self, func(n *Node) error {
		var all []string
		for _, s := range n.saved {
			if s.name != "" && !slices.Contains(all, s.name) {
				all = append(all, s.name)
			}
		}
		names = strings.Join(all, " ")
		return nil
	})
	return names, err
}

// NodePackSaved registers saved-tensor hooks for saved tensor number i with a name.
func NodePackSaved(c dispatch.Context, self tensor.Node, name string, i int64, pack, unpack, drop, data, deleter uintptr) error {
	const op = "node_pack_saved"
	if err := checkCallback(op, "pack", pack); err != nil {
		return err
	}
	if err := checkCallback(op, "unpack", unpack); err != nil {
		return err
	}
	return withNode(self, func(n *Node) error {
		if err := n.beginUse(); err != nil {
			return err
		}
		defer n.endUse(false)
		place := n.findSaved(name, i)
		switch {
		case place < 0:
			return status.Indexf("%s: index %[5]d is out of range: %[2]s saved %[3]d tensors as %[4]s", op, n.name, n.countSaved(name), name, i)
		case n.saved[place].packed != nil:
			return status.Runtimef("Calling register_hooks on a saved tensor whose hooks have already been set is not allowed; %s saved %s by hooks",
				n.name, name)
		case n.saved[place].t == nil:
			return status.Runtimef("Calling register_hooks on a saved tensor with value None is forbidden; %s has not saved %s", n.name, name)
		}
		s := &steps{Builder: build.Builder{C: c}, node: n, record: !n.saved[place].result}
		defer s.Close()
		shown, err := s.Evaluate(func() *tensor.Tensor { return s.saved(place) })
		if err != nil {
			return err
		}
		defer shown.Release()
		by := &savers{newContext(data, 0), pack, unpack, drop, 0}
		made, err := by.packTensor(c, shown)
		if err != nil {
			return err
		}
		by.deleter = deleter
		kept := &n.saved[place]
		kept.t.Release()
		kept.t, kept.packed = nil, made
		return nil
	})
}

// countSaved returns the number of saved tensors with a name.
func (n *Node) countSaved(name string) (count int) {
	for n.findSaved(name, int64(count)) >= 0 {
		count++
	}
	return count
}

// findSaved returns the index of saved tensor number i with a name, or -1.
func (n *Node) findSaved(name string, i int64) int {
	for at := range n.saved {
		if i < 0 {
			return -1
		}
		if strings.TrimSuffix(n.saved[at].name, listed) != name {
			continue
		}
		if i == 0 {
			return at
		}
		i--
	}
	return -1
}
