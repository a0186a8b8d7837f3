// The calls of the library that the package makes: each returns the message of its error, which the
// caller frees, so that goroutines need no thread for the library's last error.
#ifndef LIBTENSOR_GO_PROGRAM_LIBRARY_H
#define LIBTENSOR_GO_PROGRAM_LIBRARY_H

#include <tensor.h>

typedef struct outcome {
  tensor_status status;
  char *message;
} outcome;

outcome start_library(void);
outcome load_file(const char *path, tensor_program_t **out);
outcome load_bytes(const void *data, int64_t length, tensor_program_t **out);
// Runs a program; with a state the run records gradients.
outcome run_program(const tensor_program_t *program, tensor_t **state, int32_t state_count,
                    const tensor_value *inputs, int32_t n, tensor_value *outputs, int32_t m);
// Stores a tensor of the state, which requires grad if the export's did.
outcome state_tensor(const tensor_program_t *program, int32_t index, bool requires_grad,
                     tensor_t **out);
outcome backward_of(const tensor_t *tensor, const tensor_t *gradient);
outcome gradient_of(const tensor_t *tensor, tensor_t **out);
outcome require_gradient(const tensor_t *tensor, bool requires_grad);
outcome tensor_of(const void *data, const int64_t *sizes, int64_t dims, tensor_dtype dtype,
                  tensor_t **out);
// Stores a contiguous tensor on the CPU with the elements of another one, and their address.
outcome elements_of(const tensor_t *tensor, tensor_t **out, void **data);

// Values of the union, which Go represents as bytes.
void set_tensor(tensor_value *to, tensor_t *tensor);
void set_int(tensor_value *to, int64_t i);
void set_float(tensor_value *to, double f);
void set_bool(tensor_value *to, bool b);
void set_string(tensor_value *to, const char *string);
tensor_t *get_tensor(const tensor_value *value);
int64_t get_int(const tensor_value *value);
double get_float(const tensor_value *value);
bool get_bool(const tensor_value *value);
const char *get_string(const tensor_value *value);

#endif
