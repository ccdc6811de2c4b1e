/*
 * The keys that a request of each op may have, as tables: what is not here is refused by name.
 */
#include "data/request_impl.h"

#define CWD_MAX 4095
#define OUTPUT_MAX ((uint64_t)256 * 1024)
#define TIMEOUT_MAX ((uint64_t)366 * 24 * 3600 * 1000)

#define AT(member) offsetof(struct sbx_request_reading, member)
#define ROW(name, type, member) .key = name, .kind = SBX_JSON_F_##type, .offset = AT(member)
#define EVERY                                                                                      \
	{ ROW("id", VALUE, id) },                                                                  \
	{                                                                                          \
		ROW("op", VALUE, op)                                                               \
	}
#define END                                                                                        \
	{                                                                                          \
		.key = NULL                                                                        \
	}

const char *const sbx_request_ops[] = { "exec", "read", "stat", "list", "measure", "write", "mkdir",
	"rename", "remove", "stdin", "signal", "cancel", "background", "end_background", "ping",
	"changes", NULL };

static const struct sbx_json_field exec_fields[] = { EVERY,
	{ ROW("argv", VALUE, argv), .required = 1 },
	{ ROW("cwd", STRING, request.cwd), .umin = 1, .umax = CWD_MAX }, { ROW("env", VALUE, env) },
	{ ROW("stdin", VALUE, input) }, { ROW("stdin_open", BOOL, request.input_open) },
	{ ROW("timeout_ms", U64, request.timeout_ms), .umin = 1, .umax = TIMEOUT_MAX },
	{ ROW("output_bytes", U64, request.output_bytes), .umin = 1, .umax = OUTPUT_MAX },
	{ ROW("stream", BOOL, request.stream) }, { ROW("background", BOOL, request.background) },
	END };
static const struct sbx_json_field read_fields[] = { EVERY,
	{ ROW("path", VALUE, path), .required = 1 },
	{ ROW("offset", U64, request.offset), .umax = INT64_MAX },
	{ ROW("limit", U64, request.limit), .umin = 1, .umax = INT64_MAX },
	{ ROW("stream", BOOL, request.stream) }, END };
static const struct sbx_json_field list_fields[] = { EVERY, { ROW("path", VALUE, path) },
	{ ROW("offset", U64, request.offset), .umax = INT64_MAX },
	{ ROW("limit", U64, request.limit), .umin = 1, .umax = SBX_REQUEST_LIST_MAX },
	{ ROW("recursive", BOOL, request.recursive) }, END };
static const struct sbx_json_field path_fields[] = { EVERY, { ROW("path", VALUE, path) }, END };
static const struct sbx_json_field write_fields[] = { EVERY,
	{ ROW("path", VALUE, path), .required = 1 }, { ROW("data", VALUE, input) },
	{ ROW("data_open", BOOL, request.input_open) }, { ROW("mode", VALUE, mode) },
	{ ROW("append", BOOL, request.append) }, { ROW("create", BOOL, request.create) },
	{ ROW("parents", BOOL, request.parents) }, END };
static const struct sbx_json_field mkdir_fields[] = { EVERY,
	{ ROW("path", VALUE, path), .required = 1 }, { ROW("mode", VALUE, mode) },
	{ ROW("parents", BOOL, request.parents) }, END };
static const struct sbx_json_field rename_fields[] = { EVERY,
	{ ROW("path", VALUE, path), .required = 1 }, { ROW("to", VALUE, to), .required = 1 },
	{ ROW("create", BOOL, request.create) }, END };
static const struct sbx_json_field remove_fields[] = { EVERY,
	{ ROW("path", VALUE, path), .required = 1 }, { ROW("recursive", BOOL, request.recursive) },
	END };
static const struct sbx_json_field stdin_fields[] = { EVERY,
	{ ROW("target", VALUE, target), .required = 1 }, { ROW("data", VALUE, input) },
	{ ROW("end", BOOL, request.input_end) }, END };
static const struct sbx_json_field signal_fields[] = { EVERY,
	{ ROW("target", VALUE, target), .required = 1 },
	{ ROW("signal", VALUE, signal), .required = 1 }, END };
static const struct sbx_json_field cancel_fields[] = { EVERY,
	{ ROW("target", VALUE, target), .required = 1 }, END };
static const struct sbx_json_field end_background_fields[] = { EVERY,
	{ ROW("background", STRING, request.name), .required = 1, .umin = 1, .umax = 16 }, END };
static const struct sbx_json_field ping_fields[] = { EVERY, END };

const struct sbx_json_field *const sbx_request_fields[SBX_REQUEST_OPS] = {
	[SBX_REQUEST_EXEC] = exec_fields,
	[SBX_REQUEST_READ] = read_fields,
	[SBX_REQUEST_STAT] = path_fields,
	[SBX_REQUEST_LIST] = list_fields,
	[SBX_REQUEST_MEASURE] = path_fields,
	[SBX_REQUEST_WRITE] = write_fields,
	[SBX_REQUEST_MKDIR] = mkdir_fields,
	[SBX_REQUEST_RENAME] = rename_fields,
	[SBX_REQUEST_REMOVE] = remove_fields,
	[SBX_REQUEST_STDIN] = stdin_fields,
	[SBX_REQUEST_SIGNAL] = signal_fields,
	[SBX_REQUEST_CANCEL] = cancel_fields,
	[SBX_REQUEST_BACKGROUND] = ping_fields,
	[SBX_REQUEST_END_BACKGROUND] = end_background_fields,
	[SBX_REQUEST_PING] = ping_fields,
};
