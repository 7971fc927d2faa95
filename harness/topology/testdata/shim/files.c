/* What servers do to files, for tests of the shim: one operation per line of standard
 * input, answered by "ok" or the number of the error. Names are relative.
 *
 *   append NAME BYTES    sync NAME    datasync NAME    childsync NAME    rename FROM TO
 *   empty NAME           cut NAME BYTES                fcut NAME BYTES   unlink NAME
 *   storm THREADS TIMES  in each thread: append a byte to a file, sync, rename; meanwhile
 *                        children do so too, forked as fast as may be
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int append(const char *name, long bytes) {
    int fd = open(name, O_WRONLY | O_APPEND | O_CREAT, 0644);
    char *zeros = calloc(1, bytes);
    int failed = fd < 0 || !zeros || write(fd, zeros, bytes) != bytes;
    free(zeros);
    return failed | close(fd);
}

static int sync_with(int (*call)(int), const char *name) {
    int fd = open(name, O_RDONLY);
    if (fd < 0) return -1;
    int failed = call(fd), kept = errno;
    close(fd);
    errno = kept;
    return failed;
}

static int child_sync(const char *name) {
    pid_t child = fork();
    if (child == 0) _exit(sync_with(fsync, name) ? errno : 0);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return (errno = WEXITSTATUS(status)) ? -1 : 0;
}

static int shorten(const char *name, long bytes) {
    int fd = open(name, O_WRONLY);
    if (fd < 0) return -1;
    int failed = ftruncate(fd, bytes);
    return failed | close(fd);
}

static int empty(const char *name) {
    int fd = open(name, O_WRONLY | O_TRUNC | O_CREAT, 0644);
    return fd < 0 ? -1 : close(fd);
}

static long storm_times;

static void *storm(void *arg) {
    char here[64], there[64];
    snprintf(here, sizeof here, "storm-%ld", (long)arg);
    snprintf(there, sizeof there, "storm-%ld-moved", (long)arg);
    for (long i = 0; i < storm_times; i++)
        if (append(here, 1) || sync_with(fdatasync, here) || rename(here, there) || rename(there, here))
            return (void *)1;
    return NULL;
}

static int storms(long threads, long times) {
    pthread_t running[16];
    long bad = 0;
    storm_times = times;
    for (long i = 0; i < threads; i++)
        if (pthread_create(&running[i], NULL, storm, (void *)i)) return -1;
    for (long i = 0; i < times; i++) {
        pid_t child = fork();
        if (child == 0) _exit(append("storm-child", 1) || sync_with(fsync, "storm-child"));
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status) bad = 1;
    }
    for (long i = 0; i < threads; i++) {
        void *failed;
        if (pthread_join(running[i], &failed) || failed) bad = 1;
    }
    return bad ? -1 : 0;
}

int main(void) {
    char line[256], op[32], a[64], b[64];
    while (fgets(line, sizeof line, stdin)) {
        int failed = -1;
        a[0] = b[0] = 0;
        sscanf(line, "%31s %63s %63s", op, a, b);
        errno = EINVAL;
        if (!strcmp(op, "append")) failed = append(a, atol(b));
        if (!strcmp(op, "sync")) failed = sync_with(fsync, a);
        if (!strcmp(op, "datasync")) failed = sync_with(fdatasync, a);
        if (!strcmp(op, "childsync")) failed = child_sync(a);
        if (!strcmp(op, "rename")) failed = rename(a, b);
        if (!strcmp(op, "empty")) failed = empty(a);
        if (!strcmp(op, "cut")) failed = truncate(a, atol(b));
        if (!strcmp(op, "fcut")) failed = shorten(a, atol(b));
        if (!strcmp(op, "unlink")) failed = unlink(a);
        if (!strcmp(op, "storm")) failed = storms(atol(a), atol(b));
        if (failed)
            printf("%d\n", errno);
        else
            puts("ok");
    }
    return 0;
}
