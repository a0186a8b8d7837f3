package dispatch

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/libtensor/libtensor/engine/ops"
	"github.com/libtensor/libtensor/engine/tensor"
)

// A layer that does the same with every operator, or the same with many, need not have a function for each: it is one function of boxed
// calls.

// Boxed processes a boxed call of such a layer.
type Boxed func(c Context, call *Call) error

// Call is an operator's call with its arguments as a list.
type Call struct {
	*Operator
	Args    []any // the address of each parameter, such as *(*tensor.Tensor) for a tensor; read again by whatever runs the call
	Results []any // that of each result

	signature *signature // nil for calls that are converted by reflection
}

// Run calls the operator with the current arguments.
func (x *Call) Run(c Context) error { return x.runFunction(c, x.whole) }

// Steps runs the composition that the operator is.
func (x *Call) Steps(c Context) error {
	return x.runFunction(c, reflect.ValueOf(x.steps).Elem().Field(backendFields()[x.method]).Interface())
}

// runFunction calls a function of the type of the dispatcher's method with the arguments of the call.
func (x *Call) runFunction(c Context, does any) error {
	if x.signature != nil {
		return x.signature.run(x, c, does)
	}
	return x.runByReflection(c, does)
}

func (x *Call) runByReflection(c Context, does any) error {
	given := make([]reflect.Value, 1, 1+len(x.Args))
	given[0] = reflect.ValueOf(c)
	for _, at := range x.Args {
		given = append(given, reflect.ValueOf(at).Elem())
	}
	made := reflect.ValueOf(does).Call(given)
	for i, at := range x.Results {
		reflect.ValueOf(at).Elem().Set(made[i])
	}
	err, _ := made[len(x.Results)].Interface().(error)
	return err
}

// Facts of an operator.
type Facts uint16

// The facts.
const (
	Elementwise Facts = 1 << iota
	View              // the results share the memory of the first tensor
	MaybeView         // they do so where they can
	Syncs             // the result, or whether the call succeeds, depends on elements
	Random
	Constant    // no gradient flows through it
	Linear      // in all tensors that have derivatives, at once
	Multilinear // linear in each of them, with the others constant
	Derived     // a composite operator with a derivative formula for the whole
	GradientRule
	AnyKind         // a call does not depend on the kinds of its tensors
	CUDAPartly      // CUDA devices support some calls
	CUDAUnsupported // CUDA devices support no call
)

// Operator describes an operator of the dispatcher.
type Operator struct {
	Name     string
	ids      string // the names of the operator and its aliases in the schema, such as max.dim, with a space between
	category uint8  // in categories
	names    string // of the parameters, with a space between
	Outs     int    // parameters before the entry's: tensors for the results, or nil
	writes   uint32 // by the place of a parameter
	dims     uint32 // parameters that are dimensions of the first tensor
	nameRule uint8  // in nameRules
	facts    Facts
	dtypes   uint32 // a bit for each dtype that it takes
	method   string // of the dispatcher, and the field of Backend
	whole    any    // the dispatcher's method: a function of a Context and the parameters that returns the results and an error
	steps    *Backend
}

// Category returns the section of the reference that the operator is in.
func (o *Operator) Category() string { return categories[o.category] }

// Names returns the rule for names of dimensions.
func (o *Operator) Names() string { return nameRules[o.nameRule] }

// boxFunction returns a function of the type of the dispatcher's method that boxes its arguments and calls does.
func (o *Operator) boxFunction(does Boxed) reflect.Value {
	if s := signatures[reflect.TypeOf(o.whole)]; s != nil {
		return reflect.ValueOf(s.box(o, does))
	}
	return o.boxByReflection(does)
}

func (o *Operator) boxByReflection(does Boxed) reflect.Value {
	of := reflect.TypeOf(o.whole)
	return reflect.MakeFunc(of, func(given []reflect.Value) []reflect.Value {
		call := &Call{Operator: o, Args: make([]any, 0, len(given)-1), Results: make([]any, 0, of.NumOut()-1)}
		for _, v := range given[1:] {
			at := reflect.New(v.Type())
			at.Elem().Set(v)
			call.Args = append(call.Args, at.Interface())
		}
		made := make([]reflect.Value, of.NumOut())
		for i := range made {
			at := reflect.New(of.Out(i))
			if made[i] = at.Elem(); i < len(made)-1 {
				call.Results = append(call.Results, at.Interface())
			}
		}
		if err := does(given[0].Interface().(Context), call); err != nil {
			made[len(made)-1].Set(reflect.ValueOf(err))
		}
		return made
	})
}

// Is reports whether the operator has a fact.
func (o *Operator) Is(f Facts) bool { return o.facts&f != 0 }

// Composed reports whether the operator is a composition of others.
func (o *Operator) Composed() bool { return o.steps != nil }

// Place returns that of a parameter among the arguments, -1 for none.
func (o *Operator) Place(name string) int {
	rest := o.names
	for i := 0; rest != ""; i++ {
		word, after, _ := strings.Cut(rest, " ")
		if word == name && i >= o.Outs {
			return i
		}
		rest = after
	}
	return -1
}

// Writes reports whether the operator writes to a parameter.
func (o *Operator) Writes(i int) bool { return o.writes&(1<<i) != 0 }

// IsDim reports whether a parameter is a dimension of the first tensor, or several.
func (o *Operator) IsDim(i int) bool { return o.dims&(1<<i) != 0 }

// Operators returns the operators that calls are boxed of.
func Operators() []Operator { return operators[:len(operators)-unboxed] }

// backendFields maps the names of Backend's fields to their indices.
var backendFields = sync.OnceValue(func() map[string]int {
	of := reflect.TypeFor[Backend]()
	places := make(map[string]int, of.NumField())
	for i := range of.NumField() {
		places[of.Field(i).Name] = i
	}
	return places
})

// BoxedBackend returns a Backend that routes every operator for which serves(o) is true to the boxed function does.
func BoxedBackend(does Boxed, serves func(o *Operator) bool) (b Backend) {
	backend, places := reflect.ValueOf(&b).Elem(), backendFields()
	for i := range Operators() {
		o := &operators[i]
		if !serves(o) {
			continue
		}
		backend.Field(places[o.method]).Set(o.boxFunction(does))
	}
	return b
}

// Value returns an argument.
func Value[T any](x *Call, i int) T { return *x.Args[i].(*T) }

// Given returns the argument with a name, if it has the type T, and otherwise the default.
func Given[T any](x *Call, name string, otherwise T) T {
	if i := x.Place(name); i >= 0 {
		if v, ok := x.Args[i].(*T); ok {
			return *v
		}
	}
	return otherwise
}

// First returns the place of the first tensor that is no output.
func (x *Call) First() int {
	for i := x.Outs; i < len(x.Args); i++ {
		if _, ok := x.Args[i].(**tensor.Tensor); ok {
			return i
		}
	}
	return -1
}

// Operands returns the tensors that are read, those of lists and indices among them; nil ones are left out.
func (x *Call) Operands() (all []*tensor.Tensor) {
	for _, v := range x.Args[x.Outs:] {
		all = appendTensors(all, v)
	}
	return all
}

// Tensors returns the operands and the outputs.
func (x *Call) Tensors() (all []*tensor.Tensor) {
	for _, v := range x.Args {
		all = appendTensors(all, v)
	}
	return all
}

// appendTensors appends the non-nil tensors of an argument.
func appendTensors(all []*tensor.Tensor, argument any) []*tensor.Tensor {
	switch v := argument.(type) {
	case **tensor.Tensor:
		if *v != nil {
			all = append(all, *v)
		}
	case *[]*tensor.Tensor:
		for _, t := range *v {
			if t != nil {
				all = append(all, t)
			}
		}
	case *[]ops.IndexItem:
		for i := range *v {
			if t := (*v)[i].Tensor; t != nil {
				all = append(all, t)
			}
		}
	}
	return all
}

// AnyTensor returns whether a condition holds for an operand or an output.
func (x *Call) AnyTensor(holds func(t *tensor.Tensor) bool) bool { return anyTensorIn(x.Args, holds) }

// AnyOperand returns whether a condition holds for an operand.
func (x *Call) AnyOperand(holds func(t *tensor.Tensor) bool) bool {
	return anyTensorIn(x.Args[x.Outs:], holds)
}

// anyTensorIn reports whether a condition holds for a tensor of the arguments. Unlike a list of the tensors, it allocates no memory.
func anyTensorIn(arguments []any, holds func(t *tensor.Tensor) bool) bool {
	for _, v := range arguments {
		switch v := v.(type) {
		case **tensor.Tensor:
			if *v != nil && holds(*v) {
				return true
			}
		case *[]*tensor.Tensor, *[]ops.IndexItem:
			if slices.ContainsFunc(appendTensors(nil, v), holds) {
				return true
			}
		}
	}
	return false
}

// Written returns the tensors that are written to.
func (x *Call) Written() (all []*tensor.Tensor) {
	for i, v := range x.Args {
		if x.Writes(i) {
			all = appendTensors(all, v)
		}
	}
	return all
}

// Replaced are the tensors of a call's arguments before Put. It allocates no memory for few tensors.
type Replaced struct {
	room  [4]replaced
	count int
	more  []replaced
	undo  []func() // of lists and indices
}

type replaced struct {
	at  **tensor.Tensor
	was *tensor.Tensor
}

// Restore puts the tensors back.
func (r *Replaced) Restore() {
	for _, one := range r.room[:r.count] {
		*one.at = one.was
	}
	for _, one := range r.more {
		*one.at = one.was
	}
	for _, f := range r.undo {
		f()
	}
}

// Put replaces the non-nil tensors of the arguments, including those in lists and indices, until Restore is called on the result. If change
// panics, those replaced so far are put back.
func (x *Call) Put(change func(i int, t *tensor.Tensor) *tensor.Tensor) (back Replaced) {
	finished := false
	defer func() {
		if !finished {
			back.Restore()
		}
	}()
	for i, v := range x.Args {
		switch v := v.(type) {
		case **tensor.Tensor:
			was := *v
			if was == nil {
				continue
			}
			*v = change(i, was)
			if back.count < len(back.room) {
				back.room[back.count] = replaced{v, was}
				back.count++
			} else {
				back.more = append(back.more, replaced{v, was})
			}
		case *[]*tensor.Tensor:
			was, changed := *v, slices.Clone(*v)
			for k, t := range changed {
				if t != nil {
					changed[k] = change(i, t)
				}
			}
			*v = changed
			back.undo = append(back.undo, func() { *v = was })
		case *[]ops.IndexItem:
			was, changed := *v, slices.Clone(*v)
			for k := range changed {
				if t := changed[k].Tensor; t != nil {
					changed[k].Tensor = change(i, t)
				}
			}
			*v = changed
			back.undo = append(back.undo, func() { *v = was })
		}
	}
	finished = true
	return back
}

// Replace puts another tensor in the place of one among the results.
func (x *Call) Replace(made, other *tensor.Tensor) {
	for _, v := range x.Results {
		switch v := v.(type) {
		case **tensor.Tensor:
			if *v == made {
				*v = other
			}
		case *[]*tensor.Tensor:
			for i, t := range *v {
				if t == made {
					(*v)[i] = other
				}
			}
		}
	}
}

// Made returns the tensors among the results, those of lists too.
func (x *Call) Made() (all []*tensor.Tensor) {
	for _, v := range x.Results {
		switch v := v.(type) {
		case **tensor.Tensor:
			all = append(all, *v)
		case *[]*tensor.Tensor:
			all = append(all, *v...)
		}
	}
	return all
}
