// Classifies images of letters with an exported program: classify LETTERS.pt2 IMAGES.npy. Prints
// the letter with the largest score for each image.
#include <stdio.h>
#include <tensor.h>

int main(int argc, char **argv) {
  tensor_program_t *program = NULL;
  tensor_value images = {.kind = TENSOR_VALUE_TENSOR}, scores;
  tensor_t *best = NULL;
  void *letters = NULL;
  if (argc != 3) return fprintf(stderr, "usage: classify LETTERS.pt2 IMAGES.npy\n"), 2;
  if (tensor_program_load(argv[1], &program) ||
      tensor_npy_load(argv[2], false, &images.as.tensor) ||
      tensor_program_run(program, &images, 1, &scores, 1) ||
      tensor_argmax(scores.as.tensor, 1, false, &best) || tensor_data_ptr(best, &letters))
    return fprintf(stderr, "%s\n", tensor_last_error()), 1;
  for (int64_t i = 0; i < tensor_numel(best); i++) putchar('A' + (int)((int64_t *)letters)[i]);
  putchar('\n');
  tensor_free(best);
  tensor_value_free(&images);
  tensor_value_free(&scores);
  return tensor_program_free(program);
}
