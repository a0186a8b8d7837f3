// A small network learns to read digits, in C: digits FOLDER. The same steps as digits.py; writes
// its numbers to c.bin.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensor.h>
#include <unistd.h>

enum { HIDDEN = 128, EPOCHS = 30, BATCH = 64, PARAMETERS = 4 };
static const double RATE = 0.1, MOMENTUM = 0.9, DECAY = 0.003;

static void check(tensor_status status) {
  if (status == TENSOR_OK) return;
  fprintf(stderr, "digits: %s\n", tensor_last_error());
  exit(1);
}

// Tensors are freed together: those of a step at its end, the others at the end of the job.
static tensor_t *kept[64];
static int count;
static tensor_t *made;

static tensor_t *keep(tensor_status status) {
  check(status);
  return kept[count++] = made;
}

static void release(int from) {
  while (count > from) tensor_free(kept[--count]);
}

static tensor_t *load(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.npy", folder, name);
  return keep(tensor_npy_load(path, false, &made));
}

static tensor_t *layer(const tensor_t *x, const tensor_t *weights, const tensor_t *bias) {
  tensor_t *product = keep(tensor_matmul(x, weights, &made));
  return keep(tensor_add(product, bias, tensor_int(1), &made));
}

static tensor_t *scores(const tensor_t *x, tensor_t *const *parameters) {
  tensor_t *first = layer(x, parameters[0], parameters[1]);
  tensor_t *hidden = keep(tensor_relu(first, &made));
  return layer(hidden, parameters[2], parameters[3]);
}

// The mean of the negative log softmax of the correct classes.
static tensor_t *cross_entropy(const tensor_t *given, const tensor_t *y) {
  const int64_t classes = 1;
  tensor_t *plain = keep(tensor_detach(given, &made));
  tensor_t *largest = keep(tensor_amax(plain, &classes, 1, true, &made));
  tensor_t *shifted = keep(tensor_sub(given, largest, tensor_int(1), &made));
  tensor_t *column = keep(tensor_unsqueeze(y, 1, &made));
  tensor_t *picked = keep(tensor_gather(shifted, 1, column, false, &made));
  tensor_t *right = keep(tensor_squeeze_dim(picked, 1, &made));
  tensor_t *exponentials = keep(tensor_exp(shifted, &made));
  tensor_t *sums = keep(tensor_sum(exponentials, &classes, 1, false, TENSOR_DTYPE_NONE, &made));
  tensor_t *logarithms = keep(tensor_log(sums, &made));
  tensor_t *each = keep(tensor_sub(logarithms, right, tensor_int(1), &made));
  return keep(tensor_mean(each, NULL, 0, false, TENSOR_DTYPE_NONE, &made));
}

static double number(const tensor_t *t) {
  tensor_scalar value;
  check(tensor_item(t, &value));
  return value.value.f.re;
}

static double step(const tensor_t *x, const tensor_t *y, const tensor_t *batch,
                   tensor_t *const *parameters, tensor_t *const *velocities) {
  const int before = count;
  tensor_t *some = keep(tensor_index_select(x, 0, batch, &made));
  tensor_t *wanted = keep(tensor_index_select(y, 0, batch, &made));
  const tensor_t *loss = cross_entropy(scores(some, parameters), wanted);
  check(tensor_backward(&loss, 1, NULL, 0, -1, false, NULL, 0));
  check(tensor_set_grad_enabled(false));
  tensor_t *gradients[PARAMETERS];
  for (int i = 0; i < PARAMETERS; i++) gradients[i] = keep(tensor_grad(parameters[i], &made));
  check(tensor_fused_sgd_((const tensor_t *const *)parameters, PARAMETERS,
                          (const tensor_t *const *)gradients, PARAMETERS,
                          (const tensor_t *const *)velocities, PARAMETERS, DECAY, MOMENTUM, RATE, 0,
                          false, false, false, NULL, NULL));
  for (int i = 0; i < PARAMETERS; i++) check(tensor_set_grad(parameters[i], NULL));
  check(tensor_set_grad_enabled(true));
  const double value = number(loss);
  release(before);
  return value;
}

static tensor_t *drawn(int64_t rows, int64_t columns, int64_t by) {
  const tensor_device cpu = tensor_device_default();
  tensor_t *numbers = keep(tensor_randn((int64_t[]){rows, columns}, 2, NULL, TENSOR_DTYPE_NONE,
                                        TENSOR_LAYOUT_NONE, cpu, &made));
  return keep(tensor_div_scalar(numbers, tensor_int(by), NULL, &made));
}

static tensor_t *zeros(int64_t n) {
  return keep(
      tensor_zeros(&n, 1, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE, tensor_device_default(), &made));
}

static void learn(const tensor_t *x, const tensor_t *y, tensor_t **parameters, double *losses) {
  const int64_t n = tensor_sizes(x)[0];
  tensor_t *velocities[PARAMETERS];
  check(tensor_manual_seed(0));
  parameters[0] = drawn(64, HIDDEN, 6), parameters[1] = zeros(HIDDEN);
  parameters[2] = drawn(HIDDEN, 10, 7), parameters[3] = zeros(10);
  for (int i = 0; i < PARAMETERS; i++) {
    check(tensor_set_requires_grad(parameters[i], true));
    velocities[i] = keep(tensor_zeros_like(parameters[i], TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE,
                                           tensor_device_default(), TENSOR_FORMAT_NONE, &made));
  }
  for (int epoch = 1; epoch <= EPOCHS; epoch++) {
    const int before = count;
    tensor_t *order = keep(tensor_randperm(n, NULL, TENSOR_DTYPE_NONE, TENSOR_LAYOUT_NONE,
                                           tensor_device_default(), &made));
    double total = 0;
    for (int64_t start = 0; start < n; start += BATCH) {
      const int64_t length = start + BATCH < n ? BATCH : n - start;
      tensor_t *batch = keep(tensor_narrow(order, 0, start, length, &made));
      total += step(x, y, batch, parameters, velocities) * (double)length;
      release(before + 1);
    }
    release(before);
    losses[epoch - 1] = total / (double)n;
    printf("epoch %2d  loss %.17g\n", epoch, losses[epoch - 1]);
    if (isatty(STDERR_FILENO)) {
      const int done = 30 * epoch / EPOCHS;
      fprintf(stderr, "\r[%.*s%*s] %d/%d%s", done, "##############################", 30 - done, "",
              epoch, EPOCHS, epoch < EPOCHS ? "" : "\n");
    }
  }
}

int main(int argc, char **argv) {
  if (argc != 2 || !strcmp(argv[1], "--help")) {
    printf(
        "usage: digits FOLDER\nlearns from train_x.npy and train_y.npy, and is tried with "
        "test_x.npy and test_y.npy\n");
    return argc == 2 ? 0 : 2;
  }
  tensor_t *x = load(argv[1], "train_x"), *y = load(argv[1], "train_y");
  tensor_t *test_x = load(argv[1], "test_x"), *test_y = load(argv[1], "test_y");
  tensor_t *parameters[PARAMETERS];
  double results[EPOCHS + 1];
  learn(x, y, parameters, results);

  check(tensor_set_grad_enabled(false));
  tensor_t *chosen = keep(tensor_argmax(scores(test_x, parameters), 1, false, &made));
  tensor_t *hits = keep(tensor_eq(chosen, test_y, &made));
  results[EPOCHS] = number(keep(tensor_mean(hits, NULL, 0, false, TENSOR_FLOAT64, &made)));
  printf("held-out accuracy %.17g\n", results[EPOCHS]);
  char path[4096];
  snprintf(path, sizeof path, "%s/c.bin", argv[1]);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(results, sizeof results, 1, file) != 1) {
    perror(path);
    return 1;
  }
  fclose(file);
  release(0);
  return 0;
}
