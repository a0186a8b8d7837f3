package ops

import (
	"io"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial"
	"github.com/libtensor/libtensor/engine/serial/archive"
	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/npy"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/serial/safetensors"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// fileBytes returns a file as a uint8 tensor.
func fileBytes(op string, size int64, write func(io.WriterAt) error) (_ *tensor.Tensor, err error) {
	s := newScope(op)
	defer s.Close(&err)
	t := s.Track(tensor.Empty(op, []int64{size}, dtype.Uint8, device.Host))
	s.Check(write(file.Buffer(t.Storage().Bytes())))
	return s.Return(t)
}

// fileSource returns the file with the bytes of a tensor.
func fileSource(op string, data *tensor.Tensor) (*file.Source, error) {
	if data.DType() != dtype.Uint8 || data.Dim() != 1 || !data.IsContiguous() || data.Device().Type != device.CPU {
		return nil, status.Valuef("%s: data must be a contiguous 1-D uint8 tensor on the CPU, not %v of shape %v on %v", op, data.DType(),
			data.Sizes(), data.Device())
	}
	if data.Numel() == 0 { // its address is arbitrary
		return file.Memory(nil), nil
	}
	return file.Memory(data.Storage().Bytes()[data.Offset() : data.Offset()+data.Numel()]), nil
}

// Save writes a structure of tensors in PyTorch's format.
func Save(path, structure string, tensors []*tensor.Tensor, compact bool) error {
	image, err := serial.Save("save", structure, tensors, compact)
	if err != nil {
		return err
	}
	return file.Create("save", path, image.Size(), true, image.Write)
}

// SaveBytes is Save to memory.
func SaveBytes(structure string, tensors []*tensor.Tensor, compact bool) (*tensor.Tensor, error) {
	image, err := serial.Save("save_bytes", structure, tensors, compact)
	if err != nil {
		return nil, err
	}
	return fileBytes("save_bytes", image.Size(), image.Write)
}

// SaveDict writes a dict of tensors in PyTorch's format.
func SaveDict(path string, names []string, tensors []*tensor.Tensor, compact bool) error {
	image, err := serial.SaveDict("save_dict", names, tensors, compact)
	if err != nil {
		return err
	}
	return file.Create("save_dict", path, image.Size(), true, image.Write)
}

// Load reads a structure of tensors in PyTorch's format.
func Load(path, mapLocation string, mmap bool) (string, []*tensor.Tensor, error) {
	source, err := file.Open("load", path)
	if err != nil {
		return "", nil, err
	}
	defer source.Close()
	return serial.Load("load", source, mapLocation, mmap)
}

// LoadBytes is Load from memory.
func LoadBytes(data *tensor.Tensor, mapLocation string) (string, []*tensor.Tensor, error) {
	source, err := fileSource("load_bytes", data)
	if err != nil {
		return "", nil, err
	}
	return serial.Load("load_bytes", source, mapLocation, false)
}

// LoadDict reads a dict of tensors in PyTorch's format.
func LoadDict(path, mapLocation string, mmap bool) ([]string, []*tensor.Tensor, error) {
	source, err := file.Open("load_dict", path)
	if err != nil {
		return nil, nil, err
	}
	defer source.Close()
	return serial.LoadDict("load_dict", source, mapLocation, mmap)
}

// archivePlan lays out an archive of the records that tensors hold.
func archivePlan(op string, names []string, records []*tensor.Tensor) (*archive.Plan, error) {
	if len(names) != len(records) {
		return nil, status.Valuef("%s: %d names were given for %d records", op, len(names), len(records))
	}
	all := make([]archive.Record, len(names))
	for i, t := range records {
		data, err := serial.RecordOf(op, t)
		if err != nil {
			return nil, err
		}
		all[i] = archive.Record{Name: names[i], Data: data}
	}
	return archive.New(op, all)
}

// ArchiveSave writes an archive of records.
func ArchiveSave(path string, names []string, records []*tensor.Tensor) error {
	plan, err := archivePlan("archive_save", names, records)
	if err != nil {
		return err
	}
	return file.Create("archive_save", path, plan.Size, true, plan.Write)
}

// ArchiveSaveBytes is ArchiveSave to memory.
func ArchiveSaveBytes(names []string, records []*tensor.Tensor) (*tensor.Tensor, error) {
	plan, err := archivePlan("archive_save_bytes", names, records)
	if err != nil {
		return nil, err
	}
	return fileBytes("archive_save_bytes", plan.Size, plan.Write)
}

// ArchiveLoad reads the records of an archive.
func ArchiveLoad(path string, mmap bool) ([]string, []*tensor.Tensor, error) {
	source, err := file.Open("archive_load", path)
	if err != nil {
		return nil, nil, err
	}
	defer source.Close()
	return serial.LoadRecords("archive_load", source, mmap)
}

// ArchiveLoadBytes is ArchiveLoad from memory.
func ArchiveLoadBytes(data *tensor.Tensor) ([]string, []*tensor.Tensor, error) {
	source, err := fileSource("archive_load_bytes", data)
	if err != nil {
		return nil, nil, err
	}
	return serial.LoadRecords("archive_load_bytes", source, false)
}

// PickleRename writes a pickle with other names of modules.
func PickleRename(data *tensor.Tensor, from, to string) (*tensor.Tensor, error) {
	const op = "pickle_rename"
	source, err := fileSource(op, data)
	if err != nil {
		return nil, err
	}
	pickled, err := source.Bytes(op, 0, source.Size)
	if err != nil {
		return nil, err
	}
	renamed, err := pickle.Rename(op, pickled, from, to)
	if err != nil {
		return nil, err
	}
	return fileBytes(op, int64(len(renamed)), func(w io.WriterAt) error {
		_, err := w.WriteAt(renamed, 0)
		return err
	})
}

// SafetensorsSaveFile writes named tensors as a safetensors file.
func SafetensorsSaveFile(path string, names []string, tensors []*tensor.Tensor, metadata string) error {
	image, err := safetensors.New("safetensors_save_file", names, tensors, metadata)
	if err != nil {
		return err
	}
	defer image.Release()
	return file.Create("safetensors_save_file", path, image.Size, false, image.Write)
}

// SafetensorsSave is SafetensorsSaveFile to memory.
func SafetensorsSave(names []string, tensors []*tensor.Tensor, metadata string) (*tensor.Tensor, error) {
	image, err := safetensors.New("safetensors_save", names, tensors, metadata)
	if err != nil {
		return nil, err
	}
	defer image.Release()
	return fileBytes("safetensors_save", image.Size, image.Write)
}

// SafetensorsLoadFile reads or maps the tensors of a safetensors file.
func SafetensorsLoadFile(path string, names []string, mmap bool) ([]string, []*tensor.Tensor, string, error) {
	source, err := file.Open("safetensors_load_file", path)
	if err != nil {
		return nil, nil, "", err
	}
	defer source.Close()
	return safetensorsLoad("safetensors_load_file", source, names, mmap)
}

// SafetensorsLoad is SafetensorsLoadFile from memory.
func SafetensorsLoad(data *tensor.Tensor) ([]string, []*tensor.Tensor, string, error) {
	source, err := fileSource("safetensors_load", data)
	if err != nil {
		return nil, nil, "", err
	}
	return safetensorsLoad("safetensors_load", source, nil, false)
}

func safetensorsLoad(op string, source *file.Source, names []string, mmap bool) ([]string, []*tensor.Tensor, string, error) {
	budget := source.Budget(op)
	defer budget.Close()
	f, err := safetensors.Open(op, source, budget)
	if err != nil {
		return nil, nil, "", err
	}
	if names == nil {
		if err := f.CheckDTypes(); err != nil {
			return nil, nil, "", err
		}
	}
	found, tensors, err := f.Select(names, mmap)
	return found, tensors, f.Meta, err
}

// SafetensorsOpen maps a safetensors file.
func SafetensorsOpen(path string) (string, []string, []*tensor.Tensor, error) {
	source, err := file.Open("safetensors_open", path)
	if err != nil {
		return "", nil, nil, err
	}
	defer source.Close()
	budget := source.Budget("safetensors_open")
	defer budget.Close()
	f, err := safetensors.Open("safetensors_open", source, budget)
	if err != nil {
		return "", nil, nil, err
	}
	names, tensors, err := f.Select(nil, true)
	return f.Header, names, tensors, err
}

// NpySave writes a tensor as a .npy file.
func NpySave(path string, self *tensor.Tensor) error {
	image, err := npy.New("npy_save", self)
	if err != nil {
		return err
	}
	defer image.Release()
	return file.Create("npy_save", path, image.Size, false, image.Write)
}

// NpySaveBytes is NpySave to memory.
func NpySaveBytes(self *tensor.Tensor) (*tensor.Tensor, error) {
	image, err := npy.New("npy_save_bytes", self)
	if err != nil {
		return nil, err
	}
	defer image.Release()
	return fileBytes("npy_save_bytes", image.Size, image.Write)
}

// NpyLoad reads or maps the tensor of a .npy file.
func NpyLoad(path string, mmap bool) (*tensor.Tensor, error) {
	source, err := file.Open("npy_load", path)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	return npy.Load("npy_load", source, mmap)
}

// NpyLoadBytes is NpyLoad from memory.
func NpyLoadBytes(data *tensor.Tensor) (*tensor.Tensor, error) {
	source, err := fileSource("npy_load_bytes", data)
	if err != nil {
		return nil, err
	}
	return npy.Load("npy_load_bytes", source, false)
}

// NpyLength returns how many bytes a .npy file has, by its first ones.
func NpyLength(head *tensor.Tensor) (int64, error) {
	source, err := fileSource("npy_length", head)
	if err != nil {
		return 0, err
	}
	return npy.Length("npy_length", source)
}

// NpzSave writes named tensors as an .npz file.
func NpzSave(path string, names []string, tensors []*tensor.Tensor) error {
	plan, release, err := npy.Archive("npz_save", names, tensors)
	if err != nil {
		return err
	}
	defer release()
	return file.Create("npz_save", path, plan.Size, false, plan.Write)
}

// NpzSaveBytes is NpzSave to memory.
func NpzSaveBytes(names []string, tensors []*tensor.Tensor) (*tensor.Tensor, error) {
	plan, release, err := npy.Archive("npz_save_bytes", names, tensors)
	if err != nil {
		return nil, err
	}
	defer release()
	return fileBytes("npz_save_bytes", plan.Size, plan.Write)
}

// NpzLoad reads the tensors of an .npz file.
func NpzLoad(path string) ([]string, []*tensor.Tensor, error) {
	source, err := file.Open("npz_load", path)
	if err != nil {
		return nil, nil, err
	}
	defer source.Close()
	return npy.LoadArchive("npz_load", source)
}

// NpzLoadBytes is NpzLoad from memory.
func NpzLoadBytes(data *tensor.Tensor) ([]string, []*tensor.Tensor, error) {
	source, err := fileSource("npz_load_bytes", data)
	if err != nil {
		return nil, nil, err
	}
	return npy.LoadArchive("npz_load_bytes", source)
}

// FileWrite writes bytes to a file as the savers do.
func FileWrite(path string, data *tensor.Tensor) error {
	source, err := fileSource("file_write", data)
	if err != nil {
		return err
	}
	return file.Create("file_write", path, source.Size, true, source.Copy)
}
