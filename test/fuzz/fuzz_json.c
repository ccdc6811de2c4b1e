/*
 * JSON of a stranger: whatever is taken, written back by walking and read again, must be taken once
 * more and be written the same. A key that holds a NUL cannot be written and ends the run.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/scoped.h"
#include "data/json.h"
#include "data/json_out.h"

static int
write_value(struct sbx_json v, const char *key, struct sbx_json_out *out)
{
	enum sbx_json_type type = sbx_json_type(v);
	SBX_AUTO_BUF bytes = SBX_BUF_INIT(SBX_JSON_TEXT_MAX);
	struct sbx_json name, value;
	size_t cursor = 0, length;
	const char *raw = sbx_json_raw_borrow(v, &length);

	if (type == SBX_JSON_STRING) {
		if (sbx_json_bytes(v, "value", &bytes, NULL) < 0)
			abort();
		sbx_json_out_string_n(out, key, bytes.data, bytes.length);
		return 0;
	}
	if (type != SBX_JSON_OBJECT && type != SBX_JSON_ARRAY) {
		sbx_json_out_raw(out, key, raw, length);
		return 0;
	}
	if (type == SBX_JSON_OBJECT)
		sbx_json_out_object(out, key);
	else
		sbx_json_out_array(out, key);
	while (sbx_json_each(v, &cursor, &name, &value)) {
		SBX_AUTO_FREE char *text = NULL;

		if (type == SBX_JSON_OBJECT &&
			sbx_json_string(name, "key", SBX_JSON_TEXT_MAX, &text, NULL) < 0)
			return -1;
		if (text != NULL && sbx_json_get(v, text).token != value.token)
			abort();
		if (write_value(value, text, out) < 0)
			return -1;
	}
	sbx_json_out_end(out);
	return 0;
}

/* -1 if it is not JSON, or has a key that cannot be written. */
static int
rewrite(const char *text, size_t length, struct sbx_buf *buf, struct sbx_err *err)
{
	SBX_AUTO_JSON doc = sbx_json_parse(text, length, err);
	struct sbx_json_out out;

	sbx_json_out_init(&out, buf);
	if (doc == NULL || write_value(sbx_json_root(doc), NULL, &out) < 0)
		return -1;
	return sbx_json_out_line(&out, "text", err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	SBX_AUTO_BUF first = SBX_BUF_INIT(SBX_JSON_TEXT_MAX);
	SBX_AUTO_BUF second = SBX_BUF_INIT(SBX_JSON_TEXT_MAX);
	struct sbx_err err = { 0 };

	if (rewrite((const char *)data, size, &first, &err) < 0) {
		if (err.code == SBX_E_INTERNAL)
			abort();
		return 0;
	}
	if (rewrite(first.data, first.length, &second, &err) < 0 || first.length != second.length ||
		memcmp(first.data, second.data, first.length) != 0)
		abort();
	return 0;
}
