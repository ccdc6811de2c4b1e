/*
 * Paths under another's control: resolved by the kernel beneath a directory that we hold, never
 * through a link. What is checked and what is used is the same descriptor.
 */
#ifndef SBX_BASE_PATH_H
#define SBX_BASE_PATH_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * openat2(2) with the given RESOLVE_ flags of <linux/openat2.h>. O_CLOEXEC is added to flags, and
 * O_NONBLOCK unless O_PATH, which does not bear it. EAGAIN, the answer to ".." while something
 * unrelated is renamed, is tried again some times. A descriptor the caller owns, or -1 with errno.
 */
int sbx_path_openat2(int dir_fd, const char *path, int flags, mode_t mode, uint64_t resolve)
	__attribute__((warn_unused_result));

/*
 * openat2(2) with RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS, O_CLOEXEC and
 * O_NONBLOCK added to flags. Answers a descriptor the caller owns, or -1 with errno (EXDEV: it
 * would leave dir_fd; ELOOP: a link on the way). Linux 5.6.
 */
int sbx_path_open_beneath(int dir_fd, const char *path, int flags, mode_t mode)
	__attribute__((warn_unused_result));

/* As chroot would see it: links and ".." are resolved, but inside root_fd (RESOLVE_IN_ROOT). */
int sbx_path_open_in_root(int root_fd, const char *path, int flags)
	__attribute__((warn_unused_result));

/* mkdir -p beneath dir_fd by the same walk; answers an O_PATH descriptor of the last one. */
int sbx_path_mkdirs(int dir_fd, const char *path, mode_t mode) __attribute__((warn_unused_result));

/*
 * Open a directory that we trust (state, configuration): made with `mode` if missing, then it must
 * belong to us or root and be writable by nobody else; SBX_E_DENIED that names it otherwise.
 */
int sbx_path_open_private(const char *path, mode_t mode, int create, struct sbx_err *err)
	__attribute__((warn_unused_result));

/*
 * Lexical: non-empty, absolute, no "." or ".." component, no "//", no control byte, < 4096; no "/"
 * at the end but in "/" itself, so that two clean paths are the same if their bytes are.
 */
int sbx_path_is_clean_absolute(const char *path);

#endif
