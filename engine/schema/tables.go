package schema

import (
	"fmt"
	"strings"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/shape"
)

// The names that the C header and the packages have too, in the order of their numbers.
var (
	DTypes        = dtype.Named()
	Devices       = enumNames[device.Type]()
	Layouts       = []string{"strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"}
	MemoryFormats = enumNames[shape.MemoryFormat]()
)

type enumeration interface {
	~int8
	fmt.Stringer
}

// enumNames returns the names of the values from 0 to the last that has one.
func enumNames[T enumeration]() []string {
	var names []string
	for v := T(0); v.String() != T(-1).String(); v++ {
		names = append(names, strings.TrimPrefix(v.String(), "torch."))
	}
	return names
}
