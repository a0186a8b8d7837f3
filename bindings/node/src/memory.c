// The memory of storages: accounted to V8 once, however many tensors view it, and claimed by
// asynchronous calls, so that no other call moves it, or writes elements that they read.
#include "addon.h"

enum {
  FIRST_ROOM = 256,
  SMALL_BYTES = 1 << 16,
  REPORT_BYTES = 1 << 18  // V8 is told of external memory in steps of this
};

// ------------------------------------------------------------------------------------- the table

static lt_memory **place(const lt_env *e, uintptr_t base) {
  size_t hash = (size_t)((base >> 6) * 0x9e3779b97f4a7c15u >> 32);
  return &e->memories[hash & (e->memory_room - 1)];
}

static lt_memory *find(const lt_env *e, uintptr_t base) {
  if (!e->memory_room) return NULL;
  lt_memory *m = *place(e, base);
  while (m && m->base != base) m = m->next;
  return m;
}

static bool grow(lt_env *e) {
  lt_env wider = {.memory_room = e->memory_room ? 2 * e->memory_room : FIRST_ROOM};
  if (!(wider.memories = calloc(wider.memory_room, sizeof(lt_memory *)))) return false;
  for (size_t i = 0; i < e->memory_room; i++)
    for (lt_memory *m = e->memories[i], *next; m; m = next) {
      next = m->next;
      lt_memory **at = place(&wider, m->base);
      m->next = *at;
      *at = m;
    }
  free(e->memories);
  e->memories = wider.memories, e->memory_room = wider.memory_room;
  return true;
}

static void put(lt_env *e, lt_memory *m, uintptr_t base) {
  m->base = base;
  if (!base) return;
  lt_memory **at = place(e, base);
  m->next = *at;
  *at = m;
  e->memory_count++;
}

static void take(lt_env *e, lt_memory *m) {
  if (!m->base) return;
  lt_memory **at = place(e, m->base);
  while (*at != m) at = &(*at)->next;
  *at = m->next;
  e->memory_count--;
}

void lt_account(napi_env env, lt_env *e, int64_t bytes) {
  e->bytes += bytes;
  e->unreported += bytes;
  if (e->unreported < REPORT_BYTES && e->unreported > -REPORT_BYTES) return;
  int64_t now;
  napi_adjust_external_memory(env, e->unreported, &now);
  e->unreported = 0;
}

static void set_bytes(napi_env env, lt_env *e, lt_memory *m, int64_t bytes) {
  lt_account(env, e, bytes - m->bytes);
  m->bytes = bytes;
}

// ----------------------------------------------------------------------------------------- boxes

static int64_t element_size(const tensor_t *t) { return tensor_dtype_size(tensor_get_dtype(t)); }

// The address of the first byte of a box's storage, 0 without one.
static uintptr_t base_of(const lt_box *box) {
  void *data = NULL;
  tensor_storage_t *storage = box->handle;
  if (box->kind >= LT_GENERATOR) return 0;
  if (box->kind == LT_TENSOR) {
    const tensor_t *t = box->handle;
    if (tensor_data_ptr(t, &data)) return 0;
    if (data) return (uintptr_t)data - (uintptr_t)(tensor_storage_offset(t) * element_size(t));
    // A tensor without elements has no address, but its storage may.
    if (tensor_numel(t) > 0 || tensor_untyped_storage(t, &storage)) return 0;
  }
  if (tensor_storage_data_ptr(storage, &data)) data = NULL;
  if (box->kind == LT_TENSOR) tensor_storage_free(storage);
  return (uintptr_t)data;
}

// A number that a function returns for a box's storage; 0 where it cannot be had.
static int64_t number_of(const lt_box *box,
                         tensor_status (*function)(const tensor_storage_t *, int64_t *)) {
  tensor_storage_t *storage = box->handle;
  int64_t number = 0;
  if (box->kind == LT_TENSOR && tensor_untyped_storage(box->handle, &storage)) return 0;
  if (function(storage, &number)) number = 0;
  if (box->kind == LT_TENSOR) tensor_storage_free(storage);
  return number;
}

static int64_t storage_bytes(const lt_box *box) { return number_of(box, tensor_storage_nbytes); }

// The id of a box's storage, which no other storage ever has.
static int64_t storage_id(const lt_box *box) { return number_of(box, tensor_storage_id); }

bool lt_reachable(const lt_env *e, const tensor_t *t) {
  lt_box box = {.kind = LT_TENSOR, .handle = (tensor_t *)t};
  return tensor_numel(t) * element_size(t) < SMALL_BYTES || find(e, base_of(&box));
}

// The ArrayBuffer at an address, among those of a call's tensors.
static lt_buffer *buffer_at(const lt_call *call, uintptr_t base) {
  for (int i = 0; call && call->shares && i < call->held_count; i++) {
    const lt_memory *m = call->held[i].box->memory;
    if (!m || !m->buffer) continue;
    uintptr_t start = (uintptr_t)m->buffer->data;
    if (base >= start && base < start + m->buffer->length) return m->buffer;
  }
  return NULL;
}

// Whether an asynchronous call writes to another storage than the box's at this address: it has
// resized that storage, and freed the address.
static bool moved_by_writer(const lt_memory *m, const lt_box *box) {
  const lt_held *claim = m->claims[m->claims[LT_MOVES] ? LT_MOVES : LT_WRITES];
  return claim && claim->storage_id != storage_id(box);
}

static void enter(napi_env env, lt_env *e, lt_box *box, uintptr_t base, const lt_call *call) {
  if (!base) return;
  lt_memory *m = find(e, base);
  lt_buffer *buffer = buffer_at(call, base);
  if (m && ((m->buffer && lt_buffer_detached(env, m->buffer)) || moved_by_writer(m, box))) {
    // The address is another owner's now.
    take(e, m);
    m->base = 0;
    m = NULL;
  }
  if (!m) {
    if (e->memory_count >= e->memory_room && !grow(e)) return;
    if (!(m = calloc(1, sizeof *m))) return;
    put(e, m, base);
    if (!buffer) set_bytes(env, e, m, storage_bytes(box));
  }
  if (buffer && !m->buffer) {
    // JavaScript accounts for the bytes of its buffers.
    buffer->holders++;
    m->buffer = buffer;
    set_bytes(env, e, m, 0);
  }
  m->users++;
  box->memory = m;
}

void lt_attach(napi_env env, lt_env *e, lt_box *box, const lt_call *call) {
  if (box->kind == LT_TENSOR && !(call && (call->aliases || call->shares))) {
    int64_t bytes = tensor_numel(box->handle) * element_size(box->handle);
    if (bytes > 0 && bytes < SMALL_BYTES) {
      box->bytes = bytes;
      lt_account(env, e, bytes);
      return;
    }
  }
  for (int i = 0; call && i < call->held_count; i++) lt_track(env, e, call->held[i].box);
  bool views = call && call->op && call->op->row->flags & LT_A_VIEW && call->mode == LT_FUNCTION &&
               call->held_count > 0 && call->held[0].handle == &call->arguments[0].pointer;
  lt_memory *m = views ? call->held[0].box->memory : NULL;
  if (m && !m->buffer) {
    m->users++;
    box->memory = m;
    return;
  }
  enter(env, e, box, base_of(box), call);
}

void lt_track(napi_env env, lt_env *e, lt_box *box) {
  if (!box->bytes) return;
  lt_account(env, e, -box->bytes);
  box->bytes = 0;
  enter(env, e, box, base_of(box), NULL);
}

void lt_leave_memory(napi_env env, lt_env *e, lt_memory *m) {
  if (--m->users > 0) return;
  take(e, m);
  set_bytes(env, e, m, 0);
  if (m->buffer) lt_release_buffer(env, m->buffer);
  free(m);
}

void lt_detach(napi_env env, lt_env *e, lt_box *box) {
  lt_account(env, e, -box->bytes);
  box->bytes = 0;
  if (box->memory) lt_leave_memory(env, e, box->memory);
  box->memory = NULL;
}

// The bytes of the storage from its start to the end of the last element.
static int64_t needed_bytes(const tensor_t *t) {
  const int64_t *sizes = tensor_sizes(t), *strides = tensor_strides(t);
  int64_t last = tensor_storage_offset(t);
  if (tensor_numel(t) == 0) return 0;
  for (int64_t i = 0; i < tensor_dim(t); i++) last += (sizes[i] - 1) * strides[i];
  return (last + 1) * element_size(t);
}

// Whether an out has unchanged memory: the address of its elements is the same, and they need no
// more.
static bool stays(const lt_box *box) {
  const lt_memory *m = box->memory;
  if (box->bytes) return tensor_numel(box->handle) * element_size(box->handle) == box->bytes;
  return m && m->base == base_of(box) && (m->buffer || needed_bytes(box->handle) <= m->bytes);
}

void lt_follow_out(napi_env env, lt_env *e, lt_box *box) {
  if (!stays(box)) lt_follow(env, e, box, true);
}

void lt_follow(napi_env env, lt_env *e, lt_box *box, bool moved) {
  lt_track(env, e, box);
  uintptr_t base = base_of(box);
  lt_memory *m = box->memory;
  if (m ? m->base != base : base != 0) {
    if (m && moved && !m->buffer && !find(e, base)) {
      take(e, m);
      put(e, m, base);
    } else {
      // The call's own tensors no longer determine the ArrayBuffer of the bytes: only known ones
      // do.
      lt_detach(env, e, box);
      enter(env, e, box, base, NULL);
      m = box->memory;
    }
  }
  if (m && !m->buffer) set_bytes(env, e, m, base ? storage_bytes(box) : 0);
}

// ---------------------------------------------------------------------------------------- claims

// The bytes between the first and the last element of a box.
static void span_of(const lt_box *box, const char **low, const char **high) {
  const char *base = (const char *)box->memory->base;
  if (box->kind != LT_TENSOR) {
    *low = base, *high = base + storage_bytes(box);
    return;
  }
  const tensor_t *t = box->handle;
  *low = base + tensor_storage_offset(t) * element_size(t);
  *high = tensor_numel(t) == 0 ? *low : base + needed_bytes(t);
}

bool lt_overlap(const lt_box *a, const lt_box *b) {
  const char *low[2], *high[2];
  if (!a->memory || !b->memory) return false;
  if (a->memory != b->memory && (!a->memory->base || !b->memory->base)) return false;
  span_of(a, &low[0], &high[0]);
  span_of(b, &low[1], &high[1]);
  return low[0] < high[1] && low[1] < high[0];
}

static bool claimed(const lt_memory *m) {
  for (int by = LT_LOOKS; by <= LT_MOVES; by++)
    if (m->claims[by]) return true;
  return false;
}

// Calls that only read, or only add, do not disturb each other, so that however many there are of
// one kind, those of the others are looked at.
bool lt_unclaimed(const lt_box *box, lt_access access, const char **doing) {
  const char *low, *high;
  if (access == LT_LOOKS || !box->memory || !claimed(box->memory)) return true;
  span_of(box, &low, &high);
  for (int by = LT_LOOKS; by <= LT_MOVES; by++) {
    if (access == (lt_access)by && access <= LT_ADDS) continue;
    for (const lt_held *claim = box->memory->claims[by]; claim; claim = claim->next) {
      if (claim->paused && *claim->paused) continue;
      bool disjoint = box->memory->base && (low >= claim->high || claim->low >= high);
      if (disjoint && access != LT_MOVES && by != LT_MOVES) continue;
      *doing = access == LT_MOVES ? "shares memory that is in use by an asynchronous call"
               : by != LT_READS   ? "shares memory that is being written by an asynchronous call"
                                  : "shares memory that is being read by an asynchronous call";
      return false;
    }
  }
  return true;
}

void lt_claim(lt_held *held) {
  lt_memory *m = held->memory = held->box->memory;
  if (!m) return;
  span_of(held->box, &held->low, &held->high);
  if (held->access >= LT_WRITES) held->storage_id = storage_id(held->box);
  lt_held **first = &m->claims[held->access];
  held->previous = NULL, held->next = *first;
  if (*first) (*first)->previous = held;
  *first = held;
}

void lt_unclaim(lt_held *held) {
  lt_memory *m = held->memory;
  if (!m) return;
  if (held->previous)
    held->previous->next = held->next;
  else
    m->claims[held->access] = held->next;
  if (held->next) held->next->previous = held->previous;
  held->memory = NULL;
}
