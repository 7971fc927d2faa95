/* The state that clockset.c writes and clock.c reads, in a file that both map. All zero
 * means the true time. A writer makes seq odd, writes, and makes it even again; a reader
 * that saw an odd or a changed seq reads once more. */
#ifndef PICKLOCK_CLOCK_H
#define PICKLOCK_CLOCK_H
#include <stdint.h>

struct clock_state {
    uint64_t seq;
    int64_t offset; /* ns added to the true time */
    int64_t anchor; /* true time in ns from which drift counts */
    double drift;   /* ns gained per true ns since the anchor; rate - 1 */
};

#endif
