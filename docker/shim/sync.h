/* The table that sync.c keeps of what was synced: records of fixed size, one per file, in
 * no order. It outlives the server, however that ends: what was written to it is in the
 * page cache. Numbers are little-endian on every machine that servers run on here. */
#ifndef PICKLOCK_SYNC_H
#define PICKLOCK_SYNC_H
#include <stdint.h>

struct synced {
    int64_t length;    /* bytes from the file's start that the last successful sync vouched for */
    char path[1020];   /* absolute, NUL-terminated; empty: a free record */
    char moving[1020]; /* a rename was under way: the file is here if nothing is at path */
};

_Static_assert(sizeof(struct synced) == 2048, "the harness reads records of this size");

#endif
