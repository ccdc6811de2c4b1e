/*
 * Configuration read through a table: what the table does not have is refused at its first event,
 * so that no tree is built and the nesting is the table's. Opens nothing.
 */
#include "data/yaml.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "base/utf8.h"
#include "data/yaml_event.h"
#include "data/yaml_scalar.h"

#define KEYS_MAX 64 /* bits of the set of keys that were seen */
#define SHOWN_BYTES 64

#define AUTO_STRINGS __attribute__((cleanup(sbx_yaml_strings_done))) struct sbx_yaml_strings
#define AUTO_PAIRS __attribute__((cleanup(sbx_yaml_pairs_done))) struct sbx_yaml_pairs

/* target is the struct that the offsets of all tables count from; place names the mapping. */
static int read_mapping(struct sbx_yaml_reader *r, const struct sbx_yaml_key *table,
	const char *place, char *target);

/* A row without its maximum would refuse everything: our mistake, found at its first use. */
static void
check_table(const struct sbx_yaml_key *table)
{
	size_t count = 0;

	for (; table->key != NULL; table++, count++) {
		if (table->kind == SBX_YAML_MAP)
			assert(table->table != NULL);
		else if (table->kind == SBX_YAML_ENUM)
			assert(table->names != NULL);
		else if (table->kind == SBX_YAML_PAIRS)
			assert(table->max > 0 && table->max <= SBX_YAML_PAIRS_MAX);
		else if (table->kind != SBX_YAML_BOOL)
			assert(table->max > 0);
	}
	assert(count <= KEYS_MAX);
}

static int
check_count(const struct sbx_yaml_reader *r, const struct sbx_yaml_key *key, const char *place,
	size_t count)
{
	if (count >= key->min && count <= key->max)
		return 0;
	return sbx_yaml_here(r,
		sbx_fail(r->err, SBX_E_CONFIG, "%s: must have %ju to %ju entries", place,
			(uintmax_t)key->min, (uintmax_t)key->max));
}

static int
read_strings(struct sbx_yaml_reader *r, const struct sbx_yaml_key *key, const char *place,
	struct sbx_yaml_strings *out)
{
	AUTO_STRINGS list = { 0 };

	if (r->event.type != YAML_SEQUENCE_START_EVENT)
		return sbx_yaml_refuse(r, place, "must be a list");
	for (;;) {
		const char *text;

		if (sbx_yaml_next(r) < 0)
			return -1;
		if (r->event.type == YAML_SEQUENCE_END_EVENT)
			break;
		text = sbx_yaml_text(r, place);
		if (text == NULL)
			return -1;
		if (list.count == key->max)
			return check_count(r, key, place, list.count + 1);
		list.items = sbx_mem_grow(list.items, list.count + 1, sizeof(*list.items));
		list.lines = sbx_mem_grow(list.lines, list.count + 1, sizeof(*list.lines));
		list.lines[list.count] = (int)r->event.start_mark.line + 1;
		list.items[list.count++] = sbx_mem_dup(text);
	}
	if (check_count(r, key, place, list.count) < 0)
		return -1;
	sbx_yaml_strings_done(out);
	*out = list;
	memset(&list, 0, sizeof(list));
	return 0;
}

/* "<place>: <what> "<key>"" at the current event, which is the key. */
static int
refuse_key(const struct sbx_yaml_reader *r, const char *place, const char *what, const char *key)
{
	return sbx_yaml_here(r,
		sbx_fail(r->err, SBX_E_CONFIG, "%s%s%s \"%.*s\"", place != NULL ? place : "",
			place != NULL ? ": " : "", what,
			(int)sbx_utf8_floor(key, strnlen(key, SHOWN_BYTES)), key));
}

static int
has_key(const struct sbx_yaml_pairs *pairs, const char *key)
{
	for (size_t i = 0; i < pairs->count; i++) {
		if (strcmp(pairs->keys[i], key) == 0)
			return 1;
	}
	return 0;
}

/* One key and its value; the current event is the key. */
static int
read_pair(struct sbx_yaml_reader *r, const struct sbx_yaml_key *key, const char *place,
	struct sbx_yaml_pairs *pairs)
{
	SBX_AUTO_FREE char *value_place = NULL;
	SBX_AUTO_FREE char *name = NULL;
	const char *text;

	text = sbx_yaml_text(r, "a key");
	if (text == NULL)
		return -1;
	if (has_key(pairs, text))
		return refuse_key(r, place, "duplicate key", text);
	if (pairs->count == key->max)
		return check_count(r, key, place, pairs->count + 1);
	name = sbx_mem_dup(text);
	value_place = sbx_mem_printf("%s.%s", place, name);
	if (sbx_yaml_next(r) < 0)
		return -1;
	text = sbx_yaml_text(r, value_place);
	if (text == NULL)
		return -1;
	pairs->keys = sbx_mem_grow(pairs->keys, pairs->count + 1, sizeof(*pairs->keys));
	pairs->values = sbx_mem_grow(pairs->values, pairs->count + 1, sizeof(*pairs->values));
	pairs->values[pairs->count] = sbx_mem_dup(text);
	pairs->keys[pairs->count++] = sbx_take_ptr(name);
	return 0;
}

static int
read_pairs(struct sbx_yaml_reader *r, const struct sbx_yaml_key *key, const char *place,
	struct sbx_yaml_pairs *out)
{
	AUTO_PAIRS pairs = { 0 };

	if (r->event.type != YAML_MAPPING_START_EVENT)
		return sbx_yaml_refuse(r, place, "must be a mapping");
	for (;;) {
		if (sbx_yaml_next(r) < 0)
			return -1;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			break;
		if (read_pair(r, key, place, &pairs) < 0)
			return -1;
	}
	if (check_count(r, key, place, pairs.count) < 0)
		return -1;
	sbx_yaml_pairs_done(out);
	*out = pairs;
	pairs = (struct sbx_yaml_pairs){ 0 };
	return 0;
}

static int
read_value(struct sbx_yaml_reader *r, const struct sbx_yaml_key *key, const char *place,
	char *target)
{
	void *to = target + key->offset;
	const char *text;

	if (key->kind == SBX_YAML_MAP)
		return read_mapping(r, key->table, place, target);
	if (key->kind == SBX_YAML_STRINGS)
		return read_strings(r, key, place, to);
	if (key->kind == SBX_YAML_PAIRS)
		return read_pairs(r, key, place, to);
	text = sbx_yaml_text(r, place);
	if (text == NULL)
		return -1;
	return sbx_yaml_here(r, sbx_yaml_scalar(key, text, place, to, r->err));
}

static const struct sbx_yaml_key *
find_key(const struct sbx_yaml_key *table, const char *text)
{
	for (; table->key != NULL; table++) {
		if (strcmp(table->key, text) == 0)
			return table;
	}
	return NULL;
}

static int
read_mapping(struct sbx_yaml_reader *r, const struct sbx_yaml_key *table, const char *place,
	char *target)
{
	uint64_t seen = 0;

	check_table(table);
	if (r->event.type != YAML_MAPPING_START_EVENT)
		return sbx_yaml_refuse(r, place, "must be a mapping");
	for (;;) {
		SBX_AUTO_FREE char *inner = NULL;
		const struct sbx_yaml_key *key;
		const char *text;

		if (sbx_yaml_next(r) < 0)
			return -1;
		if (r->event.type == YAML_MAPPING_END_EVENT)
			return 0;
		text = sbx_yaml_text(r, "a key");
		if (text == NULL)
			return -1;
		key = find_key(table, text);
		if (key == NULL)
			return refuse_key(r, place, "unknown key", text);
		if (seen & UINT64_C(1) << (key - table))
			return refuse_key(r, place, "duplicate key", text);
		seen |= UINT64_C(1) << (key - table);
		inner = place != NULL ? sbx_mem_printf("%s.%s", place, key->key) :
					sbx_mem_dup(key->key);
		if (sbx_yaml_next(r) < 0 || read_value(r, key, inner, target) < 0)
			return -1;
	}
}

/* Past the event that is here to the second one behind it. */
static int
skip_one(struct sbx_yaml_reader *r)
{
	return sbx_yaml_next(r) < 0 ? -1 : sbx_yaml_next(r);
}

/* One document or none. */
static int
read_stream(struct sbx_yaml_reader *r, const struct sbx_yaml_key *table, char *target)
{
	if (skip_one(r) < 0) /* the stream's start */
		return -1;
	if (r->event.type == YAML_STREAM_END_EVENT)
		return 0;
	if (sbx_yaml_next(r) < 0)
		return -1;
	if (!sbx_yaml_is_null(r) && read_mapping(r, table, NULL, target) < 0)
		return -1;
	if (skip_one(r) < 0) /* the document's end */
		return -1;
	if (r->event.type != YAML_STREAM_END_EVENT)
		return sbx_yaml_refuse(r, NULL, "a second document is not allowed");
	return 0;
}

int
sbx_yaml_read(const char *file, const char *text, size_t length, const struct sbx_yaml_key *table,
	void *target, struct sbx_err *err)
{
	__attribute__((cleanup(sbx_yaml_reader_done))) struct sbx_yaml_reader r;

	if (sbx_yaml_reader_init(&r, file, text, length, err) < 0)
		return -1;
	return read_stream(&r, table, target);
}

void
sbx_yaml_strings_done(struct sbx_yaml_strings *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	free(list->lines);
	*list = (struct sbx_yaml_strings){ 0 };
}

void
sbx_yaml_pairs_done(struct sbx_yaml_pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++) {
		free(pairs->keys[i]);
		free(pairs->values[i]);
	}
	free(pairs->keys);
	free(pairs->values);
	*pairs = (struct sbx_yaml_pairs){ 0 };
}
