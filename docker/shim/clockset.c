/* picklock-clock FILE reset                  the true time (makes the file if missing)
 * picklock-clock FILE OFFSET_NS [DRIFT_PPM]  move the clock of who maps FILE; the drift
 *                                            counts from now and adds to the offset
 *
 * It writes in place and never truncates: see clock.c. Exit codes: 0 written, 1 the file
 * cannot be written, 2 wrong usage. */
#define _GNU_SOURCE
#include "clock.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int usage(void) {
    fputs("usage: picklock-clock FILE reset | FILE OFFSET_NS [DRIFT_PPM]\n", stderr);
    return 2;
}

static int failed(const char *what, const char *path) {
    fprintf(stderr, "picklock-clock: %s %s: %s\n", what, path, strerror(errno));
    return 1;
}

int main(int argc, char **argv) {
    long long offset = 0;
    double ppm = 0;
    char *end = "";
    if (argc < 3 || argc > 4) return usage();
    if (strcmp(argv[2], "reset") != 0) {
        errno = 0;
        offset = strtoll(argv[2], &end, 10);
        if (errno || *end || end == argv[2]) return usage();
        if (argc == 4) {
            ppm = strtod(argv[3], &end);
            if (errno || *end || end == argv[3]) return usage();
        }
    } else if (argc != 3) {
        return usage();
    }

    int fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) return failed("open", argv[1]);
    if (flock(fd, LOCK_EX) != 0) return failed("lock", argv[1]); /* one writer at a time */
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < (off_t)sizeof(struct clock_state) && ftruncate(fd, sizeof(struct clock_state)) != 0) /* it only grows */
        return failed("extend", argv[1]);
    volatile struct clock_state *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED) return failed("map", argv[1]);

    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t seq = s->seq | 1; /* odd also after a writer that was killed in mid-write */
    __atomic_store_n(&s->seq, seq, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    s->offset = offset;
    s->anchor = now.tv_sec * 1000000000LL + now.tv_nsec;
    s->drift = ppm / 1e6;
    __atomic_store_n(&s->seq, seq + 1, __ATOMIC_RELEASE);
    return 0;
}
