// Memory of boxes: chunks aligned to their size and known to their environment, so that the address
// of what an object wraps tells whether it is one of ours. Objects of other addons, and of other
// copies of this one, are told apart without a look inside.
#include "addon.h"

enum { CHUNK_BYTES = 1 << 16, FIRST_ROOM = 64 };

typedef struct chunk {
  struct chunk *next;
  lt_box boxes[];
} chunk;

enum { BOXES = (CHUNK_BYTES - sizeof(chunk)) / sizeof(lt_box) };

// The chunks' addresses, hashed, at most half full; room is a power of two.
struct lt_pool {
  lt_box *free;
  chunk *chunks;
  uintptr_t *table;
  size_t count, room;
};

static size_t place(const lt_pool *pool, uintptr_t address) {
  size_t at = (address / CHUNK_BYTES * 0x9e3779b97f4a7c15u) >> 32;
  const size_t mask = pool->room - 1;
  for (at &= mask; pool->table[at] && pool->table[at] != address;) at = (at + 1) & mask;
  return at;
}

static bool grow_table(lt_pool *pool) {
  lt_pool wider = {.room = pool->room ? 2 * pool->room : FIRST_ROOM};
  if (!(wider.table = calloc(wider.room, sizeof *wider.table))) return false;
  for (chunk *c = pool->chunks; c; c = c->next)
    wider.table[place(&wider, (uintptr_t)c)] = (uintptr_t)c;
  free(pool->table);
  pool->table = wider.table, pool->room = wider.room;
  return true;
}

static bool add_chunk(lt_pool *pool) {
  if (2 * pool->count >= pool->room && !grow_table(pool)) return false;
  chunk *c = aligned_alloc(CHUNK_BYTES, CHUNK_BYTES);
  if (!c) return false;
  c->next = pool->chunks;
  pool->chunks = c;
  pool->table[place(pool, (uintptr_t)c)] = (uintptr_t)c;
  pool->count++;
  for (int i = 0; i < BOXES; i++) {
    c->boxes[i].next = pool->free;
    pool->free = &c->boxes[i];
  }
  return true;
}

lt_pool *lt_new_pool(void) {
  lt_pool *pool = calloc(1, sizeof *pool);
  if (pool && add_chunk(pool)) return pool;
  lt_free_pool(pool);
  return NULL;
}

void lt_free_pool(lt_pool *pool) {
  if (!pool) return;
  for (chunk *c = pool->chunks, *next; c; c = next) {
    next = c->next;
    free(c);
  }
  free(pool->table);
  free(pool);
}

lt_box *lt_new_box(lt_pool *pool) {
  if (!pool->free && !add_chunk(pool)) return NULL;
  lt_box *box = pool->free;
  pool->free = box->next;
  memset(box, 0, sizeof *box);
  return box;
}

void lt_free_box(lt_pool *pool, lt_box *box) {
  box->next = pool->free;
  pool->free = box;
}

bool lt_is_box(const lt_pool *pool, const void *address) {
  uintptr_t base = (uintptr_t)address / CHUNK_BYTES * CHUNK_BYTES;
  return base && pool->table[place(pool, base)] == base;
}
