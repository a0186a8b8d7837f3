// Shared by both models in C: tensors that are freed together, and weights by name.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensor.h>

static void check(tensor_status status) {
  if (status == TENSOR_OK) return;
  fprintf(stderr, "%s\n", tensor_last_error());
  exit(1);
}

// Intermediate tensors of a pass, freed at its end.
static tensor_t *kept[256];
static int count;
static tensor_t *made;

static tensor_t *keep(tensor_status status) {
  check(status);
  return kept[count++] = made;
}

static void release(int from) {
  while (count > from) tensor_free(kept[--count]);
}

// The tensors of a safetensors file.
typedef struct {
  char **names;
  tensor_t **tensors;
  int64_t length;
} weights;

static weights load(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
  weights w;
  int64_t length;
  char *metadata = NULL;
  check(tensor_safetensors_load_file(path, NULL, 0, false, &w.names, &w.length, &w.tensors, &length,
                                     &metadata));
  tensor_string_free(metadata);
  return w;
}

static void unload(weights w) {
  tensor_string_list_free(w.names, w.length);
  tensor_list_free(w.tensors, w.length);
}

// A tensor by its name, which is formatted with printf's arguments.
static tensor_t *of(weights w, const char *format, ...) {
  char name[64];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(name, sizeof name, format, arguments);
  va_end(arguments);
  for (int64_t i = 0; i < w.length; i++)
    if (!strcmp(w.names[i], name)) return w.tensors[i];
  fprintf(stderr, "the file has no tensor %s\n", name);
  exit(1);
}

// Starts a file of results with the elements of a float32 tensor.
static FILE *begin(const char *folder, const char *name, const tensor_t *t) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  void *data = NULL;
  check(tensor_data_ptr(t, &data));
  if (!file ||
      fwrite(data, sizeof(float), (size_t)tensor_numel(t), file) != (size_t)tensor_numel(t)) {
    perror(path);
    exit(1);
  }
  return file;
}
