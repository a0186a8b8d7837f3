package status

import (
	"fmt"
	"reflect"
)

// Textf is fmt.Sprintf for messages: the elements of slices are separated by commas, as in [2, 3].
func Textf(format string, args ...any) string {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = arg
		switch arg.(type) {
		case error, fmt.Stringer:
			continue
		}
		v := reflect.ValueOf(arg)
		if (v.Kind() == reflect.Slice || v.Kind() == reflect.Array) && v.Type().Elem().Kind() != reflect.Uint8 {
			shown[i] = list{v}
		}
	}
	return fmt.Sprintf(format, shown...)
}

// list is a slice as messages show it.
type list struct{ reflect.Value }

func (l list) Format(f fmt.State, verb rune) {
	format := fmt.FormatString(f, verb)
	fmt.Fprint(f, "[")
	for i := range l.Len() {
		if i > 0 {
			fmt.Fprint(f, ", ")
		}
		fmt.Fprint(f, Textf(format, l.Index(i).Interface()))
	}
	fmt.Fprint(f, "]")
}
