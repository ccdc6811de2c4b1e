/*
 * The vocabulary of failures, one row a code: its name in records, the exit status of a tool that
 * ends with it, and what a client may do next. Knows nothing of where an error came from.
 */
#include "data/errors.h"

#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/json_out.h"

/*
 * `retry` answers for a client that does not understand the code: "never" (the same request fails
 * the same way), "same_id" (the outcome may be unknown; the same id again is safe and finds out),
 * "later" (nothing happened, the cause passes).
 */
static const struct {
	const char *name;
	int exit;
	const char *retry;
} codes[] = {
	[SBX_OK] = { "ok", SBX_EXIT_OK, "never" },
	[SBX_E_USAGE] = { "usage", SBX_EXIT_USAGE, "never" },
	[SBX_E_CONFIG] = { "config", SBX_EXIT_CONFIG, "never" },
	[SBX_E_BAD_REQUEST] = { "bad_request", SBX_EXIT_DATA, "never" },
	[SBX_E_TOO_LARGE] = { "too_large", SBX_EXIT_DATA, "never" },
	[SBX_E_NOT_FOUND] = { "not_found", SBX_EXIT_NOT_FOUND, "never" },
	[SBX_E_CONFLICT] = { "conflict", SBX_EXIT_DATA, "never" },
	[SBX_E_DENIED] = { "denied", SBX_EXIT_DENIED, "never" },
	[SBX_E_UNAVAILABLE] = { "unavailable", SBX_EXIT_UNAVAILABLE, "later" },
	[SBX_E_UNCONFIGURED] = { "unconfigured", SBX_EXIT_UNAVAILABLE, "never" },
	[SBX_E_STALE_EPOCH] = { "stale_epoch", SBX_EXIT_DENIED, "never" },
	[SBX_E_EXPIRED] = { "expired", SBX_EXIT_DENIED, "never" },
	[SBX_E_RELEASING] = { "releasing", SBX_EXIT_LATER, "later" },
	[SBX_E_LOCKED] = { "locked", SBX_EXIT_LATER, "later" },
	[SBX_E_BUSY] = { "busy", SBX_EXIT_LATER, "later" },
	[SBX_E_QUOTA] = { "quota", SBX_EXIT_SYSTEM, "never" },
	[SBX_E_TIMEOUT] = { "timeout", SBX_EXIT_LATER, "same_id" },
	[SBX_E_CANCELLED] = { "cancelled", SBX_EXIT_LATER, "same_id" },
	[SBX_E_START_FAILED] = { "start_failed", SBX_EXIT_SYSTEM, "never" },
	[SBX_E_IO] = { "io_error", SBX_EXIT_SYSTEM, "same_id" },
	[SBX_E_CORRUPT] = { "corrupt", SBX_EXIT_SYSTEM, "never" },
	[SBX_E_INTERNAL] = { "internal", SBX_EXIT_INTERNAL, "never" },
};
_Static_assert(sizeof(codes) / sizeof(codes[0]) == SBX_E_COUNT, "a row for every code");

static const char *const executed_names[] = {
	[SBX_EXECUTED_NO] = "no",
	[SBX_EXECUTED_YES] = "yes",
	[SBX_EXECUTED_UNKNOWN] = "unknown",
};

/* A code that crossed a pipe may be anything. */
static enum sbx_code
known(enum sbx_code code)
{
	return (unsigned)code < SBX_E_COUNT ? code : SBX_E_INTERNAL;
}

const char *
sbx_code_name(enum sbx_code code)
{
	return codes[known(code)].name;
}

enum sbx_code
sbx_code_parse(const char *name)
{
	for (unsigned i = 1; i < SBX_E_COUNT; i++)
		if (strcmp(codes[i].name, name) == 0)
			return (enum sbx_code)i;
	return SBX_E_INTERNAL;
}

int
sbx_code_exit(enum sbx_code code)
{
	return codes[known(code)].exit;
}

const char *
sbx_code_retry(enum sbx_code code)
{
	return codes[known(code)].retry;
}

void
sbx_error_record(const struct sbx_err *err, const char *id, struct sbx_buf *out)
{
	struct sbx_json_out json;
	unsigned executed = (unsigned)err->executed;

	if (executed > SBX_EXECUTED_UNKNOWN)
		executed = SBX_EXECUTED_UNKNOWN;
	sbx_json_out_init(&json, out);
	sbx_json_out_object(&json, NULL);
	sbx_json_out_string(&json, "type", "error");
	if (id != NULL)
		sbx_json_out_raw(&json, "id", id, strlen(id));
	else
		sbx_json_out_null(&json, "id");
	sbx_json_out_string(&json, "code", sbx_code_name(err->code));
	sbx_json_out_string(&json, "message", err->msg);
	if (err->hint[0] != '\0')
		sbx_json_out_string(&json, "hint", err->hint);
	sbx_json_out_string(&json, "executed", executed_names[executed]);
	sbx_json_out_string(&json, "retry", sbx_code_retry(err->code));
	sbx_json_out_end(&json);
	/* A caller whose buffer is full of other records sees it by the overflow that sticks. */
	if (sbx_json_out_line(&json, "error record", NULL) < 0)
		return;
}

/* A member as text; `fallback` where it is missing or no string. The caller frees. */
static char *
member(struct sbx_json v, const char *key, const char *fallback)
{
	char *text = NULL;

	if (sbx_json_string(sbx_json_get(v, key), key, SBX_JSON_LINE_MAX, &text, NULL) < 0)
		return fallback != NULL ? sbx_mem_dup(fallback) : NULL;
	return text;
}

int
sbx_error_from_record(struct sbx_json v, struct sbx_err *err)
{
	SBX_AUTO_FREE char *code = NULL, *message = NULL, *hint = NULL;
	struct sbx_json executed = sbx_json_get(v, "executed");

	if (!sbx_json_string_is(sbx_json_get(v, "type"), "error"))
		return 0;
	code = member(v, "code", "internal");
	message = member(v, "message", "an error record without a message");
	hint = member(v, "hint", NULL);
	memset(err, 0, sizeof(*err));
	sbx_fail(err, sbx_code_parse(code), "%s", message);
	if (hint != NULL)
		sbx_fail_hint(err, "%s", hint);
	/* What is not said is not known. */
	err->executed = SBX_EXECUTED_UNKNOWN;
	if (sbx_json_string_is(executed, "no"))
		err->executed = SBX_EXECUTED_NO;
	else if (sbx_json_string_is(executed, "yes"))
		err->executed = SBX_EXECUTED_YES;
	return 1;
}
