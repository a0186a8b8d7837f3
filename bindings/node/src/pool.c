// Memory of boxes, by their numbers: an object has the number of its box.
#include "addon.h"

enum { BOXES = 256, FIRST_ROOM = 16 };

struct lt_pool {
  lt_box *free, *kept;
  int32_t keepers;
  lt_box **chunks;  // of BOXES boxes each
  int32_t count, room;
};

static bool add_chunk(lt_pool *pool) {
  if (pool->count == pool->room) {
    if (pool->room > INT32_MAX / BOXES / 2) return false;
    int32_t room = pool->room ? 2 * pool->room : FIRST_ROOM;
    lt_box **chunks = realloc(pool->chunks, (size_t)room * sizeof *chunks);
    if (!chunks) return false;
    pool->chunks = chunks, pool->room = room;
  }
  lt_box *boxes = calloc(BOXES, sizeof *boxes);
  if (!boxes) return false;
  for (int i = BOXES - 1; i >= 0; i--) {
    boxes[i].number = pool->count * BOXES + i + 1;
    boxes[i].next = pool->free;
    pool->free = &boxes[i];
  }
  pool->chunks[pool->count++] = boxes;
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
  for (int32_t i = 0; i < pool->count; i++) free(pool->chunks[i]);
  free(pool->chunks);
  free(pool);
}

lt_box *lt_new_box(lt_pool *pool) {
  if (!pool->free && !add_chunk(pool)) return NULL;
  lt_box *box = pool->free;
  pool->free = box->next;
  *box = (lt_box){.number = box->number};
  return box;
}

void lt_free_box(lt_pool *pool, lt_box *box) {
  lt_box **list = pool->keepers ? &pool->kept : &pool->free;
  box->next = *list;
  *list = box;
}

void lt_keep_boxes(lt_pool *pool) { pool->keepers++; }

bool lt_keeps_boxes(const lt_pool *pool) { return pool->keepers > 0; }

void lt_leave_boxes(lt_pool *pool) {
  if (--pool->keepers) return;
  for (lt_box *box; (box = pool->kept);) {
    pool->kept = box->next;
    lt_free_box(pool, box);
  }
}

lt_box *lt_box_at(const lt_pool *pool, int32_t number) {
  return &pool->chunks[(number - 1) / BOXES][(number - 1) % BOXES];
}
