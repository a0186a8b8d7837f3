package program

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// The kinds of state.
const (
	parameter = iota
	buffer
	constant
)

var stateKinds = map[string]int{"parameter": parameter, "buffer": buffer, "tensor_constant": constant}

// weights are the tensors of a program.
type weights struct {
	names   []string
	kinds   []int
	grads   []bool // whether each requires grad
	tensors []*tensor.Tensor
}

// payload is an entry of a configuration of weights.
type payload struct {
	path    string
	pickled bool
	meta    *meta
}

// tensorCost is the memory of a tensor without its elements.
const tensorCost = 600

// readPayloads reads a configuration of weights.
func (r *reader) readPayloads(all map[string]payload) {
	r.readObject(func(key string) {
		if key != "config" {
			r.skipValue()
			return
		}
		r.readObject(func(name string) {
			r.spendBudget(metaCost + int64(len(name)))
			var p payload
			r.readObject(func(key string) {
				switch {
				case key == "path_name":
					p.path = r.readString()
				case key == "use_pickle":
					p.pickled = r.readBool()
				case key == "tensor_meta" && !r.takeNull():
					p.meta = r.readMeta()
				case key != "tensor_meta":
					r.skipValue()
				}
			})
			all[name] = p
		})
	})
}

// readPayloads reads the configuration of a folder.
func (l *loader) readPayloads(folder, suffix string) (map[string]payload, error) {
	all := map[string]payload{}
	e := l.archive.Find(l.prefix + folder + l.name + suffix)
	if e == nil {
		return all, nil
	}
	r, err := l.newReader(e)
	if err != nil {
		return nil, err
	}
	r.readPayloads(all)
	return all, r.checkEnd()
}

// readWeights creates the tensors that the program's signature names.
func (l *loader) readWeights(m *model) (w *weights, err error) {
	saved, err := l.readPayloads("data/weights/", "_weights_config.json")
	if err != nil {
		return nil, err
	}
	constants, err := l.readPayloads("data/constants/", "_constants_config.json")
	if err != nil {
		return nil, err
	}
	w = &weights{}
	storages := map[string]*storage.Storage{}
	var mapping *storage.Storage
	defer func() {
		for _, s := range storages {
			s.Release()
		}
		if mapping != nil {
			mapping.Release()
		}
		if err != nil {
			for _, t := range w.tensors {
				t.Release()
			}
		}
	}()
	if l.source.IsFile() {
		if mapping, err = l.source.Map(l.op); err != nil {
			return nil, err
		}
	}
	var targets []archive.Target
	for i := range m.inputs {
		in := &m.inputs[i]
		kind, ok := stateKinds[in.kind]
		if !ok {
			continue
		}
		if err := l.budget.Spend(tensorCost); err != nil {
			return w, err
		}
		folder := "data/weights/"
		p, ok := saved[in.target]
		if !ok {
			folder = "data/constants/"
			p, ok = constants[in.target]
		}
		switch {
		case !ok && l.archive.Find(l.prefix+"data/weights/"+l.name+".pt") != nil:
			return w, status.NotImplementedf("%s: the weights are a pickle, as PyTorch 2.8 writes; load and save the program with PyTorch 2.9 or newer",
				l.op)
		case !ok:
			return w, status.Runtimef("%s: the file is damaged: %s %.100q is not among its weights", l.op, in.kind, in.target)
		case p.pickled || p.meta == nil:
			return w, status.NotImplementedf("%s: %s %.100q is a pickle, which could run code; tensors that are stored as raw bytes are loaded",
				l.op, in.kind, in.target)
		}
		key := l.prefix + folder + p.path
		e := l.archive.Find(key)
		if e == nil {
			return w, status.Runtimef("%s: the file is damaged: there is no record %.100q of %s %.100q", l.op, key, in.kind, in.target)
		}
		s := storages[key]
		if s == nil {
			if mapping != nil && e.Offset%dtype.Complex128.Size() == 0 {
				s, err = mapping.Slice(l.op, e.Offset, e.Offset+e.Size)
			} else if s, err = storage.New(l.op, e.Size, device.Host, false); err == nil {
				targets = append(targets, archive.Target{Entry: e, Parts: [][]byte{s.Bytes()}})
			}
			if err != nil {
				return w, err
			}
			storages[key] = s
		}
		t, err := l.newTensor(in, p.meta, s)
		if err != nil {
			return w, err
		}
		w.names, w.kinds, w.tensors = append(w.names, in.target), append(w.kinds, kind), append(w.tensors, t)
		w.grads = append(w.grads, p.meta.grad)
	}
	return w, l.archive.ReadInto(targets)
}

func (l *loader) newTensor(in *spec, m *meta, s *storage.Storage) (*tensor.Tensor, error) {
	d, ok := dtype.OfExported(m.dtype)
	if !ok {
		return nil, status.NotImplementedf("%s: %s %.100q has a dtype of the number %d, which this version of libtensor does not know", l.op,
			in.kind, in.target, m.dtype)
	}
	if layout, known := fileLayouts[m.layout]; !known {
		return nil, status.NotImplementedf("%s: %s %.100q has a layout of the number %d, which this version of libtensor does not know", l.op,
			in.kind, in.target, m.layout)
	} else if layout != tensor.Strided {
		return nil, status.NotImplementedf("%s: %s %.100q has the layout %s; only strided tensors can be loaded: convert it with to_dense() before the export",
			l.op, in.kind, in.target, layout)
	}
	if m.device != "cpu" && m.device != "" {
		return nil, status.NotImplementedf("%s: %s %.100q is on the device %.40q; programs on the CPU are supported: move the model to it before it is exported",
			l.op, in.kind, in.target, m.device)
	}
	geometry := [2][]int64{}
	for i, list := range [2][]size{m.sizes, m.strides} {
		geometry[i] = make([]int64, len(list))
		for k, v := range list {
			if v.expr != "" {
				return nil, status.Runtimef("%s: the file is damaged: %s %.100q has a symbolic size", l.op, in.kind, in.target)
			}
			geometry[i][k] = v.n
		}
	}
	if m.offset.expr != "" || len(geometry[0]) != len(geometry[1]) {
		return nil, status.Runtimef("%s: the file is damaged: %s %.100q has %d sizes and %d strides", l.op, in.kind, in.target, len(geometry[0]),
			len(geometry[1]))
	}
	return tensor.New(l.op, s, d, geometry[0], geometry[1], m.offset.n)
}
