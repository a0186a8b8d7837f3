// Package pickle reads and writes the subset of Python's pickle format that tensor files use. Decoding returns a tree of plain
// values: nothing is imported or called. The caller interprets the names in the tree, and decoding stops with an error at a
// name that the caller does not accept (opcodes: Python's pickletools).
package pickle

import "fmt"

// A value is nil, a bool, an int64, a *big.Int beyond that, a float64, a string, a []byte, or one of the types below.
// Pointers are equal where Python's objects are the same.
type (
	// Global is an imported name.
	Global struct{ Module, Name string }
	// List of values.
	List struct{ Items []any }
	// Tuple of values.
	Tuple struct{ Items []any }
	// Set of values.
	Set struct{ Items []any }
	// Dict in the order of insertion.
	Dict struct{ Entries []Entry }
	// Entry is a key and its value.
	Entry struct{ Key, Value any }
	// Call is an object that a function call would create; nothing is called. Entries and State are then added to it.
	Call struct {
		Func    Global
		Args    *Tuple
		Entries []Entry
		State   any
	}
	// Persistent is an object that is kept outside the pickle.
	Persistent struct{ ID any }
)

func (g Global) String() string { return fmt.Sprintf("%.100s.%.100s", g.Module, g.Name) }

// Describe returns a description of a value for messages.
func Describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case *List:
		return fmt.Sprintf("a list of %d items", len(v.Items))
	case *Tuple:
		return fmt.Sprintf("a tuple of %d items", len(v.Items))
	case *Set:
		return fmt.Sprintf("a set of %d items", len(v.Items))
	case *Dict:
		return fmt.Sprintf("a dict of %d items", len(v.Entries))
	case *Call:
		return "a result of " + v.Func.String()
	case *Persistent:
		return "a storage"
	case []byte:
		return "bytes"
	case string:
		return fmt.Sprintf("the string %.40q", v)
	case Global:
		return "the name " + v.String()
	}
	return fmt.Sprintf("%.40s", fmt.Sprint(value))
}

// mark is the opcode's trace on the stack.
type mark struct{}

// The opcodes.
const (
	opMark           = '('
	opEmptyTuple     = ')'
	opStop           = '.'
	opBinFloat       = 'G'
	opBinInt         = 'J'
	opBinInt1        = 'K'
	opBinInt2        = 'M'
	opNone           = 'N'
	opBinPersID      = 'Q'
	opReduce         = 'R'
	opBinUnicode     = 'X'
	opEmptyList      = ']'
	opAppend         = 'a'
	opBuild          = 'b'
	opGlobal         = 'c'
	opInst           = 'i'
	opAppends        = 'e'
	opBinGet         = 'h'
	opLongBinGet     = 'j'
	opBinPut         = 'q'
	opLongBinPut     = 'r'
	opSetItem        = 's'
	opTuple          = 't'
	opSetItems       = 'u'
	opEmptyDict      = '}'
	opProto          = 0x80
	opNewObj         = 0x81
	opTuple1         = 0x85
	opTuple2         = 0x86
	opTuple3         = 0x87
	opNewTrue        = 0x88
	opNewFalse       = 0x89
	opLong1          = 0x8a
	opLong4          = 0x8b
	opBinBytes       = 'B'
	opShortBinBytes  = 'C'
	opShortBinString = 'U'
	opBinString      = 'T'
	opShortUnicode   = 0x8c
	opBinUnicode8    = 0x8d
	opBinBytes8      = 0x8e
	opEmptySet       = 0x8f
	opAddItems       = 0x90
	opStackGlobal    = 0x93
	opMemoize        = 0x94
	opFrame          = 0x95
)
