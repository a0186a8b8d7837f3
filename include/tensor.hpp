// libtensor for C++17: a header-only wrapper of tensor.h with RAII handles, exceptions, operators
// and containers. Programs link the same library as C programs.
//
//   auto x = tensor::from({{1.f, 2.f}, {3.f, 4.f}});
//   auto y = (x.matmul(x.t()) + 1).sum(0);
//   std::cout << y << y[0].item<float>();
//
// Tensor: a reference-counted handle, as in Python. Copies refer to the same tensor, so x.add_(1)
//   changes all of them. Copying and moving never fail and copy no elements; the last copy frees
//   the tensor. A default-constructed or moved-from Tensor is empty: calls with it throw an error
//   that names the argument.
//
// Errors: functions that fail throw tensor::Error, with the status in kind() and the message of
//   tensor_last_error() in what(). The arguments are unchanged.
//
// Operators: each is a function tensor::NAME, with dotted names in namespaces
//   (tensor::linalg::norm), and a method if it is one in Python. NAME_ works in place, and
//   NAME_out(out, ...) writes to an existing tensor. docs/operators documents them. Arguments have
//   the order of the documentation, with a generator last; trailing arguments with defaults can be
//   omitted.
//   Overloads that C++ cannot distinguish have the names of C: squeeze_dims, split_sizes,
//   conv2d_padding (with padding "same" or "valid"). + - * / % & | ^ ~ << >> and comparisons are
//   elementwise; the result of % has the sign of the divisor, as in Python.
//
// Arguments: the dtype, layout and device of a new tensor are passed as Options, or as one of the
//   three. Integer parameters accept only integers, scalars no enumerators, flags only bool. Lists
//   are braced lists or any container with a size; lists of numbers can also be one number:
//   x.sum(0), x.sum({0, 1}). {} omits an optional list. Strings must not contain NUL characters.
//   std::nullopt or {} is ambiguous if two overloads have optionals of different types there: write
//   std::optional<double>(). Several results are a struct: auto [values, indices] = x.max(0).
//
// Views: x[0] and x(0, slice(1, 3)). Assignment to a view does not compile: write x[0].copy_(y), or
//   x.set({0, slice(1, 3)}, y), which also accepts masks and index tensors.
//
// Callbacks: custom operators (Operator), Interrupt, Observer, Allocator and parallel_for take any
//   callable. They and hooks may throw: no exception crosses the C functions; the call that invoked
//   the callback throws it again as a tensor::Error with its message. An Interrupt's exception is
//   rethrown unchanged, an Observer's by stop(), and an Allocator's becomes TENSOR_ERROR_MEMORY.
//
// Threads: as in tensor.h. A Tensor object is like a shared_ptr: each thread needs its own copy.
#ifndef LIBTENSOR_TENSOR_HPP
#define LIBTENSOR_TENSOR_HPP

#if __cplusplus < 201703L
#error "tensor.hpp is for C++17 and newer: compile with -std=c++17"
#else

#include "tensor/types.hpp"
#include "tensor/handle.hpp"
#include "tensor/gen_methods.hpp"
#include "tensor/class.hpp"
#include "tensor/gen_operators.hpp"
#include "tensor/call.hpp"
#include "tensor/program.hpp"
#include "tensor/data.hpp"
#include "tensor/gradients.hpp"
#include "tensor/hooks.hpp"
#include "tensor/custom.hpp"

#endif

#endif
