package cuda

import (
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/libtensor/libtensor/cuda/driver"
	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/status"
)

// faultRecords is the number of records of a device. Streams whose numbers differ by a multiple of it share one.
const faultRecords = 256

// indexFaults is a device's records of indices out of range, one for each stream, in pinned memory: kernels write to it, and the host reads
// it after it has waited for the device, without a copy.
type indexFaults struct{ records *[faultRecords]indexFault }

// indexChecks numbers the errors of index checks, which kernels report by number. The numbers remain valid, because a CUDA graph may repeat
// a launch at any time.
var indexChecks = struct {
	sync.Mutex
	numbers map[indexCheck]int64
	all     []indexCheck // number 1 first
}{numbers: map[indexCheck]int64{}}

// indexCheck is the error of an operator's index check.
type indexCheck struct {
	op    string
	error backend.OutOfRange
}

// maxIndexChecks is the number of checks that are kept with the size of the indexed dimension; later ones are those of an operator.
const maxIndexChecks = 1 << 16

// anySize is the error of the checks behind maxIndexChecks.
type anySize struct{}

func (anySize) At(i int64) error { return status.Indexf("index %d is out of bounds", i) }

// numberCheck returns the number by which kernels report the error of a check.
func numberCheck(op string, of backend.OutOfRange) int64 {
	indexChecks.Lock()
	defer indexChecks.Unlock()
	check := indexCheck{op, of}
	if n := indexChecks.numbers[check]; n != 0 {
		return n
	}
	if len(indexChecks.all) >= maxIndexChecks {
		check.error = anySize{}
		if n := indexChecks.numbers[check]; n != 0 {
			return n
		}
	}
	indexChecks.all = append(indexChecks.all, check)
	n := int64(len(indexChecks.all))
	indexChecks.numbers[check] = n
	return n
}

// describeFault returns the error of a reported index. op is the operator that has waited for the device.
func describeFault(op string, check, index int64) error {
	indexChecks.Lock()
	defer indexChecks.Unlock()
	c := indexChecks.all[check-1]
	text := c.error.At(index).Error()
	if !strings.HasPrefix(text, c.op+":") {
		text = c.op + ": " + text
	}
	return status.Indexf("%s: an index of an earlier call is out of range: %s", op, text)
}

// allocate allocates the records in the current context.
func (f *indexFaults) allocate(op string) error {
	at, err := driver.Pin(int64(unsafe.Sizeof(*f.records)))
	if err != nil {
		return makeDriverError(op, "cuMemHostAlloc", err)
	}
	f.records = (*[faultRecords]indexFault)(at)
	*f.records = [faultRecords]indexFault{}
	return nil
}

// faultRecord returns the address of the record of the stream.
func (m *deviceStream) faultRecord() uintptr {
	return uintptr(unsafe.Pointer(&m.faults.records[m.number%faultRecords]))
}

// takeFault returns the error of an index out of range that a kernel has reported since the last call, and nil if there is none. op is the
// operator that has waited for the device.
func (c *deviceContext) takeFault(op string) error {
	for i := range c.faults.records {
		r := &c.faults.records[i]
		check := atomic.LoadInt64(&r.check)
		if check == 0 {
			continue
		}
		index := r.index
		atomic.StoreInt64(&r.check, 0)
		return describeFault(op, check, index)
	}
	return nil
}

// finishWait returns the error of a call of the driver that has waited for the device, or else that of an index out of range.
func (c *deviceContext) finishWait(op, call string, err error) error {
	if err != nil {
		return makeDriverError(op, call, err)
	}
	return c.takeFault(op)
}
