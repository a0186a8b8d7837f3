// Sparse tensors of random parts, most of them inconsistent: a constructor accepts exactly the
// consistent ones, and operators on tensors with indices changed afterwards return results or
// errors. SPARSE_CONSTRUCTIONS sets their number.
#include "check.h"

static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}
static int64_t below(int64_t n) { return (int64_t)(next() % (uint64_t)n); }

// A number that seldom fits.
static int64_t hostile(void) {
  static const int64_t some[] = {-1,        -2,        7,         100,
                                 INT32_MAX, INT32_MIN, 1ll << 31, 1ll << 32,
                                 INT64_MAX, INT64_MIN, 1ll << 62, -(1ll << 62)};
  return some[below(12)];
}

static tensor_t *integers(const int64_t *values, const int64_t *sizes, int64_t dims, bool narrow) {
  tensor_t *t = NULL, *made = NULL;
  OK(tensor_from_data(values, sizes, dims, TENSOR_INT64, &t));
  if (!narrow) return t;
  OK(tensor_to_options(t, TENSOR_INT32, TENSOR_LAYOUT_NONE, tensor_device_default(), false, false,
                       TENSOR_PRESERVE, &made));
  tensor_free(t);
  return made;
}

static tensor_t *ones(const int64_t *sizes, int64_t dims) {
  tensor_t *t = NULL;
  OK(tensor_ones(sizes, dims, TENSOR_FLOAT64, TENSOR_LAYOUT_NONE, tensor_device_default(), &t));
  return t;
}

// Operators that read every index.
static void use(tensor_t *s) {
  const int64_t dims = tensor_dim(s), *sizes = tensor_sizes(s);
  int64_t elements = 1;
  for (int64_t d = 0; d < dims; d++) elements *= sizes[d];
  tensor_t *made[9] = {NULL};
  tensor_scalar one = tensor_int(1);
  tensor_t *vector = dims == 2 ? ones(sizes + 1, 1) : NULL, *matrix = NULL;
  tensor_to_dense(s, TENSOR_DTYPE_NONE, -1, &made[0]);
  tensor_add(s, s, one, &made[1]);
  tensor_mul(s, s, &made[2]);
  tensor_to_sparse_csr(s, INT64_MIN, &made[3]);
  tensor_reshape(s, &elements, 1, &made[4]);
  if (dims) tensor_select(s, 0, 0, &made[5]);
  if (dims == 2) {
    const int64_t turned[] = {sizes[1], 3};
    matrix = ones(turned, 2);
    tensor_mv(s, vector, &made[6]);
    tensor_mm(s, matrix, &made[7]);
    if (sizes[0] == sizes[1]) tensor_mm(s, s, &made[8]);
  }
  for (int i = 0; i < 9; i++) tensor_free(made[i]);
  tensor_free(vector), tensor_free(matrix);
}

// Writes a hostile number to one index, which the tensor shares.
static void change(tensor_t *part, bool narrow) {
  void *data = NULL;
  const int64_t n = tensor_numel(part);
  if (n == 0 || tensor_data_ptr(part, &data) != TENSOR_OK) return;
  if (narrow)
    ((int32_t *)data)[below(n)] = (int32_t)hostile();
  else
    ((int64_t *)data)[below(n)] = hostile();
}

static void coordinates(void) {
  const int64_t rows = below(4), entries = below(6), dense = below(2);
  int64_t at[3 * 5], size[4];
  const int flag = (int)below(3) - 1;
  bool fits = true;
  for (int64_t d = 0; d < rows; d++) size[d] = 1 + below(5);
  size[rows] = 2;
  for (int64_t d = 0; d < rows; d++)
    for (int64_t e = 0; e < entries; e++)
      at[d * entries + e] = below(12) ? below(size[d]) : hostile();
  for (int64_t i = 0; i < rows * entries; i++)
    fits = fits && at[i] >= 0 && at[i] < size[i / entries];
  for (int64_t e = 1; flag == 1 && fits && e < entries; e++) {
    int order = 0;
    for (int64_t d = 0; d < rows && !order; d++)
      order = (at[d * entries + e] > at[d * entries + e - 1]) -
              (at[d * entries + e] < at[d * entries + e - 1]);
    fits = order > 0;
  }
  if (below(20) == 0 && rows) size[0] = hostile(), fits = false;
  tensor_t *indices = integers(at, (const int64_t[]){rows, entries}, 2, false), *s = NULL;
  tensor_t *values = ones((const int64_t[]){entries, 2}, 1 + dense);
  const tensor_status status = tensor_sparse_coo_tensor(
      indices, values, size, rows + dense, TENSOR_DTYPE_NONE, tensor_device_default(), flag, &s);
  if (fits) CHECK(status == TENSOR_OK);
  if (!fits && (rows == 0 || (size[0] > 0 && size[0] < 6))) CHECK(status != TENSOR_OK && s == NULL);
  if (s && (rows == 0 || (size[0] > 0 && size[0] < 6))) {
    use(s);
    change(indices, false);
    use(s);
  }
  tensor_free(indices), tensor_free(values), tensor_free(s);
}

static void compressed(void) {
  static const tensor_layout layouts[] = {TENSOR_SPARSE_CSR, TENSOR_SPARSE_CSC, TENSOR_SPARSE_BSR,
                                          TENSOR_SPARSE_BSC};
  const int kind = (int)below(4);
  const bool columns = kind & 1, blocks = kind & 2, narrow = below(2);
  const int64_t lines = below(4), width = 1 + below(4);
  int64_t starts[5] = {0}, plain[16], entries = 0;
  for (int64_t l = 0; l < lines; l++) {
    for (int64_t c = 0; c < width; c++)
      if (below(2)) plain[entries++] = c;
    starts[l + 1] = entries;
  }
  if (below(4) == 0) starts[below(lines + 1)] = below(2) ? hostile() : below(6);
  if (entries && below(4) == 0) plain[below(entries)] = below(2) ? hostile() : below(6);
  if (narrow) {
    for (int64_t l = 0; l <= lines; l++) starts[l] = (int32_t)starts[l];
    for (int64_t e = 0; e < entries; e++) plain[e] = (int32_t)plain[e];
  }
  bool fits = starts[0] == 0 && starts[lines] == entries;
  for (int64_t l = 0; fits && l < lines; l++) {
    fits = starts[l] <= starts[l + 1] && starts[l + 1] <= entries;
    for (int64_t e = starts[l]; fits && e < starts[l + 1]; e++)
      fits = plain[e] >= 0 && plain[e] < width && (e == starts[l] || plain[e] > plain[e - 1]);
  }
  const int64_t h = blocks ? 2 : 1, w = blocks ? 3 : 1;
  const int64_t size[] = {columns ? width * h : lines * h, columns ? lines * w : width * w};
  tensor_t *first = integers(starts, (const int64_t[]){lines + 1}, 1, narrow), *s = NULL;
  tensor_t *second = integers(plain, (const int64_t[]){entries}, 1, narrow);
  tensor_t *values = ones((const int64_t[]){entries, 2, 3}, blocks ? 3 : 1);
  const tensor_status status =
      tensor_sparse_compressed_tensor(first, second, values, size, 2, TENSOR_DTYPE_NONE,
                                      layouts[kind], tensor_device_default(), &s);
  CHECK((status == TENSOR_OK) == fits && (s != NULL) == fits);
  if (s) {
    use(s);
    change(below(2) ? first : second, narrow);
    use(s);
  }
  tensor_free(first), tensor_free(second), tensor_free(values), tensor_free(s);
}

int main(void) {
  const char *wanted = getenv("SPARSE_CONSTRUCTIONS");
  const long count = wanted ? atol(wanted) : 4000;
  const int64_t before = tensor_live_handles();
  for (long i = 0; i < count; i++) {
    if (next() & 1)
      coordinates();
    else
      compressed();
  }
  CHECK(tensor_live_handles() == before);
  return 0;
}
