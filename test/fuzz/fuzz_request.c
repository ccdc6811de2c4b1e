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
	case SBX_REQUEST_STAT:
	case SBX_REQUEST_LIST:
	case SBX_REQUEST_MEASURE:
		if (request->path == NULL || request->limit > SBX_REQUEST_READ_MAX)
			abort();
		return;
	case SBX_REQUEST_CANCEL:
		if (request->target == NULL)
			abort();
		return;
	case SBX_REQUEST_PING:
		return;
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
