/*
 * Duplicate keys, which the grammar allows and two parsers read in two ways: refused. Found by
 * sorting the keys of each object, since a search or a hash table has a bad case that a stranger
 * can choose. Keys are compared as they read, not as they are escaped.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/json_text.h"

struct key {
	const char *text; /* in the document, or decoded in the scratch space */
	size_t length;
	struct sbx_json at;
};

static int
order_keys(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);

	if (order != 0)
		return order;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return a->at.token < b->at.token ? -1 : a->at.token > b->at.token;
}

static int
same_key(const struct key *a, const struct key *b)
{
	return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* The text of a key in *key; returns where the scratch space goes on. */
static char *
read_key(struct sbx_json at, struct key *key, char *scratch)
{
	const char *raw = sbx_json_raw_borrow(at, &key->length);

	key->at = at;
	key->text = raw + 1;
	key->length -= 2; /* its quotes */
	if (memchr(key->text, '\\', key->length) == NULL)
		return scratch;
	key->length = sbx_json_text_decode(key->text, key->length, scratch);
	key->text = scratch;
	return scratch + key->length;
}

/* keys has room for all of the object's, scratch for their text. NULL, or the later of two. */
static const struct key *
find_duplicate(struct sbx_json object, struct key *keys, char *scratch)
{
	struct sbx_json at;
	size_t cursor = 0, count = 0;

	while (sbx_json_each(object, &cursor, &at, NULL))
		scratch = read_key(at, &keys[count++], scratch);
	qsort(keys, count, sizeof(*keys), order_keys);
	for (size_t i = 1; i < count; i++) {
		if (same_key(&keys[i - 1], &keys[i]))
			return &keys[i];
	}
	return NULL;
}

/* The members of token i if it is an object, else 0. */
static size_t
member_count(struct sbx_json v)
{
	return sbx_json_type(v) == SBX_JSON_OBJECT ? sbx_json_count(v) : 0;
}

int
sbx_json_unique_check(const struct sbx_json_doc *doc, int count, const char *text, size_t length,
	struct sbx_err *err)
{
	SBX_AUTO_FREE struct key *keys = NULL;
	SBX_AUTO_FREE char *scratch = NULL;
	struct sbx_json v = { .doc = doc };
	size_t most = 0;

	for (v.token = 0; v.token < count; v.token++) {
		if (member_count(v) > most)
			most = member_count(v);
	}
	if (most < 2)
		return 0;
	keys = sbx_mem_alloc(most, sizeof(*keys));
	scratch = sbx_mem_alloc(length, 1);
	for (v.token = 0; v.token < count; v.token++) {
		const struct key *key = member_count(v) > 1 ? find_duplicate(v, keys, scratch) :
							      NULL;
		const char *raw;
		size_t n;

		if (key == NULL)
			continue;
		raw = sbx_json_raw_borrow(key->at, &n);
		return sbx_fail(err, SBX_E_BAD_REQUEST, "json: duplicate key %.*s at byte %zu",
			sbx_json_text_shown(raw, n), raw, (size_t)(raw - text));
	}
	return 0;
}
