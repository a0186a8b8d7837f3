package owner_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtensor/libtensor/engine/device"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/storage"
	"github.com/libtensor/libtensor/engine/tensor"
)

// releasers lists the functions that explicitly release objects other than tensors, which no scope tracks.
var releasers = map[string]string{
	"../ops/copy_storage.go Set":          "a storage",
	"../ops/pinned.go pinnedLike":         "a storage",
	"../ops/storage_shared.go FromFile":   "a storage",
	"../ops/files.go SafetensorsSaveFile": "the image of a file",
	"../ops/files.go SafetensorsSave":     "the image of a file",
	"../ops/files.go NpySave":             "the image of a file",
	"../ops/files.go NpySaveBytes":        "the image of a file",
}

// The results of an operator are owned by a scope or an output, which release them on every path: no operator releases them explicitly.
func TestOperatorsReleaseNothingExplicitly(t *testing.T) {
	files := token.NewFileSet()
	used := map[string]bool{}
	for _, folder := range []string{"../ops", "../composite"} {
		paths, err := filepath.Glob(folder + "/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range file.Decls {
				name := ""
				if f, ok := d.(*ast.FuncDecl); ok {
					name = path + " " + f.Name.Name
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if x, ok := n.(*ast.SelectorExpr); ok && x.Sel.Name == "Release" {
						used[name] = true
						assert.Contains(t, releasers, name, "%v: keep it in an owner.Scope, or write to an iter.Output", files.Position(x.Pos()))
					}
					return true
				})
			}
		}
	}
	for name := range releasers {
		assert.Contains(t, used, name, "it releases nothing; take it off the list")
	}
}

func made(t *testing.T) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Empty("test", []int64{2}, dtype.Float32, device.Host)
	require.NoError(t, err)
	return x
}

// A scope releases all tensors that it tracks except the returned ones, for any number of them.
func TestScopeReleasesTemporaries(t *testing.T) {
	for _, n := range []int{1, 3, 6, 7, 20} {
		for given := range n {
			before := storage.MemoryStats().Storages
			var list []*tensor.Tensor
			f := func() (_ *tensor.Tensor, err error) {
				s := owner.Scope{Op: "test"}
				defer s.Close(&err)
				for range n {
					list = append(list, s.Track(made(t), nil))
				}
				return s.Return(list[given])
			}
			got, err := f()
			require.NoError(t, err)
			assert.True(t, got == list[given])
			assert.Equal(t, before+1, storage.MemoryStats().Storages, "%d of %d", given, n)
			got.Release()
		}
	}
}

func TestScopeReturnsSeveralResults(t *testing.T) {
	before := storage.MemoryStats().Storages
	s := owner.Scope{Op: "test"}
	a, b, foreign := s.Track(made(t), nil), s.Track(made(t), nil), made(t)
	first, second, err := s.ReturnBoth(b, foreign)
	require.NoError(t, err)
	assert.True(t, first == b)
	assert.True(t, second != foreign && second.Storage() == foreign.Storage(), "what is another's is given as an alias")
	rest, err := s.ReturnAll([]*tensor.Tensor{a})
	require.NoError(t, err)
	s.ReleaseAll()
	for _, x := range append(rest, first, second, foreign) {
		x.Release()
	}
	assert.Equal(t, before, storage.MemoryStats().Storages)
}

func TestFirstErrorEndsTheFunction(t *testing.T) {
	first := errors.New("first")
	for name, fail := range map[string]func(s *owner.Scope){
		"Check":        func(s *owner.Scope) { s.Check(first) },
		"CheckWritten": func(s *owner.Scope) { s.CheckWritten(nil, first) },
		"Track":        func(s *owner.Scope) { s.Track(made(t), first) },
		"TrackAll":     func(s *owner.Scope) { s.TrackAll([]*tensor.Tensor{made(t), made(t)}, first) },
		"ReturnNew": func(s *owner.Scope) {
			_, err := s.ReturnNew(nil, first)
			assert.NoError(t, err)
		},
	} {
		before, reached := storage.MemoryStats().Storages, false
		f := func() (_ *tensor.Tensor, err error) {
			s := owner.Scope{Op: "test"}
			defer s.Close(&err)
			x := s.Track(made(t), nil)
			fail(&s)
			reached = true
			return s.Return(x)
		}
		x, err := f()
		assert.Nil(t, x, name)
		assert.Equal(t, first, err, name)
		assert.False(t, reached, name)
		assert.Equal(t, before, storage.MemoryStats().Storages, name)
	}
}

// An error of an intermediate op is reported under the name of the operator that owns the scope.
func TestErrorsNameTheOperatorOfTheScope(t *testing.T) {
	f := func() (err error) {
		s := owner.Scope{Op: "blend"}
		defer s.Close(&err)
		s.Check(status.Runtimef("mul: sizes %v do not broadcast", []int64{2}))
		return nil
	}
	require.EqualError(t, f(), "blend: sizes [2] do not broadcast")
}

func TestTryReturnsTheErrorOfAPart(t *testing.T) {
	failed := errors.New("failed")
	s := owner.Scope{Op: "test"}
	defer s.ReleaseAll()
	require.ErrorIs(t, s.Try(func() { s.Check(failed) }), failed)
	require.EqualError(t, s.Try(func() { s.Failf("%d is odd", 3) }), "test: 3 is odd")
	require.NoError(t, s.Try(func() { s.Number(dtype.IntScalar(1)) }))
	assert.PanicsWithValue(t, "a defect", func() { _ = s.Try(func() { panic("a defect") }) })
}

func TestOtherPanicsPassAndTemporariesAreReleased(t *testing.T) {
	before := storage.MemoryStats().Storages
	f := func() (err error) {
		s := owner.Scope{Op: "test"}
		defer s.Close(&err)
		s.Track(made(t), nil)
		panic("a defect")
	}
	assert.PanicsWithValue(t, "a defect", func() { _ = f() })
	assert.Equal(t, before, storage.MemoryStats().Storages)
}

func TestListReleasesIncompleteLists(t *testing.T) {
	before := storage.MemoryStats().Storages
	for failing := range 4 {
		list, err := owner.List(3, func(i int) (*tensor.Tensor, error) {
			if i == failing {
				return nil, fmt.Errorf("piece %d", i)
			}
			return made(t), nil
		})
		assert.Equal(t, failing < 3, err != nil)
		for _, x := range list {
			x.Release()
		}
		assert.Equal(t, before, storage.MemoryStats().Storages)
	}
}
