package pickle

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/serial/file"
	"github.com/libtensor/libtensor/engine/serial/file/filetest"
)

// all is a reader that allows everything.
var all = Rules{Name: func(Global) error { return nil }, Fills: func(Global) bool { return true }, Spend: func(int64) error { return nil }}

func TestValuesComeBack(t *testing.T) {
	large, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	for _, value := range []any{
		nil, true, false, int64(0), int64(255), int64(256), int64(65535), int64(65536), int64(-1), int64(-128), int64(-129), int64(math.MaxInt32),
		int64(math.MinInt32),
		int64(1 << 31), int64(math.MaxInt64), int64(math.MinInt64), large, 1.5, math.Inf(-1), "", "é", &Tuple{}, &Tuple{[]any{int64(1)}},
		&Tuple{[]any{"a", "b", "c", "d"}},
		&List{[]any{nil, &List{}}}, &Dict{[]Entry{{"k", int64(1)}, {int64(2), nil}}}, Global{"torch", "float32"},
		&Persistent{&Tuple{[]any{"storage"}}},
		&Call{Func: Global{"collections", "OrderedDict"}, Args: &Tuple{}, Entries: []Entry{{"a", true}}, State: &Dict{[]Entry{{"x", int64(1)}}}},
	} {
		got, _, err := Decode("load", Encode(value), all)
		require.NoError(t, err)
		require.Equal(t, value, got)
	}
}

func TestSharedValuesAreWrittenOnce(t *testing.T) {
	list := &List{[]any{int64(1)}}
	items := make([]any, 600)
	for i := range items {
		items[i] = &Tuple{[]any{list, int64(i)}}
	}
	got, shared, err := Decode("load", Encode(&List{items}), all)
	require.NoError(t, err)
	first := got.(*List).Items[0].(*Tuple).Items[0]
	require.Same(t, first, got.(*List).Items[599].(*Tuple).Items[0])
	require.True(t, shared[first])
	require.Len(t, shared, 1)
}

func TestLaterProtocols(t *testing.T) {
	// pickle.dumps({"a": [1, b"x", {2}]}, protocol=4)
	data := "\x80\x04\x95\x13\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94]\x94(K\x01C\x01x\x94\x8f\x94(K\x02\x90es."
	got, _, err := Decode("load", []byte(data), all)
	require.NoError(t, err)
	require.Equal(t, &Dict{[]Entry{{"a", &List{[]any{int64(1), []byte("x"), &Set{[]any{int64(2)}}}}}}}, got)
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(&List{[]any{"a", &Dict{[]Entry{{"k", 1.5}}}, Global{"torch", "Size"}}}))
	f.Add([]byte("\x80\x04\x95\x13\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x01a\x94]\x94(K\x01C\x01x\x94\x8f\x94(K\x02\x90es."))
	f.Fuzz(func(t *testing.T, data []byte) {
		filetest.Cost(t, len(data), func() {
			rules := all
			budget := file.Memory(data).Budget("load")
			defer budget.Close()
			rules.Spend = budget.Spend
			if _, shared, err := Decode("load", data, rules); err == nil {
				require.LessOrEqual(t, len(shared), len(data))
			}
		})
	})
}

func TestLengthsOfPickles(t *testing.T) {
	data := Encode(&List{[]any{"a.", int64(1 << 40), 1.5, Global{"torch", "Size"}, &Tuple{[]any{nil}}}})
	n, err := Length("load", append(append([]byte{}, data...), "more"...))
	require.NoError(t, err)
	require.Equal(t, len(data), n)
	for i := range data {
		n, err := Length("load", data[:i])
		require.NoError(t, err)
		require.Zero(t, n, i)
	}
	_, err = Length("load", []byte("\x80\x02\xff."))
	require.ErrorContains(t, err, "byte 2, 0xff, is not an opcode")
}

func TestModulesAreRenamed(t *testing.T) {
	for data, want := range map[string]string{
		"\x80\x02clibtensor.nn\nLinear\n.": "\x80\x02ctorch.nn\nLinear\n.",
		"\x80\x02clibtensor\nSize\n.":      "\x80\x02ctorch\nSize\n.",
		"\x80\x02clibtensors\nSize\n.":     "\x80\x02clibtensors\nSize\n.",
		// a string that looks like an opcode
		"\x80\x02X\x10\x00\x00\x00clibtensor\nSize\n.": "\x80\x02X\x10\x00\x00\x00clibtensor\nSize\n.",
		"ilibtensor\nSize\n.":                          "itorch\nSize\n.",
	} {
		got, err := Rename("save", []byte(data), "libtensor", "torch")
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}

func TestModulesOfLaterProtocolsAreRenamed(t *testing.T) {
	// [Linear, "libtensor.nn", ReLU], whose modules and the string between are one object
	data := "\x80\x04\x95\x30\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x0clibtensor.nn\x94\x8c\x06Linear\x94\x93\x94h\x01h\x01\x8c\x04ReLU\x94\x93\x94e."
	got, err := Rename("save", []byte(data), "libtensor", "torch")
	require.NoError(t, err)
	value, _, err := Decode("load", got, all)
	require.NoError(t, err)
	require.Equal(t, &List{[]any{Global{"torch.nn", "Linear"}, "libtensor.nn", Global{"torch.nn", "ReLU"}}}, value)
	// the string is the first operand
	data = "\x80\x04](\x8c\x0clibtensor.nn\x94h\x00\x8c\x04ReLU\x94\x93\x94h\x00e."
	got, err = Rename("save", []byte(data), "libtensor", "torch")
	require.NoError(t, err)
	value, _, err = Decode("load", got, all)
	require.NoError(t, err)
	require.Equal(t, &List{[]any{"libtensor.nn", Global{"torch.nn", "ReLU"}, "libtensor.nn"}}, value)
	_, err = Rename("save", []byte("\x80\x02X\x10"), "libtensor", "torch")
	require.ErrorContains(t, err, "damaged at byte 2")
}

func FuzzRename(f *testing.F) {
	f.Add([]byte("\x80\x04](\x8c\x0clibtensor.nn\x94h\x00\x8c\x04ReLU\x94\x93\x94h\x00e."))
	f.Add([]byte("\x80\x02clibtensor.nn\nLinear\n."))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Rename("save", data, "libtensor", "torch")
		if err != nil {
			return
		}
		_, err = Rename("save", got, "libtensor", "torch")
		require.NoError(t, err)
	})
}
