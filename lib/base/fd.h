/* Descriptors: the first act of every main, non-blocking, passing them over sockets. */
#ifndef SBX_BASE_FD_H
#define SBX_BASE_FD_H

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Make 0, 1 and 2 exist (on /dev/null where closed), so that no later open lands there. */
int sbx_fd_sanitize(struct sbx_err *err) __attribute__((warn_unused_result));

int sbx_fd_nonblock(int fd, int on); /* -1 with errno */
int sbx_fd_cloexec(int fd, int on); /* -1 with errno */

/*
 * Send one message with up to SBX_FD_PASS_MAX descriptors (sendmsg, MSG_NOSIGNAL). The caller keeps
 * its descriptors. Bytes sent, or -1 with errno; a short send is possible on stream sockets only.
 */
#define SBX_FD_PASS_MAX 16
ssize_t sbx_fd_send(int sock, const void *bytes, size_t length, const int *fds, size_t fd_count)
	__attribute__((warn_unused_result));

/*
 * Receive one message (recvmsg, MSG_CMSG_CLOEXEC). *fd_count says how many fit in fds on entry and
 * how many came on return; the caller owns them. If the kernel cut the message or its descriptors,
 * everything received is closed and -1 with EMSGSIZE returned. 0 is end of file.
 */
ssize_t sbx_fd_recv(int sock, void *bytes, size_t length, int *fds, size_t *fd_count)
	__attribute__((warn_unused_result));

/* A sealed memfd (no write, shrink, grow, further seals) that holds these bytes; -1 with errno. */
int sbx_fd_sealed(const char *name, const void *bytes, size_t length)
	__attribute__((warn_unused_result));

#endif
