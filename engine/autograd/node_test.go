package autograd

import (
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/tensor"
)

// lived returns a node with all the fields that a recorded operation sets, and a tensor that it holds.
func lived(t *testing.T, before *Node) (*Node, *tensor.Tensor) {
	t.Helper()
	kept, err := tensor.Empty("test", []int64{2}, dtype.Float32, device.Host)
	if err != nil {
		t.Fatal(err)
	}
	n := newNode("Lived", 2)
	before.retain()
	n.edges[0] = Edge{before, 3}
	n.number = numbers.Add(1)
	n.recordOutputs(kept)
	n.saved = append(n.firstSaved[:0], saved{name: "self", t: kept.Plain(), number: true}, saved{name: "other", absent: true})
	n.formula = func(*steps, int) *tensor.Tensor { return nil }
	n.cut, n.spent = always, true
	return n, kept
}

// untouched reports whether a node that newNode gave is as if it had never been another.
func untouched(n *Node) bool {
	fresh := &Node{name: "New"}
	fresh.refs.Store(1)
	fresh.edges = fresh.firstEdges[:1]
	return reflect.DeepEqual(n, fresh)
}

func TestNodesFromThePoolAreAsNewOnes(t *testing.T) {
	before := newNode("Before", 0)
	var again, made int
	for round := 0; round < 400 && (again == 0 || made == 0); round++ {
		n, kept := lived(t, before)
		if before.refs.Load() != 2 || kept.Storage().Refs() != 2 {
			t.Fatalf("the node holds %d of the node before it and %d of the tensor", before.refs.Load()-1, kept.Storage().Refs()-1)
		}
		n.Release()
		if before.refs.Load() != 1 || kept.Storage().Refs() != 1 {
			t.Fatalf("a node that is gone still holds %d of the node before it and %d of the tensor", before.refs.Load()-1, kept.Storage().Refs()-1)
		}
		kept.Release()
		if round%2 == 1 {
			runtime.GC() // which empties pools
			runtime.GC()
		}
		next := newNode("New", 1)
		if next == n {
			again++
		} else {
			made++
		}
		if !untouched(next) {
			t.Fatalf("a node of another life (the same: %v) is seen in a new one: %+v", next == n, next)
		}
		next.Release()
	}
	if again == 0 || made == 0 {
		t.Fatalf("%d nodes were used again and %d made: both ought to have come up", again, made)
	}
}

func TestNodesThatOthersKnowAreNotUsedAgain(t *testing.T) {
	for _, know := range []func(n *Node){func(n *Node) { n.known.Store(true) }, func(n *Node) { n.attachedHooks() }} {
		n := newNode("Known", 0)
		know(n)
		n.Release()
		for range 8 {
			if next := newNode("New", 1); next == n {
				t.Fatal("a node whose address others have was used again")
			}
		}
	}
}

func TestThreadsShareThePoolOfNodes(t *testing.T) {
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			before := newNode("Before", 0)
			for range 2000 {
				n := newNode("New", 1)
				if !untouched(n) {
					t.Errorf("a node of another life is seen in a new one: %+v", n)
					return
				}
				before.retain()
				n.edges[0] = Edge{before, 0}
				n.name, n.number = "Lived", numbers.Add(1)
				n.Release()
			}
			if refs := before.refs.Load(); refs != 1 {
				t.Errorf("nodes that are gone hold %d references", refs-1)
			}
		}()
	}
	all.Wait()
}
