package pickle

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
)

// encoder writes protocol 2, which every PyTorch version reads. It refers back to objects written before.
type encoder struct {
	out  []byte
	memo map[any]uint32
}

// Encode writes a tree of values that does not contain itself.
func Encode(value any) []byte {
	e := &encoder{memo: map[any]uint32{}}
	e.out = append(e.out, opProto, 2)
	e.encodeValue(value)
	return append(e.out, opStop)
}

func (e *encoder) appendUint32(n int) { e.out = binary.LittleEndian.AppendUint32(e.out, uint32(n)) }

// writeMemoized writes a reference to a value that was written before, and reports whether there is one.
func (e *encoder) writeMemoized(key any) bool {
	i, ok := e.memo[key]
	if !ok {
		return false
	}
	if i < 256 {
		e.out = append(e.out, opBinGet, byte(i))
	} else {
		e.out = append(e.out, opLongBinGet)
		e.appendUint32(int(i))
	}
	return true
}

// putMemo stores the value that was just written in the memo.
func (e *encoder) putMemo(key any) {
	i := uint32(len(e.memo))
	e.memo[key] = i
	if i < 256 {
		e.out = append(e.out, opBinPut, byte(i))
	} else {
		e.out = append(e.out, opLongBinPut)
		e.appendUint32(int(i))
	}
}

func (e *encoder) encodeValue(value any) {
	switch v := value.(type) {
	case nil:
		e.out = append(e.out, opNone)
	case bool:
		if v {
			e.out = append(e.out, opNewTrue)
		} else {
			e.out = append(e.out, opNewFalse)
		}
	case int64:
		e.encodeInt(v)
	case *big.Int:
		e.encodeLong(v)
	case float64:
		e.out = binary.BigEndian.AppendUint64(append(e.out, opBinFloat), math.Float64bits(v))
	default:
		e.encodeObject(value)
	}
}

// encodeObject writes a value, or a reference to it if it was written before.
func (e *encoder) encodeObject(value any) {
	if e.writeMemoized(value) {
		return
	}
	switch v := value.(type) {
	case string:
		e.out = append(e.out, opBinUnicode)
		e.appendUint32(len(v))
		e.out = append(e.out, v...)
	case Global:
		e.out = append(e.out, opGlobal)
		e.out = append(e.out, v.Module+"\n"+v.Name+"\n"...)
	case *Tuple:
		if len(v.Items) == 0 {
			e.out = append(e.out, opEmptyTuple)
			return
		}
		e.encodeTuple(v)
	case *List:
		e.out = append(e.out, opEmptyList)
		e.putMemo(value)
		if len(v.Items) > 0 {
			e.encodeMarked(opAppends, v.Items...)
		}
		return
	case *Dict:
		e.out = append(e.out, opEmptyDict)
		e.putMemo(value)
		e.encodeEntries(v.Entries)
		return
	case *Persistent:
		e.encodeValue(v.ID)
		e.out = append(e.out, opBinPersID)
	case *Call:
		e.encodeValue(v.Func)
		e.encodeValue(v.Args)
		e.out = append(e.out, opReduce)
		e.putMemo(value)
		e.encodeEntries(v.Entries)
		if v.State != nil {
			e.encodeValue(v.State)
			e.out = append(e.out, opBuild)
		}
		return
	}
	e.putMemo(value)
}

func (e *encoder) encodeMarked(code byte, items ...any) {
	e.out = append(e.out, opMark)
	for _, item := range items {
		e.encodeValue(item)
	}
	e.out = append(e.out, code)
}

func (e *encoder) encodeTuple(t *Tuple) {
	n := len(t.Items)
	if n > 3 {
		e.encodeMarked(opTuple, t.Items...)
		return
	}
	for _, item := range t.Items {
		e.encodeValue(item)
	}
	e.out = append(e.out, opTuple1+byte(n-1))
}

func (e *encoder) encodeEntries(entries []Entry) {
	if len(entries) == 0 {
		return
	}
	e.out = append(e.out, opMark)
	for _, entry := range entries {
		e.encodeValue(entry.Key)
		e.encodeValue(entry.Value)
	}
	e.out = append(e.out, opSetItems)
}

func (e *encoder) encodeInt(v int64) {
	switch {
	case v >= 0 && v < 1<<8:
		e.out = append(e.out, opBinInt1, byte(v))
	case v >= 0 && v < 1<<16:
		e.out = binary.LittleEndian.AppendUint16(append(e.out, opBinInt2), uint16(v))
	case v >= math.MinInt32 && v <= math.MaxInt32:
		e.out = append(e.out, opBinInt)
		e.appendUint32(int(v))
	default:
		e.encodeLong(big.NewInt(v))
	}
}

// encodeLong writes an integer in little-endian two's complement with the fewest bytes.
func (e *encoder) encodeLong(v *big.Int) {
	n := v.BitLen()/8 + 1
	whole := new(big.Int).Set(v)
	if v.Sign() < 0 {
		whole.Add(whole, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	b := whole.FillBytes(make([]byte, n))
	slices.Reverse(b)
	if n < 256 {
		e.out = append(e.out, opLong1, byte(n))
	} else {
		e.out = append(e.out, opLong4)
		e.appendUint32(n)
	}
	e.out = append(e.out, b...)
}
