package composite

import (
	"math"
	"slices"

	"github.com/libtensor/libtensor/engine/build"
	"github.com/libtensor/libtensor/engine/dispatch"
	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
	"github.com/libtensor/libtensor/engine/warning"
)

// checkStft returns an error if the lengths or the window of stft are invalid.
func checkStft(op string, window *tensor.Tensor, nFft, hop, width int64) error {
	switch {
	case nFft <= 0:
		return status.Runtimef("%s: expected 0 < n_fft, but got n_fft=%d", op, nFft)
	case hop <= 0:
		return status.Runtimef("%s: expected hop_length > 0, but got hop_length=%d", op, hop)
	case width <= 0 || width > nFft:
		return status.Runtimef("%s: expected 0 < win_length <= n_fft=%d, but got win_length=%d", op, nFft, width)
	case window != nil && (window.Dim() != 1 || window.Numel() != width):
		return status.Runtimef("%s: expected a 1D window tensor of size equal to win_length=%d, but got window with size %v", op,
			width, window.Sizes())
	}
	return nil
}

// Stft computes the short-time Fourier transform of one or several signals: the transforms of windows at a distance of hopLength, one in
// each column.
func Stft(c dispatch.Context, self *tensor.Tensor, nFft int64, hopLength, winLength ops.Int, window *tensor.Tensor, center bool,
	padMode string, normalized bool, onesided, returnComplex, alignToWindow ops.Bool) (_ *tensor.Tensor, err error) {
	const op = "stft"
	hop, width := hopLength.Or(nFft/4), winLength.Or(nFft)
	complexes := self.DType().IsComplex() || window != nil && window.DType().IsComplex()
	half := !complexes
	if onesided != ops.NoBool {
		half = onesided == ops.True
	}
	switch {
	case self.DType().Category() < dtype.Floating:
		return nil, status.Runtimef("%s: expected a tensor of floating point or complex values, got %v", op, self.DType())
	case self.Dim() != 1 && self.Dim() != 2:
		return nil, status.Runtimef("%s: expected a 1D or 2D tensor, got shape %v", op, self.Sizes())
	case center && alignToWindow != ops.NoBool:
		return nil, status.Runtimef("%s: align_to_window should only be set when center = false", op)
	case returnComplex == ops.NoBool && !complexes:
		return nil, status.Runtimef("%s: requires the return_complex parameter be given for real inputs", op)
	}
	if err := checkStft(op, window, nFft, hop, width); err != nil {
		return nil, err
	}
	if complexes && half {
		return nil, status.Runtimef("%s: Cannot have onesided output if window or input is complex", op)
	}
	if err := ops.CheckWord(op, "pad_mode", padMode, "reflect", "constant", "replicate", "circular"); err != nil {
		return nil, err
	}
	b := build.New(c, op)
	defer b.Close(&err)
	signal := self
	if center {
		signal = padSignal(b, signal, nFft/2, nFft/2, padMode)
	} else if alignToWindow == ops.True {
		signal = padSignal(b, signal, (nFft-width)/2, nFft-width-(nFft-width)/2, padMode)
	}
	if n := signal.Sizes()[signal.Dim()-1]; n < nFft {
		return nil, status.Runtimef("%s: expected 0 < n_fft <= %d, the length of the signal, but got n_fft=%d", op, n, nFft)
	}
	if window == nil {
		if err := warning.NoWindow.Of(op,
			"without a window, frequencies leak into others; pass a window such as hann_window(%d), or ones(%[1]d) for a rectangular window",
			width); err != nil {
			return nil, err
		}
	}
	frames := b.Unfold(signal, -1, nFft, hop)
	if weights := centerWindow(b, window, self, width, nFft); weights != nil {
		frames = b.Mul(frames, weights)
	}
	scale := 1.0
	if normalized {
		scale = 1 / math.Sqrt(float64(nFft))
	}
	spectra := b.Transpose(transformFrames(b, frames, half, scale), -2, -1)
	if returnComplex == ops.False {
		spectra = b.ViewAsReal(spectra)
	}
	return build.WriteResult(b, nil, spectra)
}

// transformFrames returns the Fourier transforms of rows, multiplied by scale: the first half of each if half is set and they are real.
func transformFrames(b *build.Builder, frames *tensor.Tensor, half bool, scale float64) *tensor.Tensor {
	if frames.DType().IsComplex() {
		return b.FftC2c(frames, []int64{-1}, true, scale)
	}
	return b.FftR2c(frames, []int64{-1}, half, scale)
}

// centerWindow returns window (ones by default) centered in n points, or nil for n ones.
func centerWindow(b *build.Builder, window, like *tensor.Tensor, width, n int64) *tensor.Tensor {
	if width == n {
		return window
	}
	if window == nil {
		window = b.OnesBeside(like, like.DType(), width)
	}
	before := (n - width) / 2
	return padLastDim(b, window, before, n-width-before)
}

// padLastDim pads t with zeros along its last dimension.
func padLastDim(b *build.Builder, t *tensor.Tensor, before, after int64) *tensor.Tensor {
	return b.ConstantPadNd(t, []int64{before, after}, dtype.IntScalar(0))
}

// padSignal pads a signal by before and after elements.
func padSignal(b *build.Builder, t *tensor.Tensor, before, after int64, mode string) *tensor.Tensor {
	return b.SignalPad(t, before, after, mode)
}

// SignalPad continues a signal along its last dimension: by its reflections at the ends, without these, by the ends repeated, by the
// other ends, or by zeros.
func SignalPad(c dispatch.Context, self *tensor.Tensor, before, after int64, mode string) (_ *tensor.Tensor, err error) {
	const op = "signal_pad"
	b := build.New(c, op)
	defer b.Close(&err)
	last := self.Dim() - 1
	if last < 0 {
		return nil, status.Runtimef("%s: expected a signal of at least 1 dimension, but got a 0-dim tensor", op)
	}
	if before < 0 || after < 0 {
		return nil, status.Runtimef("%s: padding must not be negative, but got (%d, %d)", op, before, after)
	}
	n := self.Sizes()[last]
	piece := func(start, length int64) *tensor.Tensor { return b.Narrow(self, int64(last), start, length) }
	backwards := func(t *tensor.Tensor) *tensor.Tensor {
		return b.Flip(t, -1)
	}
	repeated := func(t *tensor.Tensor, count int64) *tensor.Tensor {
		sizes := slices.Clone(self.Sizes())
		sizes[last] = count
		return b.Expand(t, sizes...)
	}
	switch most := max(before, after); {
	case mode == "constant":
		return build.WriteResult(b, nil, padLastDim(b, self, before, after))
	case mode == "reflect" && most >= n:
		return nil,
			status.Runtimef("%s: Padding size should be less than the corresponding input dimension, but got: padding (%d, %d) of a signal of size %d",
				op, before, after, n)
	case mode == "reflect":
		return build.WriteResult(b, nil, b.Cat([]*tensor.Tensor{backwards(piece(1, before)), self, backwards(piece(n-1-after, after))},
			int64(last)))
	case mode == "circular" && most > n:
		return nil, status.Runtimef("%s: Padding value causes wrapping around more than once: padding (%d, %d) of a signal of size %d", op,
			before, after, n)
	case mode == "circular":
		return build.WriteResult(b, nil, b.Cat([]*tensor.Tensor{piece(n-before, before), self, piece(0, after)}, int64(last)))
	case mode == "replicate" && n == 0:
		return nil, status.Runtimef("%s: expected a signal with elements to replicate, but got shape %v", op, self.Sizes())
	case mode == "replicate":
		return build.WriteResult(b, nil, b.Cat([]*tensor.Tensor{repeated(piece(0, 1), before), self, repeated(piece(n-1, 1), after)},
			int64(last)))
	}
	return nil, status.NotImplementedf("%s: Unrecognised padding mode %q; use reflect, constant, replicate or circular", op, mode)
}

// Istft inverts the short-time Fourier transform: the inverse transforms of its columns, times the window, are overlap-added, and divided
// by the sum of the squared windows. After D. Griffin and J. Lim, Signal estimation from modified short-time Fourier transform (1984).
func Istft(c dispatch.Context, self *tensor.Tensor, nFft int64, hopLength, winLength ops.Int, window *tensor.Tensor, center,
	normalized bool, onesided ops.Bool, length ops.Int, returnComplex bool) (_ *tensor.Tensor, err error) {
	const op = "istft"
	hop, width := hopLength.Or(nFft/4), winLength.Or(nFft)
	if err := checkIstft(self, nFft, hop, width, window, onesided, returnComplex); err != nil {
		return nil, err
	}
	if length != ops.NoInt && length < 0 {
		return nil, status.Runtimef("%s: expected length >= 0, but got length=%d", op, length)
	}
	if window == nil {
		if err := warning.NoWindow.Of(op,
			"without a window, the inverse is that of stft without a window; pass the window of stft, or ones(%d) for a rectangular window",
			width); err != nil {
			return nil, err
		}
	}
	b := build.New(c, op)
	defer b.Close(&err)
	spectra := b.Transpose(self, -2, -1)
	scale := 1 / float64(nFft)
	if normalized {
		scale = math.Sqrt(scale)
	}
	if !returnComplex {
		spectra = b.Narrow(spectra, int64(self.Dim()-1), 0, nFft/2+1)
	}
	var frames *tensor.Tensor
	if returnComplex {
		frames = b.FftC2c(spectra, []int64{-1}, false, scale)
	} else {
		frames = b.FftC2r(spectra, -1, nFft, scale)
	}
	weights := centerWindow(b, window, frames, width, nFft)
	if weights == nil {
		weights = b.OnesBeside(frames, frames.DType().ToReal(), nFft)
	} else {
		frames = b.Mul(frames, weights)
	}
	count := self.Sizes()[self.Dim()-1]
	whole := nFft + hop*(count-1)
	signal := overlapAdd(b, frames, whole, hop)
	envelope := overlapAdd(b, b.Expand(b.Square(weights), count, nFft), whole, hop)
	start, end := int64(0), whole
	if center {
		start, end = nFft/2, whole-nFft/2
	}
	if length != ops.NoInt {
		end = start + int64(length)
	}
	last := self.Dim() - 2
	kept := max(min(end, whole)-start, 0)
	signal, envelope = b.Narrow(signal, int64(last), start, kept), b.Narrow(envelope, 0, start, kept)
	if kept > 0 {
		sizes := b.Abs(envelope)
		lowest := b.Amin(sizes, nil, false)
		if v, known := b.ReadElement(lowest); known && v.Float() < 1e-11 {
			return nil,
				status.Runtimef("%s: window overlap add min: the sum of the squared windows is %v somewhere between samples %d and %d, where the signal cannot be reconstructed",
					op, v.Float(), start, start+kept)
		}
	}
	signal = b.Div(signal, envelope)
	if end > whole {
		b.Check(warning.LengthBeyond.Of(op, "the frames end at sample %d, before the requested length %d; the rest is padded with zeros",
			kept, end-start))
		signal = padLastDim(b, signal, 0, end-whole)
	}
	return build.WriteResult(b, nil, signal)
}

func checkIstft(self *tensor.Tensor, nFft, hop, width int64, window *tensor.Tensor, onesided ops.Bool, returnComplex bool) error {
	const op = "istft"
	if !self.DType().IsComplex() {
		return status.Typef("%s: requires a complex-valued input tensor matching the output from stft with return_complex=True, got %v", op,
			self.DType())
	}
	n := self.Dim()
	if n != 2 && n != 3 {
		return status.Runtimef("%s: expected a tensor of 2 or 3 dimensions, the last of which are frequencies and frames, but got shape %v",
			op, self.Sizes())
	}
	if self.Numel() == 0 {
		return status.Runtimef("%s: input tensor cannot be empty, got shape %v", op, self.Sizes())
	}
	have := self.Sizes()[n-2]
	half := have != nFft
	if onesided != ops.NoBool {
		half = onesided == ops.True
	}
	switch {
	case half && have != nFft/2+1:
		return status.Runtimef("%s: expected the frequency dimension (2nd to the last) of the input tensor to match n_fft / 2 + 1 = %d when onesided=True, but got %d",
			op, nFft/2+1, have)
	case !half && have != nFft:
		return status.Runtimef("%s: expected the frequency dimension (2nd to the last) of the input tensor to match n_fft = %d when onesided=False, but got %d",
			op, nFft, have)
	case hop <= 0 || hop > width:
		return status.Runtimef("%s: expected 0 < hop_length <= win_length, but got hop_length=%d and win_length=%d", op, hop, width)
	case width <= 0 || width > nFft:
		return status.Runtimef("%s: expected 0 < win_length <= n_fft, but got win_length=%d and n_fft=%d", op, width, nFft)
	case window != nil && (window.Dim() != 1 || window.Numel() != width):
		return status.Runtimef("%s: Invalid window shape. window has to be 1D and length of `win_length`=%d, but got shape %v", op, width,
			window.Sizes())
	case returnComplex && half:
		return status.Runtimef("%s: Cannot have onesided output if window or input is complex: return_complex=True needs onesided=False",
			op)
	case !returnComplex && window != nil && window.DType().IsComplex():
		return status.Runtimef("%s: Complex windows are incompatible with return_complex=False", op)
	}
	return nil
}

// overlapAdd adds frames, `hop` elements apart, to a signal of n elements.
func overlapAdd(b *build.Builder, frames *tensor.Tensor, n, hop int64) *tensor.Tensor {
	last := frames.Dim() - 2
	sizes := slices.Clone(frames.Sizes()[:last])
	width := frames.Sizes()[last+1]
	at := b.ArangeWith(dtype.IntScalar(n), dtype.Int64, tensor.NoLayout, frames.Device())
	at = b.Unfold(at, 0, width, hop)
	at = b.Reshape(at, -1)
	line := b.Reshape(frames, append(slices.Clone(sizes), at.Numel())...)
	zeros := b.ZerosBeside(frames, dtype.None, append(sizes, n)...)
	return b.IndexAdd(zeros, int64(last), at, line)
}
