package ops_test

import (
	"github.com/libtensor/libtensor/engine/aten"
	_ "github.com/libtensor/libtensor/engine/autograd"  // the layer of gradients
	_ "github.com/libtensor/libtensor/engine/composite" // registers the composed operators
	_ "github.com/libtensor/libtensor/engine/conjugate" // conjugated and negated views
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	_ "github.com/libtensor/libtensor/engine/quantized" // quantized tensors
	_ "github.com/libtensor/libtensor/engine/sparse"    // and sparse tensors
)

// ctx is the façade, through which these tests call every operator.
var ctx aten.Ctx

// What products are added to, and what they are scaled by, where neither matters.
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
