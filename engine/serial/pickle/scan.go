package pickle

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/libtensor/libtensor/engine/status"
)

// The operands of opcodes, which have this form in every protocol: a number of bytes, text after its length in a number of bytes, or lines.
const (
	countedOperand = 16 // and how many bytes the length has
	lineOperand    = 32 // and how many lines
	noOpcode       = 255
)

// operands are the forms of all opcodes of protocols 0 to 5.
var operands = func() (forms [256]byte) {
	for i := range forms {
		forms[i] = noOpcode
	}
	for form, codes := range map[byte]string{
		0:                  "(.012NQRabd}elo]st)u\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98",
		1:                  "Khq\x80\x82",
		2:                  "M\x83",
		4:                  "Jjr\x84",
		8:                  "G\x95",
		countedOperand + 1: "UC\x8a\x8c",
		countedOperand + 4: "TXB\x8b",
		countedOperand + 8: "\x8d\x8e\x96",
		lineOperand + 1:    "FILPSVgp",
		lineOperand + 2:    "ci",
	} {
		for i := range len(codes) {
			forms[codes[i]] = form
		}
	}
	return forms
}()

// measureOpcode returns the length of the first opcode of data with its operand, 0 if more bytes are needed, or -1 for an unknown opcode.
func measureOpcode(data []byte) int {
	if len(data) == 0 {
		return 0
	}
	form := operands[data[0]]
	switch {
	case form == noOpcode:
		return -1
	case form < countedOperand:
		return checkLength(data, uint64(form)+1)
	case form < lineOperand:
		width := int(form - countedOperand)
		if len(data) <= width {
			return 0
		}
		var whole [8]byte
		copy(whole[:], data[1:1+width])
		length := binary.LittleEndian.Uint64(whole[:])
		if length > uint64(len(data)) {
			return 0
		}
		return checkLength(data, length+uint64(width)+1)
	}
	at := 1
	for range form - lineOperand {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			return 0
		}
		at += end + 1
	}
	return at
}

// checkLength returns length if data has that many bytes, and 0 otherwise.
func checkLength(data []byte, length uint64) int {
	if length > uint64(len(data)) {
		return 0
	}
	return int(length)
}

// Length returns the size of the pickle at the start of data in bytes, or 0 if it is incomplete.
func Length(op string, data []byte) (int, error) {
	for at := 0; ; {
		n := measureOpcode(data[at:])
		if n < 0 {
			return 0, status.Runtimef("%s: the pickle is damaged: byte %d, %#02x, is not an opcode", op, at, data[at])
		}
		if n == 0 {
			return 0, nil
		}
		if at += n; data[at-n] == opStop {
			return at, nil
		}
	}
}

// renamer writes a pickle with other names of modules.
type renamer struct {
	out       []byte
	from, to  string
	memo      map[uint32]string // strings by their number, for those that modules are named by
	renamed   map[uint32]bool   // numbers under which the new name is kept
	memoCount uint32            // values that MEMOIZE numbered
	pushed    []pushedString    // the last two strings, nothing being pushed after them
}

// pushedString is a string on the stack, written from start on. It was read from number memo when got is set, and is kept under it when
// kept is.
type pushedString struct {
	text               string
	start              int
	memo               uint32
	fromMemo, memoized bool
}

// Rename returns a pickle in which the module `from`, and its submodules, are named `to`: in imports, not in strings. Frames, which readers
// do not need, are left out.
func Rename(op string, data []byte, from, to string) ([]byte, error) {
	r := &renamer{from: from, to: to, memo: map[uint32]string{}, renamed: map[uint32]bool{}}
	for at := 0; at < len(data); {
		n := measureOpcode(data[at:])
		if n <= 0 {
			return nil, status.Runtimef("%s: the pickle is damaged at byte %d", op, at)
		}
		r.rewriteOpcode(data[at : at+n])
		at += n
	}
	return r.out, nil
}

// renameModule returns the new name of a module, and whether it changes.
func (r *renamer) renameModule(module string) (string, bool) {
	rest, found := strings.CutPrefix(module, r.from)
	if !found || rest != "" && rest[0] != '.' {
		return module, false
	}
	return r.to + rest, true
}

func (r *renamer) rewriteOpcode(code []byte) {
	start := len(r.out)
	switch code[0] {
	case opFrame:
		return
	case opGlobal, opInst:
		module, rest, _ := strings.Cut(string(code[1:]), "\n")
		module, _ = r.renameModule(module)
		r.out = append(append(append(r.out, code[0]), module...), "\n"+rest...)
		r.pushed = nil
		return
	case opShortUnicode, opBinUnicode, opBinUnicode8:
		text := string(code[1+operands[code[0]]-countedOperand:])
		r.pushString(pushedString{text: text, start: start})
		r.out = append(r.out, code...)
		return
	case opMemoize:
		if last := len(r.pushed) - 1; last >= 0 && !r.pushed[last].fromMemo && !r.pushed[last].memoized {
			r.pushed[last].memoized, r.pushed[last].memo = true, r.memoCount
			r.memo[r.memoCount] = r.pushed[last].text
		} else {
			r.pushed = nil
		}
		r.memoCount++
		r.out = append(r.out, code...)
		return
	case opBinGet, opLongBinGet:
		var whole [4]byte
		copy(whole[:], code[1:])
		number := binary.LittleEndian.Uint32(whole[:])
		if text, found := r.memo[number]; found {
			r.pushString(pushedString{text: text, start: start, memo: number, fromMemo: true})
			if r.renamed[number] { // the memo holds the renamed value; the old name is needed
				r.writeString(text)
				return
			}
		} else {
			r.pushed = nil
		}
		r.out = append(r.out, code...)
		return
	case opStackGlobal:
		if len(r.pushed) == 2 {
			r.rewriteStackGlobal(r.pushed[0], r.pushed[1])
		}
	}
	r.pushed = nil
	r.out = append(r.out, code...)
}

func (r *renamer) pushString(p pushedString) {
	r.pushed = append(r.pushed, p)
	if len(r.pushed) > 2 {
		r.pushed = r.pushed[1:]
	}
}

func (r *renamer) writeString(text string) {
	r.out = append(r.out, opBinUnicode)
	r.out = binary.LittleEndian.AppendUint32(r.out, uint32(len(text)))
	r.out = append(r.out, text...)
}

// rewriteStackGlobal replaces the module's name by the new one.
func (r *renamer) rewriteStackGlobal(module, name pushedString) {
	to, found := r.renameModule(module.text)
	if !found {
		return
	}
	rest := string(r.out[name.start:])
	r.out = r.out[:module.start]
	if module.fromMemo && r.renamed[module.memo] {
		r.out = append(r.out, opLongBinGet)
		r.out = binary.LittleEndian.AppendUint32(r.out, module.memo)
	} else {
		r.writeString(to)
	}
	if module.memoized {
		r.out = append(r.out, opMemoize)
		r.renamed[module.memo] = true
	}
	r.out = append(r.out, rest...)
}
