package autograd

import (
	"strings"
	"sync/atomic"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// anomaly is the anomaly mode of the process.
var anomaly anomalies

type anomalies struct {
	on, nan atomic.Bool
	watcher atomic.Pointer[watcher]
}

// watcher is a callback for the creation and the failure of nodes.
type watcher struct{ function, context uintptr }

func init() { anomaly.nan.Store(true) }

// SetDetectAnomaly sets anomaly mode, and whether NaN gradients are errors.
func SetDetectAnomaly(_ dispatch.Context, enabled, checkNan bool) error {
	anomaly.on.Store(enabled)
	anomaly.nan.Store(checkNan)
	return nil
}

// IsAnomalyEnabled returns whether anomaly mode is on.
func IsAnomalyEnabled(dispatch.Context) (bool, error) { return anomaly.on.Load(), nil }

// IsAnomalyCheckNanEnabled returns whether anomaly mode returns an error for NaN gradients.
func IsAnomalyCheckNanEnabled(dispatch.Context) (bool, error) { return anomaly.nan.Load(), nil }

// SetAnomalyWatcher sets the callback of anomaly mode.
func SetAnomalyWatcher(_ dispatch.Context, function, data uintptr) error {
	if function == 0 {
		anomaly.watcher.Store(nil)
		return nil
	}
	anomaly.watcher.Store(&watcher{function, data})
	return nil
}

// callWatcherForNew calls the watcher of anomaly mode for a new node.
func (n *Node) callWatcherForNew() {
	if anomaly.on.Load() {
		n.callWatcher(false)
	}
}

// callWatcher calls the watcher for a node.
func (n *Node) callWatcher(failed bool) {
	if w := anomaly.watcher.Load(); w != nil {
		n.retain()
		program.Watch(w.function, w.context, n, failed)
	}
}

// addFailedName adds the name of the failed node to the error of a backward pass.
func (n *Node) addFailedName(err error) error {
	if err == nil || !anomaly.on.Load() {
		return err
	}
	n.callWatcher(true)
	if e, ok := err.(*status.Error); ok && e.Code != status.Callback && !strings.Contains(e.Msg, n.name) {
		return &status.Error{Code: e.Code, Msg: e.Msg + "; the error is in " + n.name, Errno: e.Errno}
	}
	return err
}

// checkNan returns an error for gradients with NaN.
func (n *Node) checkNan(c dispatch.Context, grads []*tensor.Tensor) error {
	if !anomaly.on.Load() || !anomaly.nan.Load() {
		return nil
	}
	s := &steps{Builder: build.Builder{C: c.Recorded(false)}}
	defer s.Close()
	for i, t := range grads {
		if t == nil || !backend.Known(t) {
			continue
		}
		found, err := s.Evaluate(func() *tensor.Tensor {
			return s.Any(s.Isnan(s.Track(t.Behind().Plain(), nil)), nil, false)
		})
		if err != nil {
			return err
		}
		any := found.Item().I != 0
		found.Release()
		if any {
			return status.Runtimef("Function '%s' returned nan values in its %dth output.", n.name, i)
		}
	}
	return nil
}
