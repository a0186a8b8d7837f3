// Replacing a file by one without a name.
#ifndef LIBTENSOR_REPLACE_H
#define LIBTENSOR_REPLACE_H

// Returns the file that descriptor refers to (a path below /proc) the name `name`, which nothing
// has, and renames it to path. Returns an errno, 0 when all went well, EEXIST where something has
// the name; otherwise `name` is gone then.
int lt_replace(const char *descriptor, const char *name, const char *path);

#endif
