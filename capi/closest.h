// The closest of several names to a misspelt one, for errors.
#ifndef LT_CLOSEST_H
#define LT_CLOSEST_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// Returns the number of characters to insert, delete or replace that make one name the other; a
// larger number than `most` if there are more, or if a name has more than 96 characters.
static inline int lt_edit_distance(const char *a, const char *b, int most) {
  enum { LONGEST = 96 };
  const int n = (int)strlen(a), m = (int)strlen(b);
  int row[LONGEST + 1];
  if (n > LONGEST || m > LONGEST || abs(n - m) > most) return most + 1;
  for (int j = 0; j <= m; j++) row[j] = j;
  for (int i = 1; i <= n; i++) {
    int before = row[0];
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      const int replaced = before + (a[i - 1] != b[j - 1]);
      before = row[j];
      const int least = row[j - 1] < row[j] ? row[j - 1] : row[j];
      row[j] = replaced < least + 1 ? replaced : least + 1;
    }
  }
  return row[m];
}

// Returns whether a name is closer than the closest one so far, and close enough to be meant: a
// third of its characters at most differ. The first value of closest is 32.
static inline bool lt_closer(const char *given, const char *name, int *closest) {
  const int distance = lt_edit_distance(given, name, *closest);
  if (distance >= *closest || distance > ((int)strlen(name) + 2) / 3) return false;
  *closest = distance;
  return true;
}

#endif
