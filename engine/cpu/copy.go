package cpu

import (
	"slices"
	"unsafe"

	"github.com/libtensor/libtensor/engine/backend"
	"github.com/libtensor/libtensor/engine/kernel"
	"github.com/libtensor/libtensor/engine/kernelapi"
	"github.com/libtensor/libtensor/engine/parallel"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/tensoriter"
)

// copyTo writes one tensor to another. Quantized dtypes have no conversions: their layer copies the integers.
func copyTo(op string, w backend.Copying) error {
	if w.To.DType().IsQuantized() || w.From.DType().IsQuantized() {
		return status.NotImplementedf("%s: conversion of %v to %v is not supported; use quantize_per_tensor() or dequantize()", op,
			w.From.DType(), w.To.DType())
	}
	if w.To.Numel() == 0 {
		return nil
	}
	to, from := w.To.DType(), w.From.DType()
	if to.IsFloat8() || from.IsFloat8() {
		if to != from {
			return convertFloat8(op, w)
		}
		to, from = to.Raw(), from.Raw()
	}
	l := loops.Get().(*kernelapi.Loop)
	defer loops.Put(l)
	l.Fixed = 0
	l.Memory[0], l.Memory[1] = to, from
	if w.Flipped != nil {
		tensoriter.ArrangeFlipped(l, w.To, w.From, w.Flipped)
	} else {
		pair := [2]*tensor.Tensor{w.To, w.From}
		tensoriter.Arrange(l, 1, pair[:])
	}
	splitLoop(l, kernel.Copy)
	return nil
}

// fillTensor writes one value everywhere.
func fillTensor(op string, w backend.Filling) (err error) {
	to, d := w.To, w.To.DType()
	if d.IsQuantized() {
		return status.NotImplementedf("%s: not implemented for dtype %v; call dequantize() first", op, d)
	}
	if w.From != nil {
		if w.Value, err = backend.Item(op, w.From); err != nil {
			return err
		}
	}
	if to.Numel() == 0 {
		return nil
	}
	if to.Numel() <= kernel.TinyLimit && to.IsContiguous() {
		for i := range to.Numel() {
			tensor.Put(unsafe.Add(to.Data(), i*d.Size()), d, w.Value)
		}
		return nil
	}
	l := loops.Get().(*kernelapi.Loop)
	defer loops.Put(l)
	l.Fixed = 0
	l.Memory[0], l.Memory[1] = d.Raw(), d.Raw()
	pair := [2]*tensor.Tensor{to, to}
	tensoriter.Arrange(l, 1, pair[:])
	value := unsafe.Pointer(&l.Params)
	tensor.Put(value, d, w.Value)
	l.Data[1], l.Strides[1] = uintptr(value), [64]int64{}
	dropRepeatedDims(l)
	splitLoop(l, kernel.Copy)
	return nil
}

// joinTensors copies the memory of tensors, one after the other: shared out to threads by bytes, however many tensors there are.
func joinTensors(_ string, w backend.Joining) error {
	size := w.To.DType().Size()
	ends := make([]int64, len(w.From))
	total := int64(0)
	for i, t := range w.From {
		total += t.Numel() * size
		ends[i] = total
	}
	target := bytesOf(w.To)
	parallel.ForInterruptible(total, 4*Grain, func(begin, end int64) {
		at, _ := slices.BinarySearch(ends, begin+1)
		for ; begin < end; at++ {
			from := bytesOf(w.From[at])
			begin += int64(copy(target[begin:end], from[begin-ends[at]+int64(len(from)):]))
		}
	})
	return nil
}

// clearTriangle clears one side of a diagonal in the rows of matrices.
func clearTriangle(_ string, w backend.Triangle) error {
	t := w.To
	if t.Numel() == 0 {
		return nil
	}
	rows, columns := t.Sizes()[t.Dim()-2], t.Sizes()[t.Dim()-1]
	diagonal := min(max(w.Diagonal, -rows), columns) // all diagonals beyond the matrix have the same result
	size := t.DType().Size()
	bytes := bytesOf(t)
	for r := range t.Numel() / columns {
		crossed := r%rows + diagonal // the column in which the diagonal is
		from, to := min(max(crossed+1, 0), columns), columns
		if w.Below {
			from, to = 0, min(max(crossed, 0), columns)
		}
		clear(bytes[(r*columns+from)*size : (r*columns+to)*size])
	}
	return nil
}

func readBytes(_ string, t *tensor.Tensor) ([]byte, error) { return bytesOf(t), nil }

func writeBytes(_ string, w backend.Writing) error {
	if bytes := bytesOf(w.To); bytes != nil {
		w.Set(bytes)
	}
	return nil
}
