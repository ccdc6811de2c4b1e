/* What the request*.c files share and nobody else includes. */
#ifndef SBX_DATA_REQUEST_IMPL_H
#define SBX_DATA_REQUEST_IMPL_H

#include "data/json.h"
#include "data/request.h"

/* request_fields.c: the keys of each op, and what of them is read later than by the table. */
struct sbx_request_reading {
	struct sbx_request request;
	struct sbx_json id, op, target, argv, env, input, path, to, mode, signal;
};
extern const struct sbx_json_field *const sbx_request_fields[SBX_REQUEST_OPS];

/* request_values.c: each into its member, which the request's done() frees. `what` names it in errors. */
int sbx_request_read_id(struct sbx_json v, const char *what, char **id, struct sbx_err *err);
int sbx_request_read_argv(struct sbx_json array, struct sbx_request *request, struct sbx_err *err);
int sbx_request_read_env(struct sbx_json object, struct sbx_request *request, struct sbx_err *err);
int sbx_request_read_input(struct sbx_json v, const char *what, struct sbx_request *request,
	struct sbx_err *err);
int sbx_request_read_mode(struct sbx_json v, struct sbx_request *request, struct sbx_err *err);
int sbx_request_read_signal(struct sbx_json v, struct sbx_request *request, struct sbx_err *err);
int sbx_request_read_path(struct sbx_json v, const char *what, char **path, struct sbx_err *err);

#endif
