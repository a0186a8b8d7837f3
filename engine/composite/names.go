package composite

import (
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/named"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

// others represents, in lists of names, the dimensions that the list does not mention.
const others = "..."

// Names returns the names of the dimensions, "" for one without.
func Names(_ dispatch.Context, self *tensor.Tensor) ([]string, error) {
	return slices.Clone(named.Of(self)), nil
}

// DimByName returns the dimension of a name.
func DimByName(_ dispatch.Context, self *tensor.Tensor, name string) (int64, error) {
	return named.Dim("dim_by_name", self, name)
}

// Rename returns a view with other names; nil are none.
func Rename(c dispatch.Context, self *tensor.Tensor, names []string) (*tensor.Tensor, error) {
	names, err := resolveNames("rename", self, names)
	if err != nil {
		return nil, err
	}
	return viewWithNames(c, "rename", self, names)
}

// RenameInPlace returns the tensor itself other names.
func RenameInPlace(_ dispatch.Context, self *tensor.Tensor, names []string) error {
	names, err := resolveNames("rename_", self, names)
	if err != nil {
		return err
	}
	return self.Rename("rename_", names)
}

// resolveNames checks a list of names, in which an ellipsis keeps those that a tensor has.
func resolveNames(op string, self *tensor.Tensor, names []string) ([]string, error) {
	if names == nil {
		return nil, nil
	}
	names, err := expandEllipsis(op, self, names)
	if err != nil {
		return nil, err
	}
	return names, checkNames(op, self, names)
}

// checkNames returns an error for names that a tensor cannot have.
func checkNames(op string, self *tensor.Tensor, names []string) error {
	if self.Layout() != tensor.Strided {
		return status.NotImplementedf("%s: names are not supported for sparse tensors; convert with to_dense()", op)
	}
	return tensor.CheckNames(op, names)
}

// expandEllipsis returns a list of a tensor's length, with its own names in the place of an ellipsis.
func expandEllipsis(op string, self *tensor.Tensor, names []string) ([]string, error) {
	at, err := findEllipsis(op, names)
	if err != nil {
		return nil, err
	}
	own := named.Of(self)
	if rest := len(own) - (len(names) - 1); at >= 0 && rest >= 0 {
		names = slices.Concat(names[:at], own[at:at+rest], names[at+1:])
	}
	if len(names) != len(own) {
		return nil, status.Runtimef("%s: %d names, %s, do not match the %d dimensions of Tensor%s", op, len(names), tensor.NamesText(names),
			len(own), tensor.NamesText(own))
	}
	return names, nil
}

// findEllipsis returns the position of the ellipsis, or -1 for none.
func findEllipsis(op string, names []string) (int, error) {
	at := slices.Index(names, others)
	if at >= 0 && slices.Contains(names[at+1:], others) {
		return 0, status.Runtimef("%s: there is more than one ellipsis in %s", op, tensor.NamesText(names))
	}
	return at, nil
}

// viewWithNames returns a view of all elements with names.
func viewWithNames(c dispatch.Context, op string, self *tensor.Tensor, names []string) (*tensor.Tensor, error) {
	result, err := c.Excluding(tensor.Named).View(self, self.Sizes())
	if err == nil {
		result.SetNames(names)
	}
	return wrapError(op, result, err)
}

// RefineNames names dimensions that have no name.
func RefineNames(c dispatch.Context, self *tensor.Tensor, names []string) (*tensor.Tensor, error) {
	const op = "refine_names"
	own := named.Of(self)
	names, err := expandEllipsis(op, self, names)
	if err == nil {
		err = checkNames(op, self, names)
	}
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if own[i] != "" && own[i] != name {
			return nil, status.Runtimef("%s: cannot coerce Tensor%s to Tensor%s: dimension %d has the name '%s' already; use rename()", op,
				tensor.NamesText(own), tensor.NamesText(names), i, own[i])
		}
	}
	return viewWithNames(c, op, self, names)
}

// AlignTo permutes the dimensions to the order of the names, with dimensions of size 1 for others.
func AlignTo(c dispatch.Context, self *tensor.Tensor, names []string) (*tensor.Tensor, error) {
	return alignNames(c, "align_to", self, names)
}

// AlignAs is AlignTo the names of other.
func AlignAs(c dispatch.Context, self, other *tensor.Tensor) (*tensor.Tensor, error) {
	return alignNames(c, "align_as", self, named.Of(other))
}

// AlignTensors aligns all with the one that has the most dimensions.
func AlignTensors(c dispatch.Context, tensors []*tensor.Tensor) (_ []*tensor.Tensor, err error) {
	const op = "align_tensors"
	var longest []string
	for _, t := range tensors {
		if names := named.Of(t); len(names) > len(longest) {
			longest = names
		}
	}
	b := build.New(c, op)
	defer b.Close(&err)
	results := make([]*tensor.Tensor, len(tensors))
	for i, t := range tensors {
		results[i] = b.Track(alignNames(c, op, t, longest))
	}
	return b.ReturnAll(results)
}

func alignNames(c dispatch.Context, op string, self *tensor.Tensor, names []string) (_ *tensor.Tensor, err error) {
	own := named.Of(self)
	if at := slices.Index(own, ""); at >= 0 {
		return nil, status.Runtimef("%s: all dimensions must have names, but dimension %d of Tensor%s has none; use refine_names()", op, at,
			tensor.NamesText(own))
	}
	at, err := findEllipsis(op, names)
	if err != nil {
		return nil, err
	}
	if at >= 0 {
		rest := slices.DeleteFunc(slices.Clone(own), func(name string) bool { return slices.Contains(names, name) })
		names = slices.Concat(names[:at], rest, names[at+1:])
	}
	if err := tensor.CheckNames(op, names); err != nil {
		return nil, err
	}
	var order []int64
	for i, name := range own {
		if !slices.Contains(names, name) {
			return nil, status.Runtimef("%s: the dims %s do not contain dim '%s', dimension %[5]d of Tensor%[4]s", op,
				tensor.NamesText(names), name, tensor.NamesText(own), i)
		}
	}
	for _, name := range names {
		if i := slices.Index(own, name); i >= 0 {
			order = append(order, int64(i))
		}
	}
	c = c.Excluding(tensor.Named)
	b := build.New(c, op)
	defer b.Close(&err)
	made := b.Permute(self, order...)
	for i, name := range names {
		if name == "" || !slices.Contains(own, name) {
			from := made
			made = b.Unsqueeze(from, int64(i))
		}
	}
	result, err := b.Return(made)
	if err == nil {
		result.SetNames(slices.Clone(names))
	}
	return result, err
}

// FlattenOutDim merges the dimensions from start to end into one with a name.
func FlattenOutDim(c dispatch.Context, self *tensor.Tensor, start, end int64, outDim string) (*tensor.Tensor, error) {
	const op = "flatten"
	result, err := c.Excluding(tensor.Named).Flatten(self, start, end)
	if err != nil {
		return nil, err
	}
	own := named.Of(self)
	if n := int64(len(own)); n > 0 { // which Flatten has found the dimensions to be among
		start, end = (start+n)%n, (end+n)%n
		own = slices.Concat(own[:start], []string{outDim}, own[end+1:])
	} else {
		own = []string{outDim}
	}
	return attachNames(op, result, own)
}

// FlattenDims is FlattenOutDim of dimensions that follow each other.
func FlattenDims(c dispatch.Context, self *tensor.Tensor, dims []int64, outDim string) (*tensor.Tensor, error) {
	const op = "flatten"
	if len(dims) == 0 {
		return nil, status.Runtimef("%s: no dimensions to flatten into '%s' were passed", op, outDim)
	}
	for i, dim := range dims[1:] {
		if dim != dims[i]+1 {
			return nil, status.Runtimef("%s: the dimensions %v must follow each other in Tensor%s; use align_to() to make them adjacent",
				op, slices.Clone(dims), tensor.NamesText(named.Of(self)))
		}
	}
	return FlattenOutDim(c, self, dims[0], dims[len(dims)-1], outDim)
}

// UnflattenNames makes several dimensions of names of one.
func UnflattenNames(c dispatch.Context, self *tensor.Tensor, dim int64, sizes []int64, names []string) (*tensor.Tensor, error) {
	const op = "unflatten"
	if len(sizes) != len(names) {
		return nil, status.Runtimef("%s: got %d sizes for %d names, %s", op, len(sizes), len(names), tensor.NamesText(names))
	}
	result, err := c.Excluding(tensor.Named).Unflatten(self, dim, sizes)
	if err != nil {
		return nil, err
	}
	own := named.Of(self)
	dim = (dim + int64(len(own))) % int64(len(own))
	return attachNames(op, result, slices.Concat(own[:dim], names, own[dim+1:]))
}

// DiagonalOutdim is Diagonal, whose last dimension has a name.
func DiagonalOutdim(c dispatch.Context, self *tensor.Tensor, outdim string, dim1, dim2, offset int64) (*tensor.Tensor, error) {
	result, err := c.Diagonal(self, offset, dim1, dim2)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(named.Of(result))
	names[len(names)-1] = outdim
	return attachNames("diagonal", result, names)
}

// attachNames returns result with names, or releases it if the names are invalid.
func attachNames(op string, result *tensor.Tensor, names []string) (_ *tensor.Tensor, err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	s.Track(result, nil)
	s.Check(tensor.CheckNames(op, names))
	result.SetNames(names)
	return s.Return(result)
}
