// Tensors on a stream of C's.
#include <errno.h>
#include <string.h>

#include "export.h"

TENSOR_API tensor_status tensor_print(const tensor_t *self, FILE *stream) {
  if (!lt_check_pointer(stream, "print", "stream")) return TENSOR_ERROR_VALUE;
  // The defaults of the operator's schema.
  enum { PRECISION = 4, THRESHOLD = 1000, EDGEITEMS = 3, LINEWIDTH = 80, AS_NEEDED = -1 };
  char *text = NULL, message[512];
  const tensor_status status =
      tensor_to_string(self, PRECISION, THRESHOLD, EDGEITEMS, LINEWIDTH, AS_NEEDED, &text);
  if (status != TENSOR_OK) {
    const char *error = tensor_last_error(), *inner = "to_string";
    const _Bool named = strncmp(error, inner, strlen(inner)) == 0;
    snprintf(message, sizeof message, "print%s%s", named ? "" : ": ",
             named ? error + strlen(inner) : error);
    lt_fail(tensor_last_errno(), message);
    return status;
  }
  errno = 0;
  const _Bool written = fputs(text, stream) >= 0 && fputc('\n', stream) != EOF;
  const int why = errno;
  tensor_string_free(text);
  if (written) return TENSOR_OK;
  snprintf(message, sizeof message, "print: the stream cannot be written: %s",
           why ? strerror(why) : "it is not open for writing");
  lt_fail(why, message);
  return TENSOR_ERROR_IO;
}
