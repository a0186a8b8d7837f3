package ops

import (
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/random"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// GeneratorNew creates a generator with PyTorch's initial seed.
func GeneratorNew(dev device.Device, engine string) (*random.Generator, error) {
	kind, err := random.ParseKind("generator_new", engine)
	if err != nil {
		return nil, err
	}
	if dev, err = device.Resolve("generator_new", dev); err != nil {
		return nil, err
	}
	if dev.Type == device.Meta {
		return nil, newMetaError("generator_new")
	}
	g := random.New(kind, random.DefaultSeed)
	g.Device = dev
	return g, nil
}

// newMetaError returns the error for generators on the meta device.
func newMetaError(op string) error {
	return status.Runtimef("%s: generators on the meta device are not supported; use device='cpu'", op)
}

// GeneratorManualSeed restarts a generator, and with the CPU's default generator those of all devices.
func GeneratorManualSeed(self *random.Generator, seed int64) error {
	self.ManualSeed(uint64(seed))
	if self == random.Default {
		random.SeedDevices(uint64(seed))
	}
	return nil
}

// GeneratorSeed restarts a generator from a seed of the operating system's, and with the CPU's default generator those of all devices.
func GeneratorSeed(self *random.Generator) (int64, error) {
	seed := self.Seed()
	if self == random.Default {
		random.SeedDevices(seed)
	}
	return int64(seed), nil
}

// GeneratorInitialSeed returns the seed that a generator started from.
func GeneratorInitialSeed(self *random.Generator) (int64, error) {
	return int64(self.InitialSeed()), nil
}

// GeneratorEngine names a generator's algorithm.
func GeneratorEngine(self *random.Generator) (string, error) { return self.Kind().String(), nil }

// GeneratorDevice returns the device that a generator was made for.
func GeneratorDevice(self *random.Generator) (device.Device, error) { return self.Device, nil }

// GeneratorClone returns another generator in the same state.
func GeneratorClone(self *random.Generator) (*random.Generator, error) { return self.Clone() }

// GeneratorGetOffset returns the number of words that a philox generator has given out.
func GeneratorGetOffset(self *random.Generator) (int64, error) { return self.Offset() }

// GeneratorSetOffset continues from an offset.
func GeneratorSetOffset(self *random.Generator, offset int64) error { return self.SetOffset(offset) }

// GeneratorGetState returns a generator's state as bytes.
func GeneratorGetState(self *random.Generator) (_ *tensor.Tensor, err error) {
	state := self.State()
	s := newScope("generator_get_state")
	defer s.Close(&err)
	bytes := s.Track(tensor.Empty(s.Op, []int64{int64(len(state))}, dtype.Uint8, device.Host))
	s.Check(backend.On(bytes).Write(s.Op, backend.Writing{To: bytes, Set: func(to []byte) { copy(to, state) }}))
	return s.Return(bytes)
}

// GeneratorSetState continues from a state.
func GeneratorSetState(self *random.Generator, state *tensor.Tensor) (err error) {
	if state.DType() != dtype.Uint8 {
		return status.Typef("generator_set_state: expected a uint8 tensor, but got %v", state.DType())
	}
	s := newScope("generator_set_state")
	defer s.Close(&err)
	bytes := s.castRowMajor(state, dtype.Uint8)
	read, err := backend.On(bytes).Read(s.Op, bytes)
	if err != nil {
		return err
	}
	return self.SetState(read)
}
