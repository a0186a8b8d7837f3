package serial

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// loader builds tensors from an archive.
type loader struct {
	op               string
	budget           *file.Budget
	records          records
	locations        *locationMap
	mapping          *storage.Storage // nil when bytes are read
	storages         map[string]*loadedStorage
	tensors          []*tensor.Tensor
	numbers          map[any]int // tensors by the value that they were created from
	text             text
	sparse           []*tensor.Tensor // whose parts are to be checked
	pendingQuantized []pendingQuantized
	done             func() // creates the results after everything has been read
}

// records are the storages' bytes in a file.
type records interface {
	// findRecord returns the record of a key, or nil for keys that the file does not have.
	findRecord(key string) *archive.Entry
	// readRecords reads records into memory.
	readRecords(targets []archive.Target) error
}

// folder is the records of a zip archive, below the folder that all of its names begin with.
type folder struct {
	*archive.Archive
	prefix string
}

func (f folder) findRecord(key string) *archive.Entry { return f.Find(f.prefix + key) }

func (f folder) readRecords(targets []archive.Target) error { return f.ReadInto(targets) }

// loadedStorage is a storage of the file.
type loadedStorage struct {
	storage  *storage.Storage
	entry    *archive.Entry // nil when there is nothing to be read
	location string         // of the saved storage
}

// Load reads a file's tensors and the structure that they are in.
func Load(op string, source *file.Source, mapLocation string, mmap bool) (structure string, tensors []*tensor.Tensor, err error) {
	err = loadFile(op, source, mapLocation, mmap, func(l *loader, root any) (err error) {
		structure, err = l.writeStructure(root)
		tensors = l.tensors
		return err
	})
	return structure, tensors, err
}

// LoadDict reads a file that holds a dict of tensors.
func LoadDict(op string, source *file.Source, mapLocation string, mmap bool) (names []string, tensors []*tensor.Tensor, err error) {
	err = loadFile(op, source, mapLocation, mmap, func(l *loader, root any) error {
		entries, ok := entriesOf(root)
		if !ok {
			return status.Runtimef("%s: the file holds %s, not a dict of tensors", op, pickle.Describe(root))
		}
		at := map[string]int{}
		var numbers []int // of the tensors, by name
		for _, e := range entries {
			name, ok := e.Key.(string)
			if !ok || !utf8.ValidString(name) {
				return status.Runtimef("%s: the file's dict has a key that is not a UTF-8 string but %s", op, pickle.Describe(e.Key))
			}
			i, err := l.resolveTensor(e.Value)
			if err != nil {
				return err
			}
			if i < 0 {
				return status.Runtimef("%s: the file's dict has %s under %.100q, not a tensor; load it with its structure", op,
					pickle.Describe(e.Value), name)
			}
			if before, ok := at[name]; ok {
				numbers[before] = i // as in Python, the last value of a key counts
				continue
			}
			if err := l.budget.Spend(tensorCost); err != nil {
				return err
			}
			at[name] = len(names)
			names, numbers = append(names, name), append(numbers, i)
		}
		// Every result is a separate tensor, even if the file contains it twice; unused tensors are released.
		l.done = func() {
			for _, i := range numbers {
				tensors = append(tensors, l.tensors[i].Alias())
			}
			for _, t := range l.tensors {
				t.Release()
			}
			l.tensors = tensors
		}
		return nil
	})
	return names, tensors, err
}

// entriesOf returns the entries of a dict.
func entriesOf(value any) ([]pickle.Entry, bool) {
	switch v := value.(type) {
	case *pickle.Dict:
		return v.Entries, true
	case *pickle.Call:
		if v.Func == orderedDict {
			return orderedEntries(v)
		}
		if v.Func == counter && len(v.Args.Items) == 1 {
			return entriesOf(v.Args.Items[0])
		}
	}
	return nil, false
}

// orderedEntries returns the entries of an OrderedDict: those set on it, after the pairs that Python 2 passes in a list.
func orderedEntries(c *pickle.Call) ([]pickle.Entry, bool) {
	if len(c.Args.Items) == 0 {
		return c.Entries, true
	}
	list, ok := singleArgument(c.Args.Items).(*pickle.List)
	if !ok {
		return nil, false
	}
	entries := make([]pickle.Entry, 0, len(list.Items)+len(c.Entries))
	for _, item := range list.Items {
		var pair []any
		switch p := item.(type) {
		case *pickle.List:
			pair = p.Items
		case *pickle.Tuple:
			pair = p.Items
		}
		if len(pair) != 2 {
			return nil, false
		}
		entries = append(entries, pickle.Entry{Key: pair[0], Value: pair[1]})
	}
	return append(entries, c.Entries...), true
}

// loadFile opens a file, calls build to convert the pickle's value, and reads the bytes of the storages that build needed. build's
// tensors are released on an error.
func loadFile(op string, source *file.Source, mapLocation string, mmap bool, build func(*loader, any) error) error {
	locations, err := parseMapLocation(op, mapLocation)
	if err != nil {
		return err
	}
	l := &loader{op: op, budget: source.Budget(op), locations: locations, storages: map[string]*loadedStorage{}, numbers: map[any]int{}}
	defer l.budget.Close()
	root, err := l.openFile(source, mmap)
	if err != nil {
		return err
	}
	if mmap {
		if l.mapping, err = source.Map(op); err != nil {
			return err
		}
		defer l.mapping.Release()
	}
	if err = build(l, root); err == nil {
		err = l.readStorages()
	}
	for _, t := range l.sparse {
		if err == nil {
			err = tensor.CheckComponents(op, t)
		}
		t.Release()
	}
	for _, q := range l.pendingQuantized {
		if err == nil {
			err = l.finishQuantized(q)
		}
	}
	for _, s := range l.storages {
		s.storage.Release()
	}
	if err == nil && l.done != nil {
		l.done()
	}
	if err != nil {
		for _, t := range l.tensors {
			t.Release()
		}
	}
	return err
}

// openFile reads the file's directory and its pickle.
func (l *loader) openFile(source *file.Source, mmap bool) (any, error) {
	head, err := source.Bytes(l.op, 0, min(source.Size, 512))
	switch {
	case err != nil:
		return nil, err
	case archive.IsArchive(head):
		return l.openArchive(source)
	case len(head) == 0:
		return nil, status.Runtimef("%s: the file is empty: there is nothing to load", l.op)
	case isLegacy(head), isTar(head):
		if mmap {
			return nil, status.Runtimef("%s: mmap can only be used with zip files, which PyTorch writes since version 1.6; this file is older: load it without mmap, or save it again",
				l.op)
		}
		if isTar(head) {
			return l.openTar(source)
		}
		return l.openLegacy(source)
	case head[0] == 0x80:
		return nil, status.Runtimef("%s: the file is a plain pickle, which could execute code; only files of torch.save are supported", l.op)
	}
	return nil, status.Runtimef("%s: the file is not a zip archive, as files of torch.save are: it begins with %q", l.op,
		head[:min(len(head), 8)])
}

// decodePickle decodes the pickle of the file's value.
func (l *loader) decodePickle(pickled []byte, rules pickle.Rules) (any, error) {
	if rules.Name == nil {
		rules.Name = func(g pickle.Global) error { return checkName(l.op, g) }
	}
	if rules.Fills == nil {
		rules.Fills = func(g pickle.Global) bool { return g == orderedDict }
	}
	rules.Spend = l.budget.Spend
	root, shared, err := pickle.Decode(l.op, pickled, rules)
	l.text = text{shared: shared, numbers: map[any]int{}, open: map[any]bool{}}
	return root, err
}

// openArchive reads a zip archive's directory and its pickle.
func (l *loader) openArchive(source *file.Source) (any, error) {
	a, err := archive.Open(l.op, source, l.budget)
	if err != nil {
		return nil, err
	}
	var data *archive.Entry
	prefix := ""
	for _, e := range a.Entries {
		if folder, found := strings.CutSuffix(e.Name, "/data.pkl"); found && !strings.Contains(folder, "/") {
			if data != nil {
				return nil, status.Runtimef("%s: the file has two pickles, %.100q and %.100q", l.op, data.Name, e.Name)
			}
			data, prefix = e, folder+"/"
		}
	}
	if data == nil {
		return nil, status.Runtimef("%s: the zip archive has no data.pkl: it was not written by PyTorch or libtensor", l.op)
	}
	if e := a.Find(prefix + "byteorder"); e != nil {
		order, err := a.Read(e)
		if err != nil {
			return nil, err
		}
		if string(order) != "little" {
			return nil, status.NotImplementedf("%s: the file has byte order %.20q; only little-endian files can be loaded", l.op, order)
		}
	}
	if constants := a.Find(prefix + "constants.pkl"); constants != nil {
		return l.openScript(folder{a, prefix}, data, constants)
	}
	l.records = folder{a, prefix + "data/"}
	pickled, err := a.Read(data)
	if err != nil {
		return nil, err
	}
	return l.decodePickle(pickled, pickle.Rules{})
}

// readStorages reads the bytes of the storages that are not mapped.
func (l *loader) readStorages() error {
	var targets []archive.Target
	read := map[*loadedStorage]*storage.Storage{} // to be copied to a device
	for _, s := range l.storages {
		if s.entry == nil {
			continue
		}
		to := s.storage
		if to.Device().Type != device.CPU && to.Nbytes() > 0 {
			var err error
			if to, err = storage.New(l.op, to.Nbytes(), device.Host, false); err != nil {
				return err
			}
			defer to.Release()
			read[s] = to
		}
		targets = append(targets, archive.Target{Entry: s.entry, Parts: [][]byte{to.Bytes()}})
	}
	if err := l.records.readRecords(targets); err != nil {
		return err
	}
	for s, from := range read {
		if err := copyToDevice(l.op, s.storage, from); err != nil {
			return err
		}
	}
	return nil
}

// newValueError returns the error for a value that does not fit the part of the pickle named by what.
func (l *loader) newValueError(what string, value any) error {
	return status.Runtimef("%s: the pickle is damaged: %s has %s", l.op, what, pickle.Describe(value))
}

// resolveStorage returns the storage of a persistent ID, which is created on first use, and the dtype that it was saved with.
func (l *loader) resolveStorage(value any) (*loadedStorage, dtype.DType, error) {
	p, ok := value.(*pickle.Persistent)
	if !ok {
		return nil, dtype.None, l.newValueError("a tensor", value)
	}
	n, ok := parseStorageName(p.ID)
	if !ok {
		return nil, dtype.None, l.newValueError("the name of a storage", p.ID)
	}
	s, err := l.openStorage(n.key, n.location)
	if err != nil {
		return nil, dtype.None, err
	}
	if have := s.storage.Nbytes(); n.count != have/n.elementSize() {
		return nil, dtype.None, status.Runtimef("%s: the file is damaged: storage %.100q has %d bytes, but %d elements of %d bytes are expected",
			l.op, n.key, have, n.count, n.elementSize())
	}
	if n.view != nil {
		s, err = l.sliceStorage(s, n)
	}
	return s, n.dtype, err
}

// storageName is the description of a storage in a persistent ID.
type storageName struct {
	dtype         dtype.DType // None for an untyped one
	key, location string
	count         int64         // elements
	view          *pickle.Tuple // in older files: (key, offset, count) of a part of it
}

func (n storageName) elementSize() int64 {
	if n.dtype == dtype.None {
		return 1
	}
	return n.dtype.Size()
}

// parseStorageName parses a persistent ID: ("storage", class, key, location, count), in older files followed by a view or None.
func parseStorageName(value any) (n storageName, ok bool) {
	id, _ := value.(*pickle.Tuple)
	if id == nil || len(id.Items) != 5 && len(id.Items) != 6 {
		return n, false
	}
	kind, ok1 := id.Items[0].(string)
	class, ok2 := id.Items[1].(pickle.Global)
	var ok3, ok4, ok5, known bool
	n.key, ok3 = id.Items[2].(string)
	n.location, ok4 = id.Items[3].(string)
	n.count, ok5 = id.Items[4].(int64)
	n.dtype, known = classDTypes[class]
	ok = ok1 && ok2 && ok3 && ok4 && ok5 && kind == "storage" && known
	if len(id.Items) == 6 && id.Items[5] != nil {
		var isView bool
		n.view, isView = id.Items[5].(*pickle.Tuple)
		ok = ok && isView
	}
	return n, ok
}

// openStorage returns the storage of a key, which is created or mapped on first use.
func (l *loader) openStorage(key, location string) (*loadedStorage, error) {
	if s := l.storages[key]; s != nil {
		return s, nil
	}
	e := l.records.findRecord(key)
	if e == nil {
		return nil, status.Runtimef("%s: the file is damaged: it has no record for storage %.100q", l.op, key)
	}
	where, err := l.locations.resolveDevice(l.op, location)
	if err != nil {
		return nil, err
	}
	s := &loadedStorage{location: location}
	switch {
	case where.Type == device.Meta:
		s.storage, err = storage.New(l.op, e.Size, where, false)
	case l.mapping != nil && where.Type == device.CPU && e.Stored() && e.Offset%dtype.Complex128.Size() == 0:
		s.storage, err = l.mapping.Slice(l.op, e.Offset, e.Offset+e.Size)
	default:
		s.entry = e
		s.storage, err = storage.New(l.op, e.Size, where, false)
	}
	if err != nil {
		return nil, err
	}
	l.storages[key] = s
	return s, nil
}

// addTensor adds a tensor that was created from value, and returns its number.
func (l *loader) addTensor(value any, t *tensor.Tensor) (int, error) {
	if err := l.budget.Spend(tensorCost); err != nil {
		t.Release()
		return -1, err
	}
	l.tensors = append(l.tensors, t)
	l.numbers[value] = len(l.tensors) - 1
	return len(l.tensors) - 1, nil
}

// resolveTensor returns the number of the tensor of a value, which is created on first use, or -1 for values that are not tensors.
func (l *loader) resolveTensor(value any) (int, error) {
	c, ok := value.(*pickle.Call)
	if !ok {
		return -1, nil
	}
	if i, ok := l.numbers[value]; ok {
		return i, nil
	}
	if inner, _, err := l.unwrapTensor(c); inner != nil || err != nil {
		if err != nil {
			return -1, err
		}
		i, err := l.resolveTensor(inner)
		if err == nil {
			l.numbers[value] = i
		}
		return i, err
	}
	var t *tensor.Tensor
	var err error
	switch c.Func {
	case rebuildQuantized:
		return l.addQuantized(c)
	case rebuildTensor, rebuildTensorV2, rebuildTensorV3:
		t, err = l.buildTensor(c)
	case rebuildMeta:
		t, err = l.buildMeta(c)
	case rebuildSparse:
		t, err = l.buildSparse(c)
	default:
		return -1, nil
	}
	if err != nil {
		return -1, err
	}
	return l.addTensor(value, t)
}

// addQuantized adds the integers of a quantized tensor.
func (l *loader) addQuantized(c *pickle.Call) (int, error) {
	t, q, err := l.buildQuantized(c)
	if err != nil {
		return -1, err
	}
	if q.number, err = l.addTensor(c, t); err == nil {
		l.pendingQuantized = append(l.pendingQuantized, q)
	}
	return q.number, err
}

// unwrapTensor returns the call that creates the tensor inside of c, and the attributes that c adds; no call if c is of another kind.
func (l *loader) unwrapTensor(c *pickle.Call) (*pickle.Call, any, error) {
	args := c.Args.Items
	var inner *pickle.Call
	var state any
	switch {
	case c.Func == rebuildParameter && len(args) > 0, c.Func == rebuildStateful && len(args) == 4:
		inner, _ = args[0].(*pickle.Call)
		if c.Func == rebuildStateful {
			state = args[3]
		}
	case c.Func == rebuildFromType && len(args) == 4 && args[1] == tensorClass:
		function, ok1 := args[0].(pickle.Global)
		given, ok2 := args[2].(*pickle.Tuple)
		if ok1 && ok2 {
			inner = &pickle.Call{Func: function, Args: given}
		}
		state = args[3]
	case c.Func != rebuildParameter && c.Func != rebuildStateful && c.Func != rebuildFromType:
		return nil, nil, nil
	}
	if inner == nil || !slices.Contains(tensorMakers, inner.Func) {
		return nil, nil, l.newValueError("a tensor", c.Args)
	}
	if !isState(state) {
		return nil, nil, l.newValueError("a tensor's attributes", state)
	}
	return inner, state, nil
}

func (l *loader) parseSizes(value any) ([]int64, error) {
	if c, ok := value.(*pickle.Call); ok && c.Func == torchSize && len(c.Args.Items) == 1 {
		value = c.Args.Items[0]
	}
	t, ok := value.(*pickle.Tuple)
	if !ok {
		return nil, l.newValueError("a tensor's size", value)
	}
	out := make([]int64, len(t.Items))
	for i, item := range t.Items {
		if out[i], ok = item.(int64); !ok {
			return nil, l.newValueError("a tensor's size", item)
		}
	}
	return out, nil
}

// buildTensor creates the tensor of (storage, offset, size, stride, requires_grad, hooks, [dtype], [metadata]).
func (l *loader) buildTensor(c *pickle.Call) (*tensor.Tensor, error) {
	args := c.Args.Items
	if len(args) < 4 || c.Func == rebuildTensorV3 && len(args) < 7 {
		return nil, l.newValueError("a tensor", c.Args)
	}
	_, d, err := l.resolveStorage(args[0])
	if err != nil {
		return nil, err
	}
	rest := args[min(len(args), 6):]
	if c.Func == rebuildTensorV3 {
		var ok bool
		if d, ok = dtypeOf(args[6]); !ok {
			return nil, l.newValueError("a tensor's dtype", args[6])
		}
		rest = args[7:]
	}
	if d == dtype.None {
		d = dtype.Uint8
	}
	if d.IsQuantized() { // without a quantizer
		return nil, l.newValueError("a tensor", c.Args)
	}
	lazy, err := l.findLazyKeys(rest, d)
	if err != nil {
		return nil, err
	}
	t, err := l.buildStrided(d, args)
	if err == nil {
		t.SetNames(findNames(rest))
		t.SetLazy(lazy)
	}
	return setRequiresGrad(t, err, args, 4)
}

// buildStrided creates the tensor of (storage, offset, size, stride, ...).
func (l *loader) buildStrided(d dtype.DType, args []any) (*tensor.Tensor, error) {
	s, _, err := l.resolveStorage(args[0])
	if err != nil {
		return nil, err
	}
	offset, ok := args[1].(int64)
	if !ok {
		return nil, l.newValueError("a tensor's storage offset", args[1])
	}
	size, err := l.parseSizes(args[2])
	if err != nil {
		return nil, err
	}
	stride, err := l.parseSizes(args[3])
	if err != nil {
		return nil, err
	}
	return tensor.New(l.op, s.storage, d, size, stride, offset)
}

// findNames returns the names of dimensions in a tensor's metadata, or nil.
func findNames(rest []any) []string {
	for _, value := range rest {
		dict, _ := value.(*pickle.Dict)
		for i := 0; dict != nil && i < len(dict.Entries); i++ {
			key, _ := dict.Entries[i].Key.(string)
			if list, is := strings.CutPrefix(key, namesKey); is {
				if names := strings.Split(list, ","); tensor.CheckNames("load", names) == nil {
					return names
				}
			}
		}
	}
	return nil
}

// setRequiresGrad sets requires_grad of a tensor if argument i is true.
func setRequiresGrad(t *tensor.Tensor, err error, args []any, i int) (*tensor.Tensor, error) {
	if err == nil && i < len(args) && args[i] == true && (t.DType().IsFloatingPoint() || t.DType().IsComplex()) && tensor.WantGradient != nil {
		tensor.WantGradient(t)
	}
	return t, err
}

// findLazyKeys returns the lazy conjugation and negation in the metadata of a tensor of dtype d.
func (l *loader) findLazyKeys(rest []any, d dtype.DType) (lazy tensor.DispatchKeys, err error) {
	for _, value := range rest {
		dict, _ := value.(*pickle.Dict)
		for i := 0; dict != nil && i < len(dict.Entries); i++ {
			if key, _ := dict.Entries[i].Key.(string); dict.Entries[i].Value == true {
				lazy |= lazyKeys[key]
			}
		}
	}
	if lazy&tensor.Conjugate != 0 && !d.IsComplex() || lazy&tensor.Negative != 0 && d == dtype.Bool {
		return 0, l.newValueError("how a tensor's elements are read", d.String())
	}
	return lazy, nil
}

// buildMeta creates the tensor of (dtype, size, stride, requires_grad, [metadata]).
func (l *loader) buildMeta(c *pickle.Call) (*tensor.Tensor, error) {
	args := c.Args.Items
	if len(args) < 3 {
		return nil, l.newValueError("a tensor", c.Args)
	}
	d, ok := dtypeOf(args[0])
	if !ok {
		return nil, l.newValueError("a tensor's dtype", args[0])
	}
	size, err := l.parseSizes(args[1])
	if err != nil {
		return nil, err
	}
	stride, err := l.parseSizes(args[2])
	if err != nil {
		return nil, err
	}
	rest := args[min(len(args), 4):]
	lazy, err := l.findLazyKeys(rest, d)
	if err != nil {
		return nil, err
	}
	t, err := tensor.EmptyStrided(l.op, size, stride, d, device.Device{Type: device.Meta, Index: -1})
	if err == nil {
		t.SetNames(findNames(rest))
		t.SetLazy(lazy)
	}
	return setRequiresGrad(t, err, args, 3)
}

// buildSparse creates the sparse tensor of (layout, (indices, values, size, [is_coalesced])), or (layout, (compressed, plain, values,
// size)). The parts are validated once their bytes have been read.
func (l *loader) buildSparse(c *pickle.Call) (*tensor.Tensor, error) {
	args := c.Args.Items
	if len(args) != 2 {
		return nil, l.newValueError("a sparse tensor", c.Args)
	}
	named, _ := args[0].(*pickle.Call)
	given, _ := args[1].(*pickle.Tuple)
	if named == nil || named.Func != getLayout || given == nil {
		return nil, l.newValueError("a sparse tensor", c.Args)
	}
	name, _ := singleArgument(named.Args.Items).(string)
	kind := tensor.Layout(slices.Index(layouts, strings.TrimPrefix(name, "torch.")))
	count := 2
	if kind > tensor.COO {
		count = 3
	}
	if kind < tensor.COO || len(given.Items) < count+1 {
		return nil, l.newValueError("a sparse tensor", given)
	}
	var parts []*tensor.Tensor
	for _, value := range given.Items[:count] {
		i, err := l.resolveTensor(value)
		if err != nil {
			return nil, err
		}
		if i < 0 || l.tensors[i].Components() != nil {
			return nil, l.newValueError("a sparse tensor's part", value)
		}
		parts = append(parts, l.tensors[i])
	}
	size, err := l.parseSizes(given.Items[count])
	if err != nil {
		return nil, err
	}
	p := tensor.SparseComponents{Indices: parts[:count-1], Values: parts[count-1]}
	if kind == tensor.COO && len(given.Items) > 3 {
		p.Coalesced, _ = given.Items[3].(bool)
	}
	t, err := tensor.Assemble(l.op, kind, size, p)
	if err != nil {
		return nil, err
	}
	l.sparse = append(l.sparse, t.Alias())
	return t, nil
}

// addStorageTensor returns the number of the tensor over all of a storage, and whether the storage is typed.
func (l *loader) addStorageTensor(p *pickle.Persistent) (i int, typed bool, err error) {
	s, d, err := l.resolveStorage(p)
	if err != nil {
		return 0, false, err
	}
	typed = d != dtype.None
	if d = d.Stored(); !typed {
		d = dtype.Uint8
	}
	if i, ok := l.numbers[p]; ok {
		return i, typed, nil
	}
	t, err := tensor.New(l.op, s.storage, d, []int64{d.Elements(s.storage.Nbytes())}, []int64{1}, 0)
	if err != nil {
		return 0, false, err
	}
	i, err = l.addTensor(p, t)
	return i, typed, err
}
