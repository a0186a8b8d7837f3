package ops_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/schema"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// eachCall makes a call of o for every profile that it accepts, and returns its results to check.
func eachCall(t *testing.T, o *schema.Operator, check func(c call, results []reflect.Value)) {
	called := false
	try := func(c call) {
		if results, err := c.run(); err == nil {
			called = true
			check(c, results)
			releaseResults(results)
		}
	}
	for _, p := range append(profiles, profile{dtype.Float32, []int64{2, 2, 2}, nil, onesLike},
		profile{dtype.Complex64, []int64{2, 2}, nil, onesLike}) {
		c, ok := p.call(t, o)
		if !ok {
			continue
		}
		try(c)
		for i, v := range c.args {
			if _, ok := v.Interface().([]ops.IndexItem); ok { // an index without tensors too
				c.args[i] = reflect.ValueOf([]ops.IndexItem{{Kind: ops.IndexEllipsis}})
				try(c)
			}
		}
	}
	assert.True(t, called, "%s: no profile fits", o.ID())
}

// tensorsOf are the tensors in values, those in lists too.
func tensorsOf(values ...reflect.Value) []*tensor.Tensor {
	var all []*tensor.Tensor
	for _, v := range values {
		switch x := v.Interface().(type) {
		case *tensor.Tensor:
			if x != nil {
				all = append(all, x)
			}
		case []*tensor.Tensor:
			all = append(all, x...)
		}
	}
	return all
}

// declaredToShare are the tensors of the arguments, or results, that list marks as sharing memory; all of them where it marks none.
func declaredToShare(list []schema.Arg, values []reflect.Value) []*tensor.Tensor {
	var out []*tensor.Tensor
	for i, a := range list {
		if a.AliasSet != "" {
			out = append(out, tensorsOf(values[i])...)
		}
	}
	if out == nil {
		return tensorsOf(values...)
	}
	return out
}

// unchanging lists operators that may copy, but whose profiles require no other shape or dtype, or that compute nothing here.
var unchanging = map[string]bool{"reshape_as": true, "to.options": true, "resolve_conj": true, "resolve_neg": true}

// Results that a schema marks as views share memory with the marked arguments: always, or for maybe_view in some calls. The results of
// other operators own their memory.
func TestResultsShareTheMemoryThatTheyDeclare(t *testing.T) {
	for _, o := range everyOperator(t) {
		if !takesTensors(o) || o.Category == "storage" || len(o.Returns) == 0 {
			continue
		}
		shared, copied := 0, 0
		eachCall(t, o, func(c call, results []reflect.Value) {
			given := map[any]bool{}
			for _, x := range declaredToShare(o.Args, c.args[c.outs:]) {
				given[x.Storage()] = true
			}
			for _, r := range declaredToShare(o.Returns, results) {
				if given[r.Storage()] {
					shared++
				} else {
					copied++
				}
			}
		})
		switch {
		case o.Tagged("view"):
			assert.True(t, shared > 0 && copied == 0, "%s: %d results share memory, %d do not", o.ID(), shared, copied)
		case o.Tagged("maybe_view"):
			assert.True(t, shared > 0 && (copied > 0 || unchanging[o.ID()]), "%s: %d results share memory, %d do not", o.ID(), shared, copied)
		default:
			assert.Zero(t, shared, o.ID())
		}
	}
}

// The results of operators that work element by element have the shape that the operands broadcast to.
func TestElementwiseResultsHaveTheBroadcastShape(t *testing.T) {
	for _, o := range everyOperator(t) {
		if !o.Tagged("elementwise") {
			continue
		}
		eachCall(t, o, func(c call, results []reflect.Value) {
			want := []int64{}
			for _, x := range tensorsOf(c.args[c.outs:]...) {
				var err error
				want, err = shape.Broadcast("test", want, x.Sizes())
				assert.NoError(t, err)
			}
			for _, r := range tensorsOf(results...) {
				assert.Equal(t, want, append([]int64{}, r.Sizes()...), o.ID())
			}
		})
	}
}

// Operators that look at elements first, and no others, reject meta tensors, in one wording.
func TestOperatorsThatSyncRejectMetaTensors(t *testing.T) {
	for _, o := range everyOperator(t) {
		if !takesTensors(o) || o.Category == "storage" || len(o.Returns) == 0 {
			continue
		}
		eachCall(t, o, func(c call, _ []reflect.Value) {
			for i, v := range c.args {
				if x, ok := v.Interface().(*tensor.Tensor); ok && x != nil {
					c.args[i] = reflect.ValueOf(onMeta(t, x))
				}
			}
			results, err := c.run()
			if !o.Tagged("syncs") {
				assert.NotEqual(t, status.Internal, codeOf(err), "%s: %v", o.ID(), err)
				releaseResults(results)
				return
			}
			assert.ErrorContains(t, err, ": the result depends on the values of elements, which tensors on the meta device do not have", o.ID())
		})
	}
}
