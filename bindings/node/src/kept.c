// JavaScript objects that the library keeps, and may release on any thread.
#include "addon.h"

static void open_letter(napi_env env, lt_letter *letter) {
  lt_kept *kept = (lt_kept *)letter;
  napi_delete_reference(env, kept->array);
  free(kept);
}

lt_kept *lt_keep(napi_env env, const napi_value *values, uint32_t count) {
  napi_value array;
  lt_kept *kept = calloc(1, sizeof *kept);
  if (!kept) {
    lt_throw_status(env, TENSOR_ERROR_MEMORY, "no memory for a function");
    return NULL;
  }
  bool made = lt_ok(env, napi_create_array_with_length(env, count, &array));
  for (uint32_t i = 0; made && i < count; i++)
    made = lt_ok(env, napi_set_element(env, array, i, values[i]));
  if (!made || !lt_ok(env, napi_create_reference(env, array, 1, &kept->array))) {
    free(kept);
    return NULL;
  }
  kept->e = lt_get_env(env);
  kept->letter.open = open_letter;
  lt_expect(kept->e->inbox, &kept->letter);
  return kept;
}

void lt_let_go(void *kept) { lt_post(kept); }

bool lt_kept_value(napi_env env, const lt_kept *kept, uint32_t at, napi_value *to) {
  napi_value array;
  return lt_ok(env, napi_get_reference_value(env, kept->array, &array)) &&
         lt_ok(env, napi_get_element(env, array, at, to));
}
