// The few lines that every C++ test uses.
#ifndef LIBTENSOR_TEST_CHECK_HPP
#define LIBTENSOR_TEST_CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../../include/tensor.hpp"

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

// The expression must throw an Error of this kind, with this text in it.
#define THROWS(expression, status, text)                                                           \
  do {                                                                                             \
    bool thrown = false;                                                                           \
    try {                                                                                          \
      static_cast<void>(expression);                                                               \
    } catch (const tensor::Error &error) {                                                         \
      thrown = true;                                                                               \
      if (error.kind() != (status) || std::string(error.what()).find(text) == std::string::npos) { \
        std::fprintf(stderr, "%s:%d: kind %d: %s\n", __FILE__, __LINE__, error.kind(),             \
                     error.what());                                                                \
        std::exit(1);                                                                              \
      }                                                                                            \
    }                                                                                              \
    CHECK(thrown);                                                                                 \
  } while (0)

template <class T>
bool has(const tensor::Tensor &t, const std::vector<int64_t> &sizes, const std::vector<T> &values) {
  return t.sizes() == sizes && t.dtype() == tensor::dtype_of<T>() && t.to_vector<T>() == values;
}

#endif
