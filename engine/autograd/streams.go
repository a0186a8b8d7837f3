package autograd

import "github.com/libtensor/libtensor/engine/device"

// streams are those that a run has gone on in, by device, with those that it began in. Derivatives are computed in the stream in which the
// call left its work. Each waits for the one before it, so that a run's work is done in its order, and the caller's streams wait for the last.
type streams struct {
	now, began map[device.Device]device.Stream
}

// follow goes on in the stream of a node's call.
func (s *streams) follow(n *Node) error {
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
	return change(to, now)
}

// back returns to the streams of the caller.
func (s *streams) back() (err error) {
	for d, began := range s.began {
		if failed := change(began, s.now[d]); err == nil {
			err = failed
		}
	}
	s.now, s.began = nil, nil
	return err
}

// change makes one stream current in the place of another, for which it waits.
func change(to, from device.Stream) error {
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
