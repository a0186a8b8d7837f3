#define _POSIX_C_SOURCE 200809L
#include "operator_times.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct operator_time {
  char *name;
  int64_t calls, nanoseconds;
} operator_time;

// Returns the entry of a name, which is added if it is new; NULL if there is no memory.
static operator_time *find_or_add(operator_times *t, const char *name) {
  for (int32_t i = 0; i < t->count; i++)
    if (!strcmp(t->items[i].name, name)) return &t->items[i];
  if (t->count == t->capacity) {
    const int32_t more = t->capacity ? 2 * t->capacity : 32;
    operator_time *items = realloc(t->items, (size_t)more * sizeof *items);
    if (!items) return NULL;
    t->items = items, t->capacity = more;
  }
  char *copy = strdup(name);
  if (!copy) return NULL;
  t->items[t->count] = (operator_time){copy, 0, 0};
  return &t->items[t->count++];
}

void add_operator_time(void *context, const tensor_event *event) {
  operator_times *t = context;
  t->depth += event->is_end ? -1 : 1;
  if (!event->is_end || t->depth) return;
  operator_time *item = find_or_add(t, event->name);
  t->is_full |= !item;
  if (item) item->calls++, item->nanoseconds += event->nanoseconds;
}

static int is_slower(const void *a, const void *b) {
  const int64_t x = ((const operator_time *)a)->nanoseconds;
  const int64_t y = ((const operator_time *)b)->nanoseconds;
  return (x < y) - (x > y);
}

static void print_row(const char *name, double calls, double milliseconds, double all) {
  printf("%-36s %8.0f %12.4f %6.1f %%\n", name, calls, milliseconds, 100 * milliseconds / all);
}

void print_operator_times(operator_times *t, int32_t runs, double milliseconds) {
  if (t->count) qsort(t->items, (size_t)t->count, sizeof *t->items, is_slower);
  const double all = milliseconds / runs;
  double rest = all;
  printf("%-36s %8s %12s %8s\n", "operator", "calls", "ms a run", "share");
  for (int32_t i = 0; i < t->count; i++) {
    const operator_time *item = &t->items[i];
    const double taken = (double)item->nanoseconds * 1e-6 / runs;
    rest -= taken;
    print_row(item->name, (double)item->calls / runs, taken, all);
  }
  print_row(t->is_full ? "others, and between operators" : "between operators", 0, rest, all);
  for (int32_t i = 0; i < t->count; i++) free(t->items[i].name);
  free(t->items);
  *t = (operator_times){0};
}
