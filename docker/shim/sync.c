/* What a power failure would leave of a server's files: preloaded, it notes for each
 * regular file how long it was when the last successful fsync or fdatasync of it began.
 * Bytes written while a sync is under way may or may not be in it: they do not count. The
 * table lies in the file that PICKLOCK_SYNCED names; without that variable nothing is
 * noted. sync_file_range vouches for nothing, as its manual says, and is not looked at.
 *
 * Files are known by their paths, so what moves, removes, empties or shortens one is
 * followed too: rename, unlink, open with O_TRUNC, truncate and ftruncate. Names and lengths
 * themselves count as kept by the file system's journal.
 *
 * A sync that cannot be noted fails with EIO: a server that went on would have
 * acknowledged what the harness then takes away. The table is locked by flock, which the
 * kernel lets go when its holder is killed in mid-note; that may be a child that rewrites
 * the file. System calls are made directly: see clock.c. */
#define _GNU_SOURCE
#include "sync.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "lengths are passed to system calls in one piece");

#define PATH_SIZE sizeof(((struct synced *)0)->path)

static char table_path[PATH_MAX]; /* empty: nothing is noted */

/* One thread at a time has the table open, and none while the program forks: a child that
 * inherited the locked descriptor would wait for itself. */
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void) { pthread_mutex_lock(&one); }

static void after_fork(void) { pthread_mutex_unlock(&one); }

/* unlock leaves errno as it is. */
static void unlock(int table) {
    int kept = errno;
    close(table);
    pthread_mutex_unlock(&one);
    errno = kept;
}

/* lock opens the table and takes it, for unlock to let go. -1: there is none to be had. */
static int lock(void) {
    if (!table_path[0]) return -1;
    pthread_mutex_lock(&one);
    int table = syscall(SYS_openat, AT_FDCWD, table_path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    while (table >= 0 && flock(table, LOCK_EX) != 0)
        if (errno != EINTR) {
            close(table);
            table = -1;
        }
    if (table < 0) pthread_mutex_unlock(&one);
    return table;
}

/* find reads the record of path and returns where it lies; -1 if there is none, and then
 * *r is a new one that vouches for nothing. */
static off_t find(int table, const char *path, struct synced *r) {
    for (off_t at = 0; pread(table, r, sizeof *r, at) == (ssize_t)sizeof *r; at += sizeof *r)
        if (strcmp(r->path, path) == 0) return at;
    memset(r, 0, sizeof *r);
    strcpy(r->path, path); /* it was made by one of the two below: it fits */
    return -1;
}

/* put writes a record where it lay, or in the first free place if that is -1. It returns
 * where; -1 if it could not be written. */
static off_t put(int table, off_t at, const struct synced *r) {
    struct synced other;
    if (at < 0)
        for (at = 0; pread(table, &other, sizeof other, at) == (ssize_t)sizeof other && other.path[0];)
            at += sizeof other;
    return pwrite(table, r, sizeof *r, at) == (ssize_t)sizeof *r ? at : -1;
}

/* path_of is the absolute path of an open file. */
static int path_of(int fd, char path[PATH_SIZE]) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_SIZE);
    if (n <= 0 || n == (ssize_t)PATH_SIZE) return -1;
    path[n] = 0;
    return 0;
}

/* path_at is the absolute path of a name, whether or not something is there. */
static int path_at(const char *name, char path[PATH_SIZE]) {
    char dir[PATH_SIZE] = ".";
    const char *base = strrchr(name, '/');
    size_t n = base ? (size_t)(base - name) + 1 : 0;
    if (n >= sizeof dir) return -1;
    if (n) memcpy(dir, name, n), dir[n] = 0;
    int fd = syscall(SYS_openat, AT_FDCWD, dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    int found = path_of(fd, path);
    close(fd);
    if (found != 0) return -1;
    size_t used = strcmp(path, "/") == 0 ? 0 : strlen(path); /* the root ends in its own slash */
    int added = snprintf(path + used, PATH_SIZE - used, "/%s", name + n);
    return added < (int)(PATH_SIZE - used) ? 0 : -1;
}

/* forget notes that nothing of what is at path now was synced. */
static void forget(int table, const char *path) {
    struct synced r;
    off_t at = find(table, path, &r);
    if (at < 0) return;
    r.path[0] = 0;
    put(table, at, &r);
}

/* shorten notes that a file holds no more than length bytes now. */
static void shorten(int table, const char *path, off_t length) {
    struct synced r;
    off_t at = find(table, path, &r);
    if (r.length <= length) return;
    r.length = length;
    put(table, at, &r);
}

/* settle ends the rename that a record speaks of. Whatever was at its goal is gone. */
static void settle(int table, off_t at, struct synced *r, int moved) {
    if (moved) {
        forget(table, r->moving);
        memcpy(r->path, r->moving, PATH_SIZE);
    }
    r->moving[0] = 0;
    put(table, at, r);
}

static int synced(long call, int fd) {
    struct stat before, after;
    struct synced r;
    char path[PATH_SIZE];
    int followed = table_path[0] && fstat(fd, &before) == 0 && S_ISREG(before.st_mode);
    if (syscall(call, fd) != 0) return -1; /* errno is set */
    if (!followed) return 0;
    int table = lock(), noted = -1;
    if (table >= 0 && fstat(fd, &after) == 0) {
        if (after.st_nlink == 0) { /* deleted: nothing to come back to */
            noted = 0;
        } else if (path_of(fd, path) == 0) {
            off_t at = find(table, path, &r);
            /* Syncs that overlap may end in the other order: the longer one counts. */
            if (before.st_size > r.length) r.length = before.st_size;
            if (after.st_size < r.length) r.length = after.st_size;
            noted = put(table, at, &r) < 0 ? -1 : 0;
        }
    }
    if (table >= 0) unlock(table);
    if (noted != 0) errno = EIO;
    return noted;
}

int fsync(int fd) { return synced(SYS_fsync, fd); }

int fdatasync(int fd) { return synced(SYS_fdatasync, fd); }

/* The intention is written first: a server killed between the rename and its note must
 * not look as if its new file had never been synced. */
int rename(const char *from, const char *to) {
    struct synced r;
    char source[PATH_SIZE], goal[PATH_SIZE];
    off_t at = -1;
    int table = lock();
    if (table >= 0 && access(from, F_OK) == 0 && path_at(from, source) == 0 && path_at(to, goal) == 0 &&
        strcmp(source, goal) != 0) {
        at = find(table, source, &r);
        memcpy(r.moving, goal, PATH_SIZE);
        at = put(table, at, &r);
    }
    int failed = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (table >= 0) {
        int kept = errno;
        if (at >= 0) settle(table, at, &r, !failed);
        errno = kept;
        unlock(table);
    }
    return failed;
}

int open(const char *name, int flags, ...) {
    mode_t mode = 0;
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    int table = flags & O_TRUNC ? lock() : -1;
    int fd = syscall(SYS_openat, AT_FDCWD, name, flags, mode);
    if (table >= 0) {
        char path[PATH_SIZE];
        if (fd >= 0 && path_of(fd, path) == 0) forget(table, path);
        unlock(table);
    }
    return fd;
}

int unlink(const char *name) {
    int table = lock(), failed = syscall(SYS_unlinkat, AT_FDCWD, name, 0);
    if (table >= 0) {
        char path[PATH_SIZE];
        if (!failed && path_at(name, path) == 0) forget(table, path);
        unlock(table);
    }
    return failed;
}

int ftruncate(int fd, off_t length) {
    int table = lock(), failed = syscall(SYS_ftruncate, fd, length);
    if (table >= 0) {
        char path[PATH_SIZE];
        if (!failed && path_of(fd, path) == 0) shorten(table, path, length);
        unlock(table);
    }
    return failed;
}

int truncate(const char *name, off_t length) {
    int table = lock(), failed = syscall(SYS_truncate, name, length);
    if (table >= 0) {
        char path[PATH_SIZE];
        if (!failed && path_at(name, path) == 0) shorten(table, path, length);
        unlock(table);
    }
    return failed;
}

/* What programs that were compiled for large files call. */
int open64(const char *name, int flags, ...) __attribute__((alias("open")));
int ftruncate64(int fd, off_t length) __attribute__((alias("ftruncate")));
int truncate64(const char *name, off_t length) __attribute__((alias("truncate")));

/* The table is there from the program's start, so that its absence tells that the shim was
 * not loaded. Renames that a killed life left open are brought to their end. */
__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("PICKLOCK_SYNCED");
    if (!path || strlen(path) >= sizeof table_path) return;
    strcpy(table_path, path);
    pthread_atfork(before_fork, after_fork, after_fork);
    int table = lock();
    if (table < 0) return;
    struct synced r;
    for (off_t at = 0; pread(table, &r, sizeof r, at) == (ssize_t)sizeof r; at += sizeof r)
        if (r.path[0] && r.moving[0]) settle(table, at, &r, access(r.path, F_OK) != 0);
    unlock(table);
}
