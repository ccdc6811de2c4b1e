/*
 * A request of a stranger: taken or refused by name, and what is taken is complete and within its
 * ranges.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_taken(const struct sbx_request *request)
{
	switch ((enum sbx_request_op)request->op) {
	case SBX_REQUEST_EXEC:
		if (request->argv == NULL || request->argv[0] == NULL || request->env == NULL ||
			request->output_bytes > SBX_REQUEST_READ_MAX)
			abort();
		return;
	case SBX_REQUEST_READ:
	case SBX_REQUEST_LIST:
		if (request->path == NULL ||
			(!request->stream && request->limit > SBX_REQUEST_READ_MAX))
			abort();
		return;
	case SBX_REQUEST_STAT:
	case SBX_REQUEST_MEASURE:
	case SBX_REQUEST_REMOVE:
		if (request->path == NULL)
			abort();
		return;
	case SBX_REQUEST_RENAME:
		if (request->path == NULL || request->to == NULL)
			abort();
		return;
	case SBX_REQUEST_WRITE:
	case SBX_REQUEST_MKDIR:
		if (request->path == NULL || request->mode > 0777)
			abort();
		return;
	case SBX_REQUEST_SIGNAL:
		if (request->target == NULL || request->signal < 1 || request->signal > 31)
			abort();
		return;
	case SBX_REQUEST_STDIN:
	case SBX_REQUEST_CANCEL:
		if (request->target == NULL)
			abort();
		return;
	case SBX_REQUEST_END_BACKGROUND:
		if (request->name == NULL)
			abort();
		return;
	case SBX_REQUEST_BACKGROUND:
	case SBX_REQUEST_PING:
		return;
	case SBX_REQUEST_OPS:
		break;
	}
	abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sbx_request request;
	struct sbx_err err = { .code = SBX_OK };

	if (sbx_request_read((const char *)data, size, &request, &err) == 0)
		check_taken(&request);
	else if (err.code == SBX_OK || err.msg[0] == '\0')
		abort();
	sbx_request_done(&request);
	return 0;
}
