package serial

import (
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// LoadRecords reads all records of a zip archive as tensors of bytes; with mmap those that are not compressed are mapped.
func LoadRecords(op string, source *file.Source, mmap bool) (names []string, records []*tensor.Tensor, err error) {
	budget := source.Budget(op)
	defer budget.Close()
	head, err := source.Bytes(op, 0, min(source.Size, 4))
	if err != nil {
		return nil, nil, err
	}
	if !archive.IsArchive(head) {
		return nil, nil, status.Runtimef("%s: the file is not a zip archive: it begins with %q", op, head)
	}
	a, err := archive.Open(op, source, budget)
	if err != nil {
		return nil, nil, err
	}
	var mapping *storage.Storage
	if mmap {
		if mapping, err = source.Map(op); err != nil {
			return nil, nil, err
		}
		defer mapping.Release()
	}
	defer func() {
		if err != nil {
			for _, t := range records {
				t.Release()
			}
			names, records = nil, nil
		}
	}()
	var targets []archive.Target
	for _, e := range a.Entries {
		if err := budget.Spend(tensorCost); err != nil {
			return names, records, err
		}
		var s *storage.Storage
		if mapping != nil && e.Stored() && e.Offset%dtype.Complex128.Size() == 0 {
			s, err = mapping.Slice(op, e.Offset, e.Offset+e.Size)
		} else if s, err = storage.New(op, e.Size, device.Host, false); err == nil {
			targets = append(targets, archive.Target{Entry: e, Parts: [][]byte{s.Bytes()}})
		}
		if err != nil {
			return names, records, err
		}
		t, err := tensor.New(op, s, dtype.Uint8, []int64{e.Size}, []int64{1}, 0)
		s.Release()
		if err != nil {
			return names, records, err
		}
		names, records = append(names, e.Name), append(records, t)
	}
	err = a.ReadInto(targets)
	return names, records, err
}
