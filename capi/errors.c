#include "errors.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "restart.h"
#include "table.h"

// The message is on the heap: Go's runtime makes the library's thread-local storage static, and a
// library that is loaded late gets only a few hundred bytes of that.
enum { LT_MESSAGE_BYTES = 4096 };
static _Thread_local char *message;
static _Thread_local int32_t error_number;
LT_KEPT static pthread_key_t message_key;

// Calls that other destructors of the ending thread make find no message, and make another.
static void free_message(void *text) {
  message = NULL;
  free(text);
}

__attribute__((constructor)) static void create_key(void) {
  if (!pthread_key_create(&message_key, free_message)) lt_keep_key(message_key);
}

void lt_set_error(const char *format, ...) {
  error_number = 0;
  if (!message) {
    if (!(message = malloc(LT_MESSAGE_BYTES))) return;
    pthread_setspecific(message_key, message);
  }
  va_list values;
  va_start(values, format);
  vsnprintf(message, LT_MESSAGE_BYTES, format, values);
  va_end(values);
}

void lt_fail(int32_t number, const char *text) {
  lt_set_error("%s", text);
  lt_unpin();
  error_number = number;
}

tensor_status lt_reject(tensor_status status, const char *format, ...) {
  char text[512];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  lt_fail(0, text);
  return status;
}

TENSOR_API const char *tensor_last_error(void) { return message ? message : ""; }

TENSOR_API void tensor_set_last_error(const char *text) {
  if (text) lt_set_error("%s", text);
}

TENSOR_API int32_t tensor_last_errno(void) { return error_number; }
