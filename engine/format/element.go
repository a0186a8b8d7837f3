package format

import (
	"math"
	"strconv"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
)

// formatter prints numbers of one kind at a common width.
type formatter struct {
	precision int
	width     int
	floating  bool
	integral  bool // every finite float is an integer: no digits follow the point
	sci       bool
}

// newFormatter decides how to print values by looking at all of them. Floats turn to scientific notation when their
// finite, nonzero magnitudes span more than three decades, pass 1e8, or fall below 1e-4.
func newFormatter(values []dtype.Scalar, floating bool, o Options) formatter {
	f := formatter{precision: o.Precision, width: 1, floating: floating, integral: true}
	if !floating {
		for _, v := range values {
			f.width = max(f.width, len(v.String()))
		}
		return f
	}
	low, high := math.Inf(1), 0.0
	for _, v := range values {
		if a := math.Abs(v.F); isFiniteNonzero(v.F) {
			low, high = min(low, a), max(high, a)
			f.integral = f.integral && v.F == math.Ceil(v.F)
		}
	}
	if high == 0 {
		return f
	}
	f.sci = high/low > 1000 || high > 1e8 || low < 1e-4
	if o.SciMode != nil {
		f.sci = *o.SciMode
	}
	for _, v := range values {
		if isFiniteNonzero(v.F) {
			f.width = max(f.width, len(f.formatDigits(v.F)))
		}
	}
	return f
}

// isFiniteNonzero reports whether a float affects the choice of the format.
func isFiniteNonzero(v float64) bool { return v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) }

func (f formatter) formatDigits(v float64) string {
	switch {
	case f.sci:
		return formatFloat(v, 'e', f.precision)
	case f.integral && (math.IsInf(v, 0) || math.IsNaN(v)):
		return formatFloat(v, 'f', 0)
	case f.integral:
		return formatFloat(v, 'f', 0) + "."
	}
	return formatFloat(v, 'f', f.precision)
}

// formatPadded pads the number to the common width, on the left.
func (f formatter) formatPadded(v dtype.Scalar) string {
	s := v.String()
	if f.floating {
		s = f.formatDigits(v.F)
	}
	return strings.Repeat(" ", max(0, f.width-len(s))) + s
}

// formatFloat formats with strconv, and with Python's names for values that are not finite.
func formatFloat(v float64, verb byte, precision int) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return strconv.FormatFloat(v, verb, precision, 64)
}

// formatPython formats a scalar as Python's repr does: the shortest digits that read back, an exponent below 1e-4 and from 1e16 on.
func formatPython(s dtype.Scalar) string {
	switch s.Kind {
	case dtype.KindFloat:
		text := formatShortest(s.F)
		if !strings.ContainsAny(text, ".en") {
			text += ".0"
		}
		return text
	case dtype.KindComplex:
		imag := formatShortest(s.Im) + "j"
		if s.F == 0 && !math.Signbit(s.F) {
			return imag
		}
		return "(" + formatShortest(s.F) + addSign(imag) + ")"
	}
	return s.String()
}

func formatShortest(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return formatFloat(v, 'e', -1)
	}
	return formatFloat(v, 'f', -1)
}

// addSign prepends a plus to an imaginary part that has no sign.
func addSign(imag string) string {
	if imag[0] == '-' {
		return imag
	}
	return "+" + imag
}
