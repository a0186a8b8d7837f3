// A small transformer writes prose, letter after letter, in C: prose FOLDER. The same steps as
// prose.py; writes the scores of the beginning, and both strings, to prose.c.bin.
#include "model.h"

static const char BEGINNING[] = "A tensor ";
enum { CONTEXT = 64, WIDTH = 96, HEADS = 4, BLOCKS = 3, LENGTH = 240 };
enum { BEGUN = sizeof BEGINNING - 1 };
static const double BOLDNESS = 0.6;

static tensor_t *linear(tensor_t *x, weights w, int block, const char *name) {
  return keep(tensor_nn_linear(x, of(w, "blocks.%d.%s.weight", block, name),
                               of(w, "blocks.%d.%s.bias", block, name), &made));
}

static tensor_t *normed(tensor_t *x, tensor_t *weight, tensor_t *bias) {
  const int64_t width = WIDTH;
  return keep(tensor_nn_layer_norm(x, &width, 1, weight, bias, 1e-5, &made));
}

static tensor_t *attended(tensor_t *x, weights w, int i) {
  tensor_t *norm = normed(x, of(w, "blocks.%d.ln1.weight", i), of(w, "blocks.%d.ln1.bias", i));
  tensor_t *mixed = linear(norm, w, i, "qkv");
  tensor_t *parts = keep(tensor_unflatten(mixed, -1, (int64_t[]){3, HEADS, -1}, 3, &made));
  tensor_t *heads = keep(tensor_permute(parts, (int64_t[]){2, 0, 3, 1, 4}, 5, &made));
  tensor_t *q = keep(tensor_select(heads, 0, 0, &made));
  tensor_t *k = keep(tensor_select(heads, 0, 1, &made));
  tensor_t *v = keep(tensor_select(heads, 0, 2, &made));
  tensor_t *taken =
      keep(tensor_nn_scaled_dot_product_attention(q, k, v, NULL, 0, true, NULL, false, &made));
  tensor_t *turned = keep(tensor_transpose(taken, 1, 2, &made));
  return linear(keep(tensor_flatten(turned, 2, -1, &made)), w, i, "proj");
}

static tensor_t *thought(tensor_t *x, weights w, int i) {
  tensor_t *norm = normed(x, of(w, "blocks.%d.ln2.weight", i), of(w, "blocks.%d.ln2.bias", i));
  tensor_t *up = linear(norm, w, i, "up");
  return linear(keep(tensor_nn_gelu(up, "none", &made)), w, i, "down");
}

// Of every letter as the next one, after each of the n given: (1, n, LETTERS).
static tensor_t *scores(const int64_t *letters, int64_t n, weights w) {
  tensor_t *given = keep(tensor_from_data(letters, (int64_t[]){1, n}, 2, TENSOR_INT64, &made));
  tensor_t *table = of(w, "letters.weight");
  tensor_t *found = keep(tensor_nn_embedding(given, table, -1, NULL, 2, false, false, &made));
  tensor_t *places = keep(tensor_narrow(of(w, "places.weight"), 0, 0, n, &made));
  tensor_t *x = keep(tensor_add(found, places, tensor_int(1), &made));
  for (int i = 0; i < BLOCKS; i++) {
    x = keep(tensor_add(x, attended(x, w, i), tensor_int(1), &made));
    x = keep(tensor_add(x, thought(x, w, i), tensor_int(1), &made));
  }
  tensor_t *last = normed(x, of(w, "ln.weight"), of(w, "ln.bias"));
  return keep(tensor_nn_linear(last, table, NULL, &made));
}

static tensor_t *likeliest(tensor_t *given) { return keep(tensor_argmax(given, 0, false, &made)); }

static tensor_t *drawn(tensor_t *given) {
  tensor_t *bold = keep(tensor_div_scalar(given, tensor_float(BOLDNESS), NULL, &made));
  tensor_t *shares = keep(tensor_softmax(bold, 0, TENSOR_DTYPE_NONE, &made));
  return keep(tensor_multinomial(shares, 1, false, NULL, &made));
}

static int64_t next(const int64_t *letters, int64_t n, weights w, tensor_t *chosen(tensor_t *)) {
  const int before = count;
  tensor_t *rows = keep(tensor_select(scores(letters, n, w), 0, 0, &made));
  tensor_t *last = keep(tensor_select(rows, 0, -1, &made));
  tensor_scalar letter;
  check(tensor_item(chosen(last), &letter));
  release(before);
  return letter.value.i;
}

static void write_text(FILE *file, weights w, tensor_t *chosen(tensor_t *)) {
  int64_t text[BEGUN + LENGTH];
  check(tensor_manual_seed(0));
  for (int n = 0; n < BEGUN + LENGTH; n++) {
    const int from = n > CONTEXT ? n - CONTEXT : 0;
    text[n] = n < BEGUN ? BEGINNING[n] : next(text + from, n - from, w, chosen);
    putchar((int)text[n]), fputc((int)text[n], file);
  }
  putchar('\n');
}

int main(int argc, char **argv) {
  if (argc != 2 || !strcmp(argv[1], "--help")) {
    printf("usage: prose FOLDER\nwrites with the weights of prose.safetensors\n");
    return argc == 2 ? 0 : 2;
  }
  const weights w = load(argv[1], "prose");
  int64_t beginning[BEGUN];
  for (int i = 0; i < BEGUN; i++) beginning[i] = BEGINNING[i];
  FILE *file = begin(argv[1], "prose.c.bin", scores(beginning, BEGUN, w));
  write_text(file, w, likeliest);
  write_text(file, w, drawn);
  fclose(file);
  release(0);
  unload(w);
}
