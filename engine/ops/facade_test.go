package ops_test

import (
	_ "github.com/libtensor/libtensor/engine/autograd"  // the layer of gradients
	_ "github.com/libtensor/libtensor/engine/composite" // registers the composite operators
	_ "github.com/libtensor/libtensor/engine/conjugate" // conjugated and negated views
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	_ "github.com/libtensor/libtensor/engine/quantized" // quantized tensors
	_ "github.com/libtensor/libtensor/engine/sparse"    // and sparse tensors
)

// ctx is the dispatcher, through which these tests call every operator.
var ctx dispatch.Context

// The addend and the scale of products in tests that do not depend on them.
var zero, unscale = dtype.IntScalar(0), dtype.IntScalar(1)

var (
	given    = ops.Given
	ramp     = ops.Ramp
	flat     = ops.Flat
	onMeta   = ops.OnMeta
	sameBits = ops.SameBits
	codeOf   = ops.CodeOf
	cycle    = ops.Cycle
)
