/* sbx-request(5): one line of a stream of requests. */
#ifndef SBX_DATA_REQUEST_H
#define SBX_DATA_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define SBX_REQUEST_READ_MAX ((uint64_t)256 * 1024) /* bytes in one answer */
#define SBX_REQUEST_LIST_MAX ((uint64_t)1000) /* names in one answer */
#define SBX_REQUEST_ID_MAX 128 /* bytes of a text id */

enum sbx_request_op {
	SBX_REQUEST_EXEC = 0,
	SBX_REQUEST_READ,
	SBX_REQUEST_STAT,
	SBX_REQUEST_LIST,
	SBX_REQUEST_MEASURE,
	SBX_REQUEST_CANCEL,
	SBX_REQUEST_PING,
};
extern const char *const sbx_request_ops[]; /* those above, then those of a later version, NULL */

struct sbx_request {
	char *id; /* as it was given, a JSON text; NULL: none was */
	int op; /* enum sbx_request_op */
	char **argv; /* EXEC: at least one, NULL-terminated */
	char **env; /* EXEC: "NAME=value", NULL-terminated, never NULL itself */
	char *cwd; /* EXEC: NULL: the workspace */
	int has_input;
	struct sbx_buf input; /* EXEC: its standard input */
	uint64_t timeout_ms, output_bytes; /* EXEC; 0: not given */
	char *path; /* READ, STAT, LIST, MEASURE: beneath the workspace; "" is the workspace */
	uint64_t offset, limit; /* READ: bytes; LIST: names; limit 0: not given */
	char *target; /* CANCEL: the id of what is to be ended, a JSON text */
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
