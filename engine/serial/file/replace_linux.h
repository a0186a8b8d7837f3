// Replacing a file by one without a name.
#ifndef LIBTENSOR_REPLACE_H
#define LIBTENSOR_REPLACE_H

// Gives the file that descriptor refers to (a path below /proc) the name `name`, which is removed
// before, and renames it to path. Returns an errno, 0 when all went well; `name` is gone then in
// any case but EEXIST.
int lt_replace(const char *descriptor, const char *name, const char *path);

#endif
