/*
 * JSON in one form for each value, so that two specs are the same when their bytes are: members
 * sorted by the bytes of their keys, no white space, the shortest escapes. Numbers stay as they were
 * written: 1 and 1.0 are different requests.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/json_out.h"
#include "data/spec.h"

struct member {
	char *key;
	struct sbx_json value;
};

static int emit(struct sbx_json_out *out, const char *key, struct sbx_json v, struct sbx_err *err);

static int
by_key(const void *a, const void *b)
{
	return strcmp(((const struct member *)a)->key, ((const struct member *)b)->key);
}

static void
free_members(struct member *members, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(members[i].key);
	free(members);
}

static int
emit_object(struct sbx_json_out *out, const char *key, struct sbx_json v, struct sbx_err *err)
{
	struct member *members = sbx_mem_alloc(sbx_json_count(v) + 1, sizeof(*members));
	struct sbx_json name, value;
	size_t cursor = 0, count = 0;
	int failed = 0;

	while (!failed && sbx_json_each(v, &cursor, &name, &value)) {
		members[count].value = value;
		/* A NUL in a key is refused here: keys are sorted and written as C strings. */
		failed = sbx_json_string(name, "key", SBX_JSON_LINE_MAX, &members[count].key, err);
		if (!failed)
			count++;
	}
	qsort(members, count, sizeof(*members), by_key);
	sbx_json_out_object(out, key);
	for (size_t i = 0; i < count && !failed; i++)
		failed = emit(out, members[i].key, members[i].value, err);
	sbx_json_out_end(out);
	free_members(members, count);
	return failed;
}

static int
emit_array(struct sbx_json_out *out, const char *key, struct sbx_json v, struct sbx_err *err)
{
	struct sbx_json value;
	size_t cursor = 0;
	int failed = 0;

	sbx_json_out_array(out, key);
	while (!failed && sbx_json_each(v, &cursor, NULL, &value))
		failed = emit(out, NULL, value, err);
	sbx_json_out_end(out);
	return failed;
}

static int
emit_string(struct sbx_json_out *out, const char *key, struct sbx_json v, struct sbx_err *err)
{
	SBX_AUTO_BUF bytes = SBX_BUF_INIT(SBX_JSON_LINE_MAX);

	if (sbx_json_bytes(v, "string", &bytes, err) < 0)
		return -1;
	sbx_json_out_string_n(out, key, sbx_buf_str(&bytes), bytes.length);
	return 0;
}

/* Recursion is bounded by the depth that the parser let through, SBX_JSON_DEPTH_MAX. */
static int
emit(struct sbx_json_out *out, const char *key, struct sbx_json v, struct sbx_err *err)
{
	const char *raw;
	size_t length;

	switch (sbx_json_type(v)) {
	case SBX_JSON_OBJECT:
		return emit_object(out, key, v, err);
	case SBX_JSON_ARRAY:
		return emit_array(out, key, v, err);
	case SBX_JSON_STRING:
		return emit_string(out, key, v, err);
	case SBX_JSON_NULL:
	case SBX_JSON_BOOL:
	case SBX_JSON_NUMBER:
		raw = sbx_json_raw_borrow(v, &length);
		sbx_json_out_raw(out, key, raw, length);
		return 0;
	case SBX_JSON_ABSENT:
		break;
	}
	return sbx_fail(err, SBX_E_BAD_REQUEST, "there is no value");
}

int
sbx_json_canonical(struct sbx_json v, struct sbx_buf *out, struct sbx_err *err)
{
	struct sbx_json_out json;

	sbx_json_out_init(&json, out);
	if (emit(&json, NULL, v, err) < 0)
		return -1;
	return sbx_buf_check(out, "canonical JSON", err);
}
