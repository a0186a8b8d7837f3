package autograd

import "github.com/libtensor/libtensor/engine/device"

// streams has the current and the initial stream of a backward pass for each device. The derivative of an operation is computed in the
// stream of the operation. Each stream waits for the previous one, so that kernels execute in the order of the backward pass, and the
// caller's streams wait for the last.
type streams struct {
	now, began map[device.Device]device.Stream
}

// switchToNode switches to the stream of a node's operation.
func (s *streams) switchToNode(n *Node) error {
	if n.leaf != nil || len(n.outputs) == 0 || n.outputs[0].stream == 0 {
		return nil
	}
	to := n.outputs[0].stream
	d := to.Device()
	now, known := s.now[d]
	if !known {
		now = device.CurrentStream(d)
	}
	if now == to {
		return nil
	}
	if s.now == nil {
		s.now, s.began = map[device.Device]device.Stream{}, map[device.Device]device.Stream{}
	}
	if !known {
		s.began[d] = now
	}
	s.now[d] = to
	return switchStream(to, now)
}

// switchBack switches to the streams of the caller.
func (s *streams) switchBack() (err error) {
	for d, began := range s.began {
		if failed := switchStream(began, s.now[d]); err == nil {
			err = failed
		}
	}
	s.now, s.began = nil, nil
	return err
}

// switchStream makes a stream current, after it waits for the previous one.
func switchStream(to, from device.Stream) error {
	const op = "backward"
	w, err := device.StreamWork(op, to)
	if err != nil {
		return err
	}
	if err := w.SetCurrentStream(op, to); err != nil {
		return err
	}
	return w.WaitStream(op, to, from)
}
