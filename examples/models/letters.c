// A convolutional network reads letters, in C: letters FOLDER. The same steps as letters.py; writes
// the scores to letters.c.bin.
#include "model.h"

enum { STAGES = 3 };

static tensor_t *scores(tensor_t *images, weights w) {
  const int64_t one = 1, two = 2, none = 0;
  tensor_t *x = images;
  for (int i = 1; i <= STAGES; i++) {
    x = keep(
        tensor_conv2d(x, of(w, "conv%d.weight", i), NULL, &one, 1, &one, 1, &one, 1, 1, &made));
    x = keep(tensor_nn_batch_norm(x, of(w, "bn%d.running_mean", i), of(w, "bn%d.running_var", i),
                                  of(w, "bn%d.weight", i), of(w, "bn%d.bias", i), false, 0.1, 1e-5,
                                  &made));
    x = keep(tensor_relu(x, &made));
    x = keep(tensor_max_pool2d(x, &two, 1, NULL, 0, &none, 1, &one, 1, false, &made));
  }
  x = keep(tensor_flatten(x, 1, -1, &made));
  return keep(tensor_nn_linear(x, of(w, "fc.weight"), of(w, "fc.bias"), &made));
}

int main(int argc, char **argv) {
  if (argc != 2 || !strcmp(argv[1], "--help")) {
    printf(
        "usage: letters FOLDER\nreads the images of held-out.safetensors with the weights of "
        "letters.safetensors\n");
    return argc == 2 ? 0 : 2;
  }
  const weights w = load(argv[1], "letters"), images = load(argv[1], "held-out");
  const tensor_t *result = scores(of(images, "images"), w);
  tensor_t *chosen = keep(tensor_argmax(result, 1, false, &made));
  tensor_t *hits = keep(tensor_eq(chosen, of(images, "letters"), &made));
  tensor_scalar right;
  check(tensor_item(keep(tensor_mean(hits, NULL, 0, false, TENSOR_FLOAT64, &made)), &right));
  printf("%.1f%% of %lld letters, in fonts that it has not seen, are read right\n",
         100 * right.value.f.re, (long long)tensor_sizes(result)[0]);
  fclose(begin(argv[1], "letters.c.bin", result));
  release(0);
  unload(w), unload(images);
}
