// The photo job in C: photo PHOTO.ppm OUTPUT_FOLDER. The same steps as photo.py; writes their
// numbers to c.bin.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensor.h>

static void check(tensor_status status) {
  if (status == TENSOR_OK) return;
  fprintf(stderr, "photo: %s\n", tensor_last_error());
  exit(1);
}

// Tensors are freed together at the end of the job.
static tensor_t *kept[64];
static int count;

static tensor_t *keep(tensor_status status, tensor_t *const *result) {
  check(status);
  return kept[count++] = *result;
}

static tensor_t *read_ppm(const char *path) {
  FILE *file = fopen(path, "rb");
  int width, height;
  if (!file || fscanf(file, "P6 %d %d 255", &width, &height) != 2 || fgetc(file) == EOF) {
    fprintf(stderr, "photo: %s is not a binary PPM file with 255 levels\n", path);
    exit(1);
  }
  size_t n = (size_t)width * height * 3;
  void *pixels = malloc(n);
  if (!pixels || fread(pixels, 1, n, file) != n) {
    fprintf(stderr, "photo: %s is cut short\n", path);
    exit(1);
  }
  fclose(file);
  tensor_t *t = NULL;
  // The tensor takes the pixels over and frees them.
  return keep(tensor_from_blob(pixels, (int64_t)n, TENSOR_UINT8, (int64_t[]){height, width, 3}, 3,
                               NULL, 0, free, pixels, false, &t),
              &t);
}

static void write_all(FILE *file, const tensor_t *t) {
  tensor_t *whole = NULL;
  void *data = NULL;
  check(tensor_contiguous(t, TENSOR_CONTIGUOUS, &whole));
  check(tensor_data_ptr(whole, &data));
  fwrite(data, (size_t)tensor_dtype_size(tensor_get_dtype(whole)), (size_t)tensor_numel(whole),
         file);
  tensor_free(whole);
}

static tensor_index range(int64_t start, int64_t stop, int64_t step) {
  return (tensor_index){TENSOR_INDEX_SLICE, NULL, start, stop, step};
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: photo PHOTO.ppm OUTPUT_FOLDER\n");
    return 2;
  }
  tensor_t *r = NULL;
  const tensor_device same = tensor_device_default();
  const int64_t channels = -3, area[] = {1, 2}, zero = 0;
  tensor_t *pixels = read_ppm(argv[1]);

  // [rows, columns, channels] of bytes to [channels, rows, columns] of floats
  tensor_t *planes = keep(tensor_permute(pixels, (int64_t[]){2, 0, 1}, 3, &r), &r);
  tensor_t *floats = keep(tensor_to_options(planes, TENSOR_FLOAT32, TENSOR_LAYOUT_NONE, same, false,
                                            false, TENSOR_FORMAT_NONE, &r),
                          &r);
  tensor_t *image = keep(tensor_div_scalar(floats, tensor_int(255), NULL, &r), &r);
  tensor_t *negative = keep(tensor_rsub_scalar(image, tensor_int(1), tensor_int(1), &r), &r);
  const tensor_t *pair[] = {image, negative};
  tensor_t *batch = keep(tensor_stack(pair, 2, 0, &r), &r);

  tensor_t *grey_mean = keep(tensor_mean(batch, &channels, 1, false, TENSOR_DTYPE_NONE, &r), &r);
  const float red_weights[] = {0.9f, 0.1f, 0}, blue_weights[] = {0, 0.2f, 0.8f};
  const int64_t three = 3;
  tensor_t *weights = keep(tensor_from_data(red_weights, &three, 1, TENSOR_FLOAT32, &r), &r);
  tensor_t *blues = keep(tensor_from_data(blue_weights, &three, 1, TENSOR_FLOAT32, &r), &r);
  tensor_t *unsqueezed = keep(tensor_unsqueeze(weights, -1, &r), &r);
  check(tensor_unsqueeze_(unsqueezed, -1));
  tensor_t *weighted = keep(tensor_mul(batch, unsqueezed, &r), &r);
  tensor_t *red_filter = keep(tensor_sum(weighted, &channels, 1, false, TENSOR_DTYPE_NONE, &r), &r);
  const tensor_t *operands[] = {batch, blues};
  tensor_t *blue_filter = keep(tensor_einsum("...chw,c->...hw", operands, 2, &r), &r);

  int64_t height = tensor_sizes(image)[1], width = tensor_sizes(image)[2];
  tensor_index middle[] = {range(TENSOR_NONE, TENSOR_NONE, TENSOR_NONE),
                           range(height / 4, -(height / 4), TENSOR_NONE),
                           range(width / 4, -(width / 4), TENSOR_NONE)};
  tensor_t *crop = keep(tensor_index_get(image, middle, 3, &r), &r);
  tensor_t *cropped = keep(tensor_contiguous(crop, TENSOR_CONTIGUOUS, &r), &r);
  tensor_t *mean = keep(tensor_mean(image, area, 2, false, TENSOR_DTYPE_NONE, &r), &r);
  tensor_t *std = keep(tensor_std_dim(image, area, 2, true, false, &r), &r);
  tensor_t *low = keep(tensor_amin(image, area, 2, false, &r), &r);
  tensor_t *high = keep(tensor_amax(image, area, 2, false, &r), &r);
  const tensor_t *rows[] = {mean, std, low, high};
  tensor_t *statistics = keep(tensor_stack(rows, 4, 0, &r), &r);

  check(tensor_mul_scalar_(crop, tensor_float(0.5)));
  tensor_index lines[] = {{TENSOR_INDEX_INT, NULL, 0, 0, 0},
                          range(TENSOR_NONE, TENSOR_NONE, height / 4)};
  tensor_t *red = keep(tensor_index_get(image, lines, 2, &r), &r);
  check(tensor_fill_scalar_(red, tensor_float(1.0)));
  tensor_t *sum = keep(tensor_sum(image, &zero, 1, false, TENSOR_DTYPE_NONE, &r), &r);
  tensor_t *brightest = keep(tensor_amax(image, &zero, 1, false, &r), &r);
  const tensor_t *both[] = {sum, brightest};
  tensor_t *shared = keep(tensor_stack(both, 2, 0, &r), &r);

  char path[4096];
  snprintf(path, sizeof path, "%s/c.bin", argv[2]);
  FILE *file = fopen(path, "wb");
  if (!file) {
    perror(path);
    return 1;
  }
  const tensor_t *results[] = {batch,   grey_mean,  red_filter, blue_filter,
                               cropped, statistics, shared};
  for (size_t i = 0; i < sizeof results / sizeof *results; i++) write_all(file, results[i]);
  fclose(file);
  while (count) tensor_free(kept[--count]);
  return 0;
}
