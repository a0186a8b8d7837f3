// The spectrogram in C: spectrogram OUTPUT_FOLDER. The same levels as spectrogram.py; writes them
// to c.bin.
#include <stdio.h>
#include <stdlib.h>
#include <tensor.h>

enum { RATE = 16000, SECONDS = 3, POINTS = 512, HOP = 128 };

static const double turn = 2 * 3.14159265358979323846;

static void check(tensor_status status) {
  if (status == TENSOR_OK) return;
  fprintf(stderr, "spectrogram: %s\n", tensor_last_error());
  exit(1);
}

// Tensors are freed together at the end of the job.
static tensor_t *kept[256];
static int count;

static tensor_t *keep(tensor_status status, tensor_t *const *result) {
  check(status);
  return kept[count++] = *result;
}

static tensor_t *r;

static tensor_t *times(const tensor_t *t, double by) {
  return keep(tensor_mul_scalar(t, tensor_float(by), &r), &r);
}
static tensor_t *product(const tensor_t *a, const tensor_t *b) {
  return keep(tensor_mul(a, b, &r), &r);
}
static tensor_t *sum(const tensor_t *a, const tensor_t *b) {
  return keep(tensor_add(a, b, tensor_int(1), &r), &r);
}
static tensor_t *less(const tensor_t *t, double by) {
  return keep(tensor_sub_scalar(t, tensor_float(by), tensor_int(1), &r), &r);
}
static tensor_t *over(const tensor_t *t, double by) {
  return keep(tensor_div_scalar(t, tensor_float(by), NULL, &r), &r);
}
static tensor_t *sine(const tensor_t *t) { return keep(tensor_sin(t, &r), &r); }

static tensor_t *synthesize(void) {
  tensor_t *position = keep(tensor_arange(tensor_int(RATE * SECONDS), TENSOR_FLOAT64,
                                          TENSOR_LAYOUT_NONE, tensor_device_default(), &r),
                            &r);
  tensor_t *time = over(position, RATE);
  tensor_t *sound =
      sum(times(sine(times(time, turn * 120)), 0.05), times(sine(times(time, turn * 240)), 0.03));
  const double starts[] = {0.3, 1.0, 1.7, 2.4};
  for (int i = 0; i < 4; i++) {
    tensor_t *since = less(time, starts[i]);
    tensor_t *square = keep(tensor_square(over(since, 0.12), &r), &r);
    tensor_t *swell = keep(tensor_exp(times(square, -1), &r), &r);
    tensor_t *wobble = times(times(sine(times(since, turn * 5)), 400 / (turn * 5)), 4);
    tensor_t *phase = times(sum(times(since, 3000), wobble), turn);
    sound = sum(sound, product(times(swell, 0.5), sine(phase)));
  }
  tensor_t *noise = times(sine(times(product(position, position), 12.9898)), 43758.5453);
  tensor_t *whole = keep(tensor_floor(noise, &r), &r);
  tensor_t *part = keep(tensor_sub(noise, whole, tensor_int(1), &r), &r);
  return sum(sound, times(less(part, 0.5), 0.005));
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: spectrogram OUTPUT_FOLDER\n");
    return 2;
  }
  tensor_t *window =
      keep(tensor_signal_windows_hann(POINTS, false, TENSOR_FLOAT64, TENSOR_LAYOUT_NONE,
                                      tensor_device_default(), &r),
           &r);
  tensor_t *spectra = keep(tensor_stft(synthesize(), POINTS, HOP, TENSOR_NONE, window, true,
                                       "reflect", false, -1, 1, -1, &r),
                           &r);
  tensor_t *sizes = keep(tensor_abs(spectra, &r), &r);
  tensor_t *bounded = keep(tensor_clamp_min_scalar(sizes, tensor_float(1e-4), &r), &r);
  tensor_t *levels = times(keep(tensor_log10(bounded, &r), &r), 20);
  tensor_t *whole = keep(tensor_contiguous(levels, TENSOR_CONTIGUOUS, &r), &r);

  char path[4096];
  snprintf(path, sizeof path, "%s/c.bin", argv[1]);
  FILE *file = fopen(path, "wb");
  void *data = NULL;
  check(tensor_data_ptr(whole, &data));
  if (!file || fwrite(data, sizeof(double), (size_t)tensor_numel(whole), file) == 0) {
    perror(path);
    return 1;
  }
  fclose(file);
  while (count) tensor_free(kept[--count]);
  return 0;
}
