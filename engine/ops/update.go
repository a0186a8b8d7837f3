package ops

import (
	"cmp"
	"slices"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/owner"
	"github.com/libtensor/libtensor/engine/shape"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// UpdateAll updates parameters by their gradients. A row holds the tensors of one parameter in the order of backend.Update, with nil for
// unused ones; a part holds the other kernel arguments. On an error nothing is written.
func UpdateAll(op string, rows [][5]*tensor.Tensor, parts []backend.Update) error {
	for i, row := range rows {
		if err := checkUpdate(op, i, row, parts[i].Scale != 1); err != nil {
			return err
		}
	}
	if shareMemory(rows) { // in turn, as the list has them
		for i := range rows {
			if err := updateRows(op, rows[i:i+1], parts[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
	return updateRows(op, rows, parts)
}

// checkUpdate returns an error for tensors that have not the parameter's sizes, dtype and device, and for those that cannot be written to.
func checkUpdate(op string, i int, row [5]*tensor.Tensor, scaled bool) error {
	param := row[0]
	if !param.DType().IsFloatingPoint() {
		return status.NotImplementedf("%s: parameters must be of a floating-point dtype, but parameter %d is of %v", op, i, param.DType())
	}
	for k, t := range row {
		switch {
		case t == nil:
			continue
		case t.DType() != param.DType():
			return status.Runtimef("%s: params, grads, and states must have the same dtype, but those of parameter %d have %v and %v", op, i,
				param.DType(), t.DType())
		case t.Device() != param.Device():
			return status.Runtimef("%s: params, grads, and states must be on the same device, but those of parameter %d are on %v and %v", op, i,
				param.Device(), t.Device())
		case !slices.Equal(t.Sizes(), param.Sizes()):
			return status.Runtimef("%s: params, grads, and states must have the same sizes, but those of parameter %d have %v and %v", op, i,
				param.Sizes(), t.Sizes())
		}
		if k == 1 && !scaled {
			continue
		}
		if err := tensoriter.Writable(op, t); err != nil {
			return err
		}
	}
	return nil
}

// shareMemory returns whether tensors that are written to share memory with those of other rows.
func shareMemory(rows [][5]*tensor.Tensor) bool {
	type span struct {
		begin, end uintptr
		row        int
	}
	var spans []span
	for i, row := range rows {
		for _, t := range row {
			if t == nil || t.Numel() == 0 || !backend.Known(t) {
				continue
			}
			last := int64(0)
			for d, size := range t.Sizes() {
				last += (size - 1) * t.Strides()[d]
			}
			begin := uintptr(t.Data())
			spans = append(spans, span{begin, begin + uintptr((last+1)*t.DType().Size()), i})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	end, row := uintptr(0), 0
	for _, s := range spans {
		if s.begin < end && s.row != row {
			return true
		}
		if s.end > end {
			end, row = s.end, s.row
		}
	}
	return false
}

// updateRows launches the update of checked tensors. Rows with different layouts are copied to row-major tensors first.
func updateRows(op string, rows [][5]*tensor.Tensor, parts []backend.Update) (err error) {
	s := owner.Scope{Op: op}
	defer s.Close(&err)
	rows = slices.Clone(rows)
	type back struct{ to, from *tensor.Tensor }
	var backs []back
	for i, row := range rows {
		if haveEqualOffsets(row) {
			continue
		}
		for k, t := range row {
			if t == nil {
				continue
			}
			rows[i][k] = backend.RowMajorCopy(&s, t, t.DType())
			if k != 1 || parts[i].Scale != 1 {
				backs = append(backs, back{t, rows[i][k]})
			}
		}
	}
	if len(rows) > 0 {
		s.Check(backend.On(rows[0][0]).Update(op, backend.Updating{Rows: rows, Parts: parts}))
	}
	for _, b := range backs {
		s.Check(backend.Copy(op, b.to, b.from))
	}
	return nil
}

// haveEqualOffsets reports whether elements with equal indices have equal offsets in all tensors, without gaps.
func haveEqualOffsets(row [5]*tensor.Tensor) bool {
	strides := row[0].Strides()
	for _, t := range row {
		if t != nil && !t.IsContiguous() && !(slices.Equal(t.Strides(), strides) && shape.IsDense(t.Sizes(), strides)) {
			return false
		}
		if t != nil && t.IsContiguous() != row[0].IsContiguous() {
			return false
		}
	}
	return true
}
