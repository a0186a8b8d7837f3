// The closest of several names to a misspelt one, for errors of the bindings.
#ifndef LT_CLOSEST_H
#define LT_CLOSEST_H

#include <stdbool.h>
#include <string.h>

// Returns the number of characters to insert, delete or replace that make one name the other. Names
// of more than 31 characters are far from every other.
static inline int lt_distance(const char *a, const char *b) {
  enum { MOST = 32 };
  size_t m = strlen(a), n = strlen(b);
  if (m >= MOST || n >= MOST) return MOST;
  int row[MOST + 1];
  for (size_t j = 0; j <= n; j++) row[j] = (int)j;
  for (size_t i = 1; i <= m; i++) {
    int diagonal = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= n; j++) {
      int least = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      if (row[j] + 1 < least) least = row[j] + 1;
      if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
      row[j] = least;
    }
  }
  return row[n];
}

// Returns whether a name is closer than the closest one so far, and close enough to be meant: a
// third of its characters at most differ. The first value of closest is 32.
static inline bool lt_closer(const char *given, const char *name, int *closest) {
  int distance = lt_distance(given, name);
  if (distance >= *closest || distance > ((int)strlen(name) + 2) / 3) return false;
  *closest = distance;
  return true;
}

#endif
