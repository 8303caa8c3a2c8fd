/* Loaded with LD_PRELOAD: ends the process without notice at the change number KILL_AT, from 1 on, of files below the
 * folder KILL_BELOW, and appends a line for each change to the file KILL_LOG. The change itself is not carried out; of a
 * write, half of the bytes are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static long changes;
static __thread int inside;

/* The path of an open file; empty if there is none. */
static void path_of(int file, char *path) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = 0;
}

/* Whether this is the change to die at. */
static int is_last(const char *kind, const char *path) {
    const char *below = getenv("KILL_BELOW"), *at = getenv("KILL_AT"), *log = getenv("KILL_LOG");
    if (!below || strncmp(path, below, strlen(below))) return 0;
    long now = __sync_add_and_fetch(&changes, 1);
    int file = log ? syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    if (file >= 0) {
        char line[PATH_MAX + 32];
        syscall(SYS_write, file, line, (size_t)snprintf(line, sizeof line, "%s %s\n", kind, path));
        syscall(SYS_close, file);
    }
    return at && atol(at) == now;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static void change(const char *kind, int folder, const char *path) {
    char base[PATH_MAX] = "", full[2 * PATH_MAX];
    if (inside || !path) return;
    inside = 1;
    if (path[0] != '/' && folder != AT_FDCWD) path_of(folder, base);
    snprintf(full, sizeof full, "%s%s%s", base, base[0] ? "/" : "", path);
    if (is_last(kind, full)) die();
    inside = 0;
}

#define OPEN(name, parameters, arguments, folder)                 \
    int name parameters {                                         \
        mode_t mode = 0;                                          \
        if (flags & O_CREAT) {                                    \
            va_list rest;                                         \
            va_start(rest, flags);                                \
            mode = va_arg(rest, mode_t);                          \
            va_end(rest);                                         \
            change("create", folder, path);                       \
        }                                                         \
        return REAL(name) arguments;                              \
    }
OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
OPEN(openat, (int folder, const char *path, int flags, ...), (folder, path, flags, mode), folder)
OPEN(openat64, (int folder, const char *path, int flags, ...), (folder, path, flags, mode), folder)

int unlink(const char *path) { change("remove", AT_FDCWD, path); return REAL(unlink)(path); }
int rmdir(const char *path) { change("remove", AT_FDCWD, path); return REAL(rmdir)(path); }
int unlinkat(int folder, const char *path, int flags) {
    change("remove", folder, path);
    return REAL(unlinkat)(folder, path, flags);
}
int mkdir(const char *path, mode_t mode) { change("mkdir", AT_FDCWD, path); return REAL(mkdir)(path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) {
    change("mkdir", folder, path);
    return REAL(mkdirat)(folder, path, mode);
}
int rename(const char *from, const char *to) { change("rename", AT_FDCWD, to); return REAL(rename)(from, to); }
int renameat(int a, const char *from, int b, const char *to) {
    change("rename", b, to);
    return REAL(renameat)(a, from, b, to);
}
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    change("rename", b, to);
    return REAL(renameat2)(a, from, b, to, flags);
}
int link(const char *from, const char *to) { change("link", AT_FDCWD, to); return REAL(link)(from, to); }
int linkat(int a, const char *from, int b, const char *to, int flags) {
    change("link", b, to);
    return REAL(linkat)(a, from, b, to, flags);
}

ssize_t write(int file, const void *bytes, size_t size) {
    if (!inside && file > 2 && getenv("KILL_BELOW")) {
        char path[PATH_MAX];
        inside = 1;
        path_of(file, path);
        if (is_last("write", path)) {
            syscall(SYS_write, file, bytes, size / 2);
            die();
        }
        inside = 0;
    }
    return REAL(write)(file, bytes, size);
}
