// libtensor for C++17: tensor.h with handles that free themselves, exceptions, operators and
// containers. Headers alone; link what C links.
//
//   auto x = tensor::from({{1.f, 2.f}, {3.f, 4.f}});
//   auto y = (x.matmul(x.t()) + 1).sum(0);
//   std::cout << y << y[0].item<float>();
//
// Tensor: a handle, as in Python. Copies are the same tensor, and x.add_(1) is seen through all of
//   them. Copying and moving never fail and copy no elements; the last copy frees. A default-made
//   or moved-from Tensor is none: calls refuse it and name the argument.
//
// Errors: what fails throws tensor::Error, with the status as kind() and the text of
//   tensor_last_error(). Arguments are then as before.
//
// Operators: every one is a function tensor::NAME, of dotted names in namespaces
//   (tensor::linalg::norm), and a method where Python has one. NAME_ works in place, NAME_out(out,
//   ...) writes to an existing tensor. docs/operators has them. Arguments come in its
//   order, a generator last; those with defaults may be left out from the right. Overloads that
//   arguments would not tell apart have the names of C: squeeze_dims, split_sizes, conv2d_padding
//   (whose padding is "same" or "valid"). + - * / % & | ^ ~ << >> and comparisons are element by
//   element; % is Python's, of the divisor's sign.
//
// Arguments: the dtype, layout and device of a new tensor are one Options, or any of the three.
//   Integers are taken from integers alone, numbers from no constants of enumerations, and flags
//   from bool. Lists are braces or any container with a size, and those of numbers one number too:
//   x.sum(0), x.sum({0, 1}). {} leaves an optional list out. Texts must not have NUL characters.
//   std::nullopt or {} in a place where two overloads have an optional of another type needs its
//   type: std::optional<double>(). Several results are a struct: auto [values, indices] = x.max(0).
//
// Views: x[0] and x(0, slice(1, 3)), to which nothing can be assigned by mistake: write
//   x[0].copy_(y), or x.set({0, slice(1, 3)}, y), which takes masks and index tensors too.
//
// Threads: what tensor.h says. A Tensor object is like a shared_ptr: two threads need two copies.
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
#include "tensor/data.hpp"
#include "tensor/gradients.hpp"

#endif

#endif
