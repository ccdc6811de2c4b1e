/*
 * A request out of a line: first its id, so that whatever is wrong with the rest can be answered
 * under it; then its op, and the keys that this op has. Opens nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/names.h"
#include "data/request_impl.h"

static int
read_op(struct sbx_json v, int *op, struct sbx_err *err)
{
	SBX_AUTO_FREE char *name = NULL;

	if (sbx_json_string(v, "request.op", 32, &name, err) < 0 ||
		sbx_names_parse(name, sbx_request_ops, "request.op", op, err) < 0)
		return -1;
	if (*op >= SBX_REQUEST_OPS)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "request.op: this version has no \"%s\"",
			name);
	return 0;
}

static int
check_read(const struct sbx_request *request, struct sbx_err *err)
{
	if (request->stream || request->limit <= SBX_REQUEST_READ_MAX)
		return 0;
	return sbx_fail(err, SBX_E_BAD_REQUEST,
		"request.limit: must be from 1 to %llu, or be asked for as a stream",
		(unsigned long long)SBX_REQUEST_READ_MAX);
}

/* What the table left for later, of the one op. */
static int
read_rest(struct sbx_request_reading *reading, struct sbx_err *err)
{
	struct sbx_request *request = &reading->request;

	switch ((enum sbx_request_op)request->op) {
	case SBX_REQUEST_EXEC:
		if (sbx_request_read_argv(reading->argv, request, err) < 0 ||
			sbx_request_read_env(reading->env, request, err) < 0)
			return -1;
		return sbx_request_read_input(reading->input, "request.stdin", request, err);
	case SBX_REQUEST_READ:
		return sbx_request_read_path(reading->path, "request.path", &request->path, err) <
				0 ?
			-1 :
			check_read(request, err);
	case SBX_REQUEST_STAT:
	case SBX_REQUEST_LIST:
	case SBX_REQUEST_MEASURE:
	case SBX_REQUEST_REMOVE:
		return sbx_request_read_path(reading->path, "request.path", &request->path, err);
	case SBX_REQUEST_WRITE:
	case SBX_REQUEST_MKDIR:
		if (sbx_request_read_path(reading->path, "request.path", &request->path, err) < 0 ||
			sbx_request_read_mode(reading->mode, request, err) < 0)
			return -1;
		return sbx_request_read_input(reading->input, "request.data", request, err);
	case SBX_REQUEST_RENAME:
		return sbx_request_read_path(reading->path, "request.path", &request->path, err) <
				0 ?
			-1 :
			sbx_request_read_path(reading->to, "request.to", &request->to, err);
	case SBX_REQUEST_STDIN:
		return sbx_request_read_id(reading->target, "request.target", &request->target,
			       err) < 0 ?
			-1 :
			sbx_request_read_input(reading->input, "request.data", request, err);
	case SBX_REQUEST_SIGNAL:
		return sbx_request_read_id(reading->target, "request.target", &request->target,
			       err) < 0 ?
			-1 :
			sbx_request_read_signal(reading->signal, request, err);
	case SBX_REQUEST_CANCEL:
		return sbx_request_read_id(reading->target, "request.target", &request->target,
			err);
	case SBX_REQUEST_BACKGROUND:
	case SBX_REQUEST_END_BACKGROUND:
	case SBX_REQUEST_PING:
	case SBX_REQUEST_OPS:
		break;
	}
	return 0;
}

static int
read_all(struct sbx_json root, struct sbx_request_reading *reading, struct sbx_err *err)
{
	struct sbx_request *request = &reading->request;

	if (read_op(sbx_json_get(root, "op"), &request->op, err) < 0 ||
		sbx_json_read(root, "request", sbx_request_fields[request->op], reading, err) < 0)
		return -1;
	return read_rest(reading, err);
}

int
sbx_request_read(const char *line, size_t length, struct sbx_request *request, struct sbx_err *err)
{
	SBX_AUTO_JSON doc = sbx_json_parse(line, length, err);
	struct sbx_json absent = { .doc = doc, .token = -1 }, root, id;
	struct sbx_request_reading reading = {
		.env = absent, .input = absent, .path = absent, .to = absent, .mode = absent
	};
	int failed;

	*request = reading.request;
	if (doc == NULL)
		return sbx_fail_wrap(err, "request");
	root = sbx_json_root(doc);
	if (sbx_json_type(root) != SBX_JSON_OBJECT)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "request: must be an object");
	id = sbx_json_get(root, "id");
	failed = sbx_json_type(id) != SBX_JSON_ABSENT &&
		sbx_request_read_id(id, "request.id", &reading.request.id, err) < 0;
	failed = failed || read_all(root, &reading, err) < 0;
	*request = reading.request;
	return failed ? -1 : 0;
}

static void
free_strings(char **strings)
{
	for (char **at = strings; at != NULL && *at != NULL; at++)
		free(*at);
	free(strings);
}

void
sbx_request_done(struct sbx_request *request)
{
	free(request->id);
	free_strings(request->argv);
	free_strings(request->env);
	free(request->cwd);
	sbx_buf_done(&request->input);
	free(request->path);
	free(request->to);
	free(request->name);
	free(request->target);
	memset(request, 0, sizeof(*request));
}
