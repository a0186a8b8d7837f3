// An environment, and the exception of a callback in it.
#include "addon.h"

lt_env *lt_get_env(napi_env env) {
  void *e = NULL;
  napi_get_instance_data(env, &e);
  return e;
}

napi_value lt_take_raised(napi_env env, napi_ref *raised) {
  napi_value array, error = NULL;
  if (!*raised) return NULL;
  if (napi_get_reference_value(env, *raised, &array) == napi_ok)
    napi_get_element(env, array, 0, &error);
  napi_delete_reference(env, *raised);
  *raised = NULL;
  return error;
}
