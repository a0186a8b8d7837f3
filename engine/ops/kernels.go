//go:build !nokernels

package ops

import _ "github.com/libtensor/libtensor/engine/cpu" // does the work of every build
