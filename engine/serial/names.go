// Package serial saves tensors, and containers of them, in PyTorch's own file format, and loads them: a zip archive with a pickle, which
// describes the objects, and one record for the bytes of each storage. Loading executes nothing: the pickle is read as data, and only the
// names listed in this file are accepted.
//
// The containers cross the C boundary as JSON, in which tensors are indices into a separate list:
//
//	null, true, 1, 2.5, "text"         numbers with a point or an exponent are floats
//	{"text": "base64"}                 text with lone surrogates, in UTF-8 that encodes these like other code points
//	{"int": "12345678901234567890"}    integers that JavaScript would round
//	{"float": "nan"}                   nan, inf, -inf
//	{"complex": [re, im]}
//	{"bytes": "base64"}                also bytearray
//	[...]                              a list
//	{"tuple": [...]}, {"set": [...]}
//	{"size": [2, 3]}
//	{"dict": [[key, value], ...]}      also counter, and ordered_dict, then maybe with "state"
//	{"tensor": i}                      tensor i; loaded ones have a "location" when it was not the CPU; maybe with "parameter", whether that
//	                                   requires grad, and "state", a dict of attributes
//	{"storage": i}                     the storage of tensor i, which views it as bytes
//	{"typed_storage": i}               the storage of tensor i, with that tensor's dtype
//	{"dtype": "float32"}, {"device": "cpu"}, {"layout": "strided"}
//	{"def": n, "value": v}             v, which later occurrences refer to as {"ref": n}
package serial

import (
	"regexp"
	"slices"
	"strings"

	"github.com/libtensor/libtensor/engine/dtype"
	"github.com/libtensor/libtensor/engine/serial/pickle"
	"github.com/libtensor/libtensor/engine/status"
	"github.com/libtensor/libtensor/engine/tensor"
)

func newUtilsGlobal(name string) pickle.Global {
	return pickle.Global{Module: "torch._utils", Name: name}
}

// The names that occur in files.
var (
	rebuildTensor    = newUtilsGlobal("_rebuild_tensor")
	rebuildTensorV2  = newUtilsGlobal("_rebuild_tensor_v2")
	rebuildTensorV3  = newUtilsGlobal("_rebuild_tensor_v3")
	rebuildMeta      = newUtilsGlobal("_rebuild_meta_tensor_no_storage")
	rebuildSparse    = newUtilsGlobal("_rebuild_sparse_tensor")
	rebuildQuantized = newUtilsGlobal("_rebuild_qtensor")
	rebuildParameter = newUtilsGlobal("_rebuild_parameter")
	rebuildStateful  = newUtilsGlobal("_rebuild_parameter_with_state")
	rebuildFromType  = pickle.Global{Module: "torch._tensor", Name: "_rebuild_from_type_v2"} // of a tensor with attributes
	tensorClass      = pickle.Global{Module: "torch", Name: "Tensor"}
	untypedStorage   = pickle.Global{Module: "torch.storage", Name: "UntypedStorage"}
	orderedDict      = pickle.Global{Module: "collections", Name: "OrderedDict"}
	counter          = pickle.Global{Module: "collections", Name: "Counter"}
	torchSize        = pickle.Global{Module: "torch", Name: "Size"}
	torchDevice      = pickle.Global{Module: "torch", Name: "device"}
	getLayout        = pickle.Global{Module: "torch.serialization", Name: "_get_layout"}
	codecsEncode     = pickle.Global{Module: "_codecs", Name: "encode"}
	builtinComplex   = pickle.Global{Module: "__builtin__", Name: "complex"}
	builtinSet       = pickle.Global{Module: "__builtin__", Name: "set"}
	builtinBytes     = pickle.Global{Module: "__builtin__", Name: "bytes"} // of nothing, when there are none
	builtinBytearray = pickle.Global{Module: "__builtin__", Name: "bytearray"}
)

// storageClass returns the name of a storage class, without a dtype the untyped one's.
func storageClass(d dtype.DType) pickle.Global {
	if name := d.StorageClass(); name != "" {
		return pickle.Global{Module: "torch", Name: name}
	}
	return untypedStorage
}

// classDTypes are the dtypes of the storage classes, None for the untyped one.
var classDTypes = func() map[pickle.Global]dtype.DType {
	m := map[pickle.Global]dtype.DType{untypedStorage: dtype.None}
	for _, d := range dtype.Named() {
		name := d.StorageClass()
		if name == "" {
			continue
		}
		m[pickle.Global{Module: "torch", Name: name}] = d
		m[pickle.Global{Module: "torch.cuda", Name: name}] = d
	}
	return m
}()

// layouts are those of tensor_layout, in its order.
var layouts = func() (names []string) {
	for l := tensor.Strided; l <= tensor.BSC; l++ {
		names = append(names, l.String())
	}
	return names
}()

func dtypeName(d dtype.DType) pickle.Global { return pickle.Global{Module: "torch", Name: d.String()} }

// dtypeOf returns the dtype that a value names.
func dtypeOf(value any) (dtype.DType, bool) {
	g, ok := value.(pickle.Global)
	if !ok || g.Module != "torch" {
		return dtype.None, false
	}
	d, ok := parseDType(g.Name)
	return d, ok && d.String() == g.Name
}

// parseDType finds a dtype by its name, also those of quantized tensors, which are no dtypes of other tensors.
func parseDType(name string) (dtype.DType, bool) {
	for _, d := range []dtype.DType{dtype.QUint8, dtype.QInt8, dtype.QInt32} {
		if d.String() == name {
			return d, true
		}
	}
	return dtype.Parse(name)
}

// tensorMakers are the functions that create a tensor from a storage, from nothing or from other tensors.
var tensorMakers = []pickle.Global{rebuildTensor, rebuildTensorV2, rebuildTensorV3, rebuildMeta, rebuildSparse, rebuildQuantized}

var allowedFunctions = []pickle.Global{
	rebuildTensor, rebuildTensorV2, rebuildTensorV3, rebuildMeta, rebuildSparse, rebuildQuantized, rebuildParameter, rebuildStateful,
	rebuildFromType, tensorClass, orderedDict, counter,
	perTensor, perChannel,
	torchSize, torchDevice, getLayout, codecsEncode, builtinComplex, builtinSet, builtinBytes, builtinBytearray,
}

// canonicalizeName replaces Python 3's name of a builtin by that of protocol 2.
func canonicalizeName(g pickle.Global) pickle.Global {
	g.Module = strings.Replace(g.Module, "builtins", "__builtin__", 1)
	return g
}

// checkName returns an error for names that files must not refer to.
func checkName(op string, g pickle.Global) error {
	if _, isClass := classDTypes[g]; isClass || slices.Contains(allowedFunctions, canonicalizeName(g)) {
		return nil
	}
	if _, isDType := dtypeOf(g); isDType {
		return nil
	}
	if g.Module == "torch" && unsupportedDType.MatchString(g.Name) {
		return status.NotImplementedf("%s: the file has the dtype %v, which libtensor does not have; convert the tensor before saving", op, g)
	}
	if what, ok := unsupportedTensors[g]; ok {
		return status.NotImplementedf("%s: the file has %s (%v), which libtensor does not have; convert it to a plain tensor before saving", op,
			what, g)
	}
	return status.Runtimef("%s: the file refers to %v, which is not allowed: only the names that tensors, storages and plain containers use are",
		op, g)
}

// unsupportedDType matches the dtypes that only PyTorch has.
var unsupportedDType = regexp.MustCompile(`^(q?u?int|b?float|bits|complex)[0-9]`)

// unsupportedTensors are functions that create tensors that only PyTorch has.
var unsupportedTensors = map[pickle.Global]string{
	newUtilsGlobal("_rebuild_nested_tensor"):                 "a nested tensor",
	newUtilsGlobal("_rebuild_wrapper_subclass"):              "a tensor of a subclass",
	newUtilsGlobal("_rebuild_device_tensor_from_numpy"):      "a tensor of another device",
	newUtilsGlobal("_rebuild_device_tensor_from_cpu_tensor"): "a tensor of another device",
}

// maxDepth is the largest nesting depth of values: 200 containers, and a value in the innermost.
const maxDepth = 201
