package serial

import (
	"slices"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/pickle"
)

// A TorchScript archive contains a program and its module: data.pkl is a tree of objects of the program's classes, with the storages in
// data/, and constants.pkl a tuple of tensors, with theirs in constants/. The program is not read; the tensors become a dict.

// scriptClasses is the prefix of the modules of the program's classes, and scriptTypes that of functions that annotate a container with its
// type.
const (
	scriptClasses = "__torch__"
	scriptTypes   = "torch.jit._pickle"
)

// isScriptClass returns whether a name is that of a class of the program.
func isScriptClass(g pickle.Global) bool {
	return g.Module == scriptClasses || strings.HasPrefix(g.Module, scriptClasses+".")
}

// openScript reads the tensors of a TorchScript archive: an OrderedDict of them, by the names that a module's state_dict has, those of
// constants as "constants.0".
func (l *loader) openScript(f folder, data, constants *archive.Entry) (any, error) {
	l.records = f
	dict := newCall(orderedDict)
	for _, part := range []struct {
		entry        *archive.Entry
		folder, name string
	}{{data, "data/", ""}, {constants, "constants/", "constants"}} {
		pickled, err := f.Read(part.entry)
		if err != nil {
			return nil, err
		}
		root, err := l.decodePickle(pickled, pickle.Rules{
			Name: func(g pickle.Global) error {
				if isScriptClass(g) || g.Module == scriptTypes {
					return nil
				}
				return checkName(l.op, g)
			},
			Fills: func(g pickle.Global) bool { return g == orderedDict || isScriptClass(g) },
			Persistent: func(id any) (any, error) {
				t, ok := id.(*pickle.Tuple)
				if !ok || len(t.Items) != 5 {
					return nil, l.newValueError("the name of a storage", id)
				}
				key, ok := t.Items[2].(string)
				if !ok {
					return nil, l.newValueError("the name of a storage", id)
				}
				items := slices.Clone(t.Items)
				items[2] = part.folder + key
				return &pickle.Persistent{ID: &pickle.Tuple{Items: items}}, nil
			},
		})
		if err != nil {
			return nil, err
		}
		if err := l.collectTensors(dict, root, part.name, 0); err != nil {
			return nil, err
		}
	}
	l.text = text{shared: map[any]bool{}, numbers: map[any]int{}, open: map[any]bool{}}
	return dict, nil
}

// collectTensors adds the tensors of a value to a dict, keyed by their paths.
func (l *loader) collectTensors(dict *pickle.Call, value any, name string, depth int) error {
	if depth > maxDepth {
		return l.newDepthError()
	}
	if err := l.budget.Spend(valueCost + int64(len(name))); err != nil {
		return err
	}
	within := func(key string) string {
		if name == "" {
			return key
		}
		return name + "." + key
	}
	var items []any
	var entries []pickle.Entry
	switch v := value.(type) {
	case *pickle.List:
		items = v.Items
	case *pickle.Tuple:
		items = v.Items
	case *pickle.Dict:
		entries = v.Entries
	case *pickle.Call:
		switch {
		case isScriptClass(v.Func):
			return l.collectTensors(dict, v.State, name, depth+1)
		case v.Func.Module == scriptTypes && len(v.Args.Items) > 0:
			return l.collectTensors(dict, v.Args.Items[0], name, depth+1)
		case slices.Contains(tensorMakers, v.Func):
			if (v.Func == rebuildTensorV2 || v.Func == rebuildTensorV3) && len(v.Args.Items) > 4 {
				v.Args.Items[4] = false // as in a state_dict, nothing requires grad
			}
			dict.Entries = append(dict.Entries, pickle.Entry{Key: name, Value: v})
		}
	}
	for i, item := range items {
		if err := l.collectTensors(dict, item, within(strconv.Itoa(i)), depth+1); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if key, ok := e.Key.(string); ok {
			if err := l.collectTensors(dict, e.Value, within(key), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
