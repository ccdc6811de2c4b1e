/* The control channel of pid 1, from the caller's side: see mech/init_proto.h. */
#ifndef SBX_MECH_NATIVE_WIRE_H
#define SBX_MECH_NATIVE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "mech/init_proto.h"
#include "mech/mech.h"
#include "state/env.h"

/* A non-blocking connection, owned by the caller; SBX_E_UNAVAILABLE if pid 1 is not there. */
int sbx_wire_connect(const struct sbx_env *env, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* cwd, argv, env of the command into message, behind a place for head; the counts into head. */
int sbx_wire_pack(const struct sbx_mech_command *command, struct sbx_init_request *head,
	struct sbx_buf *message, struct sbx_err *err) __attribute__((warn_unused_result));

/*
 * Send what was packed, by memfd where it is large: fds has room for one descriptor more than
 * fd_count. SBX_E_BUSY if pid 1 does not keep up.
 */
int sbx_wire_send(int sock, struct sbx_init_request *head, struct sbx_buf *message, int *fds,
	size_t fd_count, struct sbx_err *err) __attribute__((warn_unused_result));

/* A short request without descriptors: 0, or -1 with errno. */
int sbx_wire_tell(int sock, enum sbx_init_op op, uint32_t id);
int sbx_wire_pty(int sock, const struct sbx_mech_tty *tty);
int sbx_wire_signal(int sock, uint32_t id, int signo);

/* An answer as an event; 0 for one that tells a caller nothing. */
int sbx_wire_event(const struct sbx_init_reply *reply, struct sbx_mech_event *event);

#endif
