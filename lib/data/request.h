/* sbx-request(5): one line of a stream of requests. */
#ifndef SBX_DATA_REQUEST_H
#define SBX_DATA_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SBX_REQUEST_READ_MAX ((uint64_t)256 * 1024) /* bytes in one answer that is no stream */
#define SBX_REQUEST_LIST_MAX ((uint64_t)1000) /* names in one answer */
#define SBX_REQUEST_ID_MAX 128 /* bytes of a text id */

enum sbx_request_op {
	SBX_REQUEST_EXEC = 0,
	SBX_REQUEST_READ,
	SBX_REQUEST_STAT,
	SBX_REQUEST_LIST,
	SBX_REQUEST_MEASURE,
	SBX_REQUEST_WRITE,
	SBX_REQUEST_MKDIR,
	SBX_REQUEST_RENAME,
	SBX_REQUEST_REMOVE,
	SBX_REQUEST_STDIN,
	SBX_REQUEST_SIGNAL,
	SBX_REQUEST_CANCEL,
	SBX_REQUEST_BACKGROUND,
	SBX_REQUEST_END_BACKGROUND,
	SBX_REQUEST_PING,
	SBX_REQUEST_OPS
};
/* Those above, then those of a later version, NULL. */
extern const char *const sbx_request_ops[];

struct sbx_request {
	char *id; /* as it was given, a JSON text; NULL: none was */
	int op; /* enum sbx_request_op */
	char **argv; /* EXEC: at least one, NULL-terminated */
	char **env; /* EXEC: "NAME=value", NULL-terminated, never NULL itself */
	char *cwd; /* EXEC: NULL: the workspace */
	int has_input;
	struct sbx_buf
		input; /* EXEC: its standard input; WRITE: the bytes; STDIN: more of either */
	int input_open; /* EXEC, WRITE: STDIN brings more */
	int input_end; /* STDIN: and that was all */
	int background; /* EXEC: what it starts may outlive it */
	char *name; /* END_BACKGROUND */
	int stream; /* EXEC: its outputs, READ: its bytes are told as they come */
	uint64_t timeout_ms, output_bytes; /* EXEC; 0: not given */
	char *path; /* READ to REMOVE: beneath the workspace; "" is the workspace */
	char *to; /* RENAME */
	uint64_t offset, limit; /* READ: bytes; LIST: names; limit 0: not given */
	int has_mode;
	uint32_t mode; /* WRITE, MKDIR: permissions, at most 0777 */
	int append, create, parents,
		recursive; /* WRITE; WRITE, RENAME; WRITE, MKDIR; LIST, REMOVE */
	char *target; /* STDIN, SIGNAL, CANCEL: the id of what it is for, a JSON text */
	int signal; /* SIGNAL: its number */
};

/*
 * Read a request: a line without its newline. Unknown and duplicate keys, wrong types and ranges are
 * SBX_E_BAD_REQUEST by name, an op of a later version is SBX_E_UNAVAILABLE. On failure the id is
 * there if it could be read. The caller calls done() in each case.
 */
int sbx_request_read(const char *line, size_t length, struct sbx_request *request,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_request_done(struct sbx_request *request);

/* What execve(2) takes: SBX_E_BAD_REQUEST that names the argument of 131,072 bytes or more. */
int sbx_request_check_argv(char *const *argv, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
