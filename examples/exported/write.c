// Continues a text with an exported program: write PROSE.pt2 [TEXT]. Appends the letter with the
// largest score, LENGTH times.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensor.h>

enum { CONTEXT = 64, LENGTH = 240 };

// Returns the letter that follows the last ones of a text; -1 after an error.
static int next_letter(const tensor_program_t *program, const char *text, int64_t length) {
  int64_t letters[CONTEXT];
  const int64_t n = length < CONTEXT ? length : CONTEXT;
  for (int64_t i = 0; i < n; i++) letters[i] = text[length - n + i];
  tensor_value input = {.kind = TENSOR_VALUE_TENSOR}, scores = {.kind = TENSOR_VALUE_NONE};
  tensor_t *best = NULL;
  tensor_scalar letter = tensor_int(-1);
  const bool failed =
      tensor_from_data(letters, (int64_t[]){1, n}, 2, TENSOR_INT64, &input.as.tensor) ||
      tensor_program_run(program, &input, 1, &scores, 1) ||
      tensor_argmax(scores.as.tensor, 0, false, &best) || tensor_item(best, &letter);
  tensor_value_free(&input), tensor_value_free(&scores), tensor_free(best);
  return failed ? -1 : (int)letter.value.i;
}

int main(int argc, char **argv) {
  tensor_program_t *program = NULL;
  if (argc != 2 && argc != 3) return fprintf(stderr, "usage: write PROSE.pt2 [TEXT]\n"), 2;
  const char *begin = argc == 3 ? argv[2] : "A tensor ";
  const size_t length = strlen(begin);
  char *text = calloc(length + LENGTH + 1, 1);
  if (!text) return 1;
  memcpy(text, begin, length);
  int letter = tensor_program_load(argv[1], &program) ? -1 : 0;
  for (size_t i = length; i < length + LENGTH && letter >= 0; i++)
    if ((letter = next_letter(program, text, (int64_t)i)) >= 0) text[i] = (char)letter;
  if (letter < 0)
    fprintf(stderr, "%s\n", tensor_last_error());
  else
    puts(text);
  free(text);
  tensor_program_free(program);
  return letter < 0;
}
