// A transform of the calling thread: tensors in it represent one of many batch elements, each call
// is made once for all, and calls on wrapped tensors after its end are errors.
#include "check.h"

static const int64_t SIZES[] = {2, 3};

static void maps(void) {
  tensor_t *x = floats((float[]){1, 2, 3, 4, 5, 6}, SIZES, 2);
  tensor_t *one = NULL, *sum = NULL, *all = NULL, *row = NULL, *spread = NULL;
  int64_t level = 0, innermost = -1;
  bool mapped = false;
  char *randomness = NULL;
  OK(tensor_vmap_begin(2, "error", &level));
  OK(tensor_vmap_randomness(level, &randomness));
  CHECK(!strcmp(randomness, "error"));
  tensor_string_free(randomness);
  FAILS(tensor_vmap_randomness(level + 1, &randomness), TENSOR_ERROR_RUNTIME, "no vmap of level");
  OK(tensor_vmap_wrap(x, 0, level, &one));
  CHECK(tensor_dim(one) == 1 && tensor_numel(one) == 3);
  OK(tensor_vmap_level(one, &innermost));
  CHECK(innermost == level);
  OK(tensor_vmap_level(x, &innermost));
  CHECK(innermost == 0);
  OK(tensor_vmap_maps(one, level, &mapped));
  CHECK(mapped);
  OK(tensor_vmap_maps(x, level, &mapped));
  CHECK(!mapped);
  OK(tensor_sum(one, NULL, 0, false, TENSOR_DTYPE_NONE, &sum));
  CHECK(tensor_dim(sum) == 0);
  OK(tensor_vmap_unwrap(sum, 0, level, &all));
  CHECK(tensor_numel(all) == 2 && data_of(all)[0] == 6 && data_of(all)[1] == 15);

  // An unbatched tensor cannot be the output of a batched operand.
  row = floats((float[]){1, 1, 1}, SIZES + 1, 1);
  FAILS(tensor_add_(row, one, tensor_int(1)), TENSOR_ERROR_RUNTIME, "has more elements than");
  OK(tensor_vmap_spread(row, &spread));
  OK(tensor_vmap_maps(spread, level, &mapped));
  CHECK(mapped && tensor_dim(spread) == 1);

  OK(tensor_vmap_end(level));
  OK(tensor_free(sum));
  sum = NULL;
  FAILS(tensor_sum(one, NULL, 0, false, TENSOR_DTYPE_NONE, &sum), TENSOR_ERROR_RUNTIME, "escaped");
  FAILS(tensor_vmap_end(level), TENSOR_ERROR_RUNTIME, "no vmap of level");
  CHECK(tensor_vmap_wrap(x, 0, level, &sum) != TENSOR_OK);
  OK(tensor_vmap_begin(2, "error", &level));
  FAILS(tensor_vmap_wrap(x, 5, level, &sum), TENSOR_ERROR_INDEX, "vmap_wrap: ");
  OK(tensor_vmap_end(level));
  CHECK(tensor_vmap_begin(-1, "error", &level) != TENSOR_OK &&
        tensor_vmap_begin(2, "some", &level) != TENSOR_OK);
  tensor_t *const made[] = {x, one, all, row, spread};
  for (int i = 0; i < 5; i++) OK(tensor_free(made[i]));
}

// The mode of a thread can be saved and restored.
static void leaves(void) {
  int64_t before = -1, outer = 0, inner = 0, now = 0;
  OK(tensor_transform_level(&before));
  CHECK(before == 0);
  OK(tensor_vmap_begin(2, "error", &outer));
  OK(tensor_transform_level(&now));
  CHECK(now == outer);
  for (int i = 0; i < 3; i++)
    OK(i % 2 ? tensor_jvp_begin(&inner) : tensor_vmap_begin(3, "same", &inner));
  OK(tensor_transform_leave(outer));
  OK(tensor_transform_leave(outer));
  OK(tensor_transform_level(&now));
  CHECK(now == outer);
  FAILS(tensor_vmap_end(inner), TENSOR_ERROR_RUNTIME, "no vmap of level");
  FAILS(tensor_transform_leave(inner), TENSOR_ERROR_RUNTIME, "no transform of level");
  OK(tensor_transform_leave(0));
  OK(tensor_transform_level(&now));
  CHECK(now == 0);
  FAILS(tensor_vmap_end(outer), TENSOR_ERROR_RUNTIME, "no vmap of level");
}

// The end of a transform is that of those inside it.
static void ends(void) {
  int64_t outer = 0, inner = 0, now = -1;
  tensor_t *x = floats((float[]){1, 2}, SIZES, 1), *one = NULL, *made = NULL;
  OK(tensor_jvp_begin(&outer));
  OK(tensor_vmap_begin(2, "error", &inner));
  OK(tensor_vmap_wrap(x, 0, inner, &one));
  OK(tensor_jvp_end(outer));
  OK(tensor_transform_level(&now));
  CHECK(now == 0);
  FAILS(tensor_mul(one, one, &made), TENSOR_ERROR_RUNTIME, "escaped");
  FAILS(tensor_vmap_end(inner), TENSOR_ERROR_RUNTIME, "no vmap of level");
  OK(tensor_transform_leave(0));
  OK(tensor_free(one));
  OK(tensor_free(x));
}

// Examples that there is no memory for are rejected before the first is computed.
static void many(void) {
  int64_t level = 0;
  tensor_t *made = NULL;
  OK(tensor_vmap_begin(INT64_MAX, "different", &level));
  FAILS(
      tensor_randn(SIZES, 1, NULL, TENSOR_FLOAT32, TENSOR_STRIDED, tensor_device_default(), &made),
      TENSOR_ERROR_RUNTIME, "more elements than");
  OK(tensor_vmap_end(level));
}

// The product of the Jacobian of x * x with a tangent, and the second derivative, by a level inside
// another one.
static void pushes(void) {
  tensor_t *x = floats((float[]){1, 2, 3}, SIZES + 1, 1),
           *t = floats((float[]){1, 0, 2}, SIZES + 1, 1);
  tensor_t *inner = NULL, *outer = NULL, *square = NULL, *slope = NULL, *value = NULL,
           *second = NULL, *none = NULL, *whole = NULL, *leaf = NULL, *plain = NULL, *fresh = NULL;
  int64_t around = 0, level = 0, of = 0;
  bool wanted = false;
  OK(tensor_jvp_begin(&around));
  OK(tensor_jvp_wrap(x, t, around, &outer));
  OK(tensor_jvp_begin(&level));
  OK(tensor_jvp_wrap(outer, t, level, &inner));
  OK(tensor_jvp_level(inner, &of));
  CHECK(of == level);
  OK(tensor_mul(inner, inner, &square));
  OK(tensor_jvp_tangent(square, level, &slope));
  OK(tensor_jvp_tangent(x, level, &none));
  CHECK(!none);
  OK(tensor_jvp_end(level));
  OK(tensor_jvp_level(slope, &of));
  CHECK(of == around);
  OK(tensor_jvp_primal(slope, around, &value));
  CHECK(data_of(value)[0] == 2 && data_of(value)[1] == 0 && data_of(value)[2] == 12);
  OK(tensor_jvp_tangent(slope, around, &second));
  CHECK(data_of(second)[0] == 2 && data_of(second)[1] == 0 && data_of(second)[2] == 8);

  // A tensor that is written in place from one with a tangent has a tangent.
  fresh = floats((float[]){0, 0, 0}, SIZES + 1, 1);
  OK(tensor_add_(fresh, outer, tensor_int(1)));
  OK(tensor_free(second));
  OK(tensor_jvp_tangent(fresh, around, &second));
  CHECK(data_of(second)[0] == 1 && data_of(second)[2] == 2);
  // An input of reverse mode keeps its tangent, and after the transform its autograd graph, too.
  OK(tensor_jvp_input(outer, false, &leaf));
  OK(tensor_requires_grad(leaf, &wanted));
  CHECK(wanted);
  OK(tensor_jvp_detach(leaf, &plain));
  OK(tensor_jvp_level(plain, &of));
  OK(tensor_requires_grad(plain, &wanted));
  CHECK(of == around && !wanted);
  FAILS(tensor_jvp_wrap(t, value, level, &none), TENSOR_ERROR_RUNTIME, "no jvp of level");
  FAILS(tensor_vmap_end(around), TENSOR_ERROR_RUNTIME, "no vmap of level");
  OK(tensor_jvp_end(around));
  FAILS(tensor_jvp_end(around), TENSOR_ERROR_RUNTIME, "no jvp of level");

  // After the end of a level, a wrapped tensor is its primal.
  OK(tensor_mul(square, inner, &whole));
  OK(tensor_jvp_level(whole, &of));
  CHECK(of == 0 && data_of(whole)[2] == 27);
  tensor_t *const made[] = {x,     t,      inner, outer, square, slope,
                            value, second, whole, leaf,  plain,  fresh};
  for (int i = 0; i < 12; i++) OK(tensor_free(made[i]));
}

int main(void) {
  maps();
  leaves();
  ends();
  many();
  pushes();
  CHECK(tensor_live_handles() == 0);
  return 0;
}
