/* A clock that can be moved while a program runs: preloaded, it answers CLOCK_REALTIME,
 * gettimeofday and time with the true time plus what the file named by PICKLOCK_CLOCK
 * says. Every other clock, and every other process, is untouched.
 *
 * It calls neither malloc nor dlsym: redis-server's jemalloc asks for the time before it
 * can allocate, which is where libfaketime recurses. The true time comes from the system
 * call itself. Without a state file the time is true; the file is looked for again once
 * a second. It must never be truncated while mapped: a read beyond its end is a SIGBUS. */
#define _GNU_SOURCE
#include "clock.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static volatile struct clock_state *state;
static time_t looked = -1;

static volatile struct clock_state *find_state(void) {
    volatile struct clock_state *found = __atomic_load_n(&state, __ATOMIC_ACQUIRE), *none = NULL;
    struct timespec now;
    struct stat st;
    if (found || syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0) return found;
    if (__atomic_exchange_n(&looked, now.tv_sec, __ATOMIC_RELAXED) == now.tv_sec) return NULL;
    const char *path = getenv("PICKLOCK_CLOCK");
    int kept = errno, fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        void *m = MAP_FAILED;
        if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof *state)
            m = mmap(NULL, sizeof *state, PROT_READ, MAP_SHARED, fd, 0);
        if (m != MAP_FAILED && __atomic_compare_exchange_n(&state, &none, m, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            found = m;
        else if (m != MAP_FAILED) /* another thread was first */
            munmap(m, sizeof *state), found = none;
        close(fd);
    }
    errno = kept;
    return found;
}

static int64_t shown(int64_t t) {
    volatile struct clock_state *s = find_state();
    for (int i = 0; s && i < 1000; i++) { /* a writer killed in mid-write must not hang us */
        uint64_t before = __atomic_load_n(&s->seq, __ATOMIC_ACQUIRE);
        int64_t offset = s->offset, anchor = s->anchor;
        double drift = s->drift;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!(before & 1) && s->seq == before)
            return t + offset + (int64_t)((double)(t - anchor) * drift);
    }
    return t;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
    if (syscall(SYS_clock_gettime, id, ts) != 0) return -1; /* errno is set */
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) {
        int64_t t = shown(ts->tv_sec * SECOND + ts->tv_nsec);
        ts->tv_sec = t / SECOND - (t % SECOND < 0);
        ts->tv_nsec = (t % SECOND + SECOND) % SECOND;
    }
    return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict tz) {
    struct timespec ts;
    if (tz) *(struct timezone *)tz = (struct timezone){0, 0};
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) return -1;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec ts;
    if (clock_gettime(CLOCK_REALTIME, &ts) != 0) return (time_t)-1;
    if (out) *out = ts.tv_sec;
    return ts.tv_sec;
}
