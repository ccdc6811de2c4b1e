/*
 * A JSON document and the ways through it. json_text.c checks the grammar first, jsmn then finds
 * the tokens of a text that is known to be sound, and what is left to refuse here are duplicate
 * keys (json_unique.c). The only file that includes jsmn.h.
 */
#include "data/json.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/scoped.h"
#include "data/json_text.h"

#define JSMN_STATIC
#define JSMN_STRICT
#define JSMN_PARENT_LINKS
#include <jsmn.h>

/*
 * Tokens are in document order: a container is followed by what it holds, a key by its value. In
 * jsmn's words `size` counts members or elements, and a string's bounds leave out its quotes.
 */
struct sbx_json_doc {
	const char *text; /* borrowed */
	size_t length;
	jsmntok_t *tokens;
	int *after; /* of each token, the first one that is neither it nor inside it */
	int count;
};

static const jsmntok_t *
token_of(struct sbx_json v)
{
	return v.doc != NULL && v.token >= 0 ? &v.doc->tokens[v.token] : NULL;
}

static size_t
token_length(const jsmntok_t *t)
{
	return (size_t)(t->end - t->start);
}

static int
tokenise(struct sbx_json_doc *doc, struct sbx_err *err)
{
	jsmn_parser parser;
	int n;

	jsmn_init(&parser);
	n = jsmn_parse(&parser, doc->text, doc->length, doc->tokens, (unsigned)doc->count);
	if (n == JSMN_ERROR_PART && doc->count == 1) {
		/* jsmn wants a delimiter behind a primitive; one that is the whole text has none. */
		doc->tokens[0] = (jsmntok_t){
			.type = JSMN_PRIMITIVE,
			.start = (int)parser.pos,
			.end = (int)doc->length,
			.parent = -1,
		};
		n = 1;
	}
	if (n != doc->count)
		return sbx_fail(err, SBX_E_INTERNAL, "json: jsmn answered %d, not %d tokens", n,
			doc->count);
	return 0;
}

/* Backwards, since what a token holds comes behind it: each hands its own end on to its parent. */
static void
link_tokens(struct sbx_json_doc *doc)
{
	for (int i = doc->count - 1; i >= 0; i--) {
		int parent = doc->tokens[i].parent;

		if (doc->after[i] == 0)
			doc->after[i] = i + 1;
		if (parent >= 0 && doc->after[parent] < doc->after[i])
			doc->after[parent] = doc->after[i];
	}
}

struct sbx_json_doc *
sbx_json_parse(const char *text, size_t length, struct sbx_err *err)
{
	SBX_AUTO_JSON doc = NULL;
	size_t count;

	if (sbx_json_text_check(text, length, &count, err) < 0)
		return NULL;
	doc = sbx_mem_alloc(1, sizeof(*doc));
	doc->text = text;
	doc->length = length;
	doc->count = (int)count;
	doc->tokens = sbx_mem_alloc(count, sizeof(*doc->tokens));
	doc->after = sbx_mem_alloc(count, sizeof(*doc->after));
	if (tokenise(doc, err) < 0)
		return NULL;
	link_tokens(doc);
	if (sbx_json_unique_check(doc, doc->count, text, length, err) < 0)
		return NULL;
	return sbx_take_ptr(doc);
}

void
sbx_json_free(struct sbx_json_doc *doc)
{
	if (doc == NULL)
		return;
	free(doc->tokens);
	free(doc->after);
	free(doc);
}

void
sbx_json_free_scoped(struct sbx_json_doc **doc)
{
	sbx_json_free(*doc);
}

struct sbx_json
sbx_json_root(const struct sbx_json_doc *doc)
{
	return (struct sbx_json){ .doc = doc, .token = 0 };
}

enum sbx_json_type
sbx_json_type(struct sbx_json v)
{
	const jsmntok_t *t = token_of(v);

	if (t == NULL)
		return SBX_JSON_ABSENT;
	if (t->type == JSMN_OBJECT)
		return SBX_JSON_OBJECT;
	if (t->type == JSMN_ARRAY)
		return SBX_JSON_ARRAY;
	if (t->type == JSMN_STRING)
		return SBX_JSON_STRING;
	switch (v.doc->text[t->start]) {
	case 'n':
		return SBX_JSON_NULL;
	case 't':
	case 'f':
		return SBX_JSON_BOOL;
	default:
		return SBX_JSON_NUMBER;
	}
}

const char *
sbx_json_raw_borrow(struct sbx_json v, size_t *length)
{
	const jsmntok_t *t = token_of(v);
	size_t quote;

	*length = 0;
	if (t == NULL)
		return NULL;
	quote = t->type == JSMN_STRING ? 1 : 0;
	*length = token_length(t) + 2 * quote;
	return v.doc->text + t->start - quote;
}

size_t
sbx_json_count(struct sbx_json v)
{
	enum sbx_json_type type = sbx_json_type(v);

	if (type != SBX_JSON_ARRAY && type != SBX_JSON_OBJECT)
		return 0;
	return (size_t)v.doc->tokens[v.token].size;
}

int
sbx_json_each(struct sbx_json v, size_t *cursor, struct sbx_json *key, struct sbx_json *value)
{
	enum sbx_json_type type = sbx_json_type(v);
	int at;

	if (type != SBX_JSON_ARRAY && type != SBX_JSON_OBJECT)
		return 0;
	at = *cursor == 0 ? v.token + 1 : (int)*cursor;
	if (at >= v.doc->after[v.token])
		return 0;
	*cursor = (size_t)v.doc->after[at];
	if (key != NULL)
		*key = (struct sbx_json){ v.doc, type == SBX_JSON_OBJECT ? at : -1 };
	if (value != NULL)
		*value = (struct sbx_json){ v.doc, type == SBX_JSON_OBJECT ? at + 1 : at };
	return 1;
}

struct sbx_json
sbx_json_at(struct sbx_json v, size_t index)
{
	struct sbx_json value = { NULL, -1 };
	size_t cursor = 0;

	if (sbx_json_type(v) != SBX_JSON_ARRAY || index >= sbx_json_count(v))
		return value;
	for (size_t i = 0; i <= index; i++)
		(void)sbx_json_each(v, &cursor, NULL, &value);
	return value;
}

struct sbx_json
sbx_json_get(struct sbx_json v, const char *key)
{
	struct sbx_json name, value;
	size_t cursor = 0;

	if (sbx_json_type(v) == SBX_JSON_OBJECT) {
		while (sbx_json_each(v, &cursor, &name, &value)) {
			if (sbx_json_string_is(name, key))
				return value;
		}
	}
	return (struct sbx_json){ NULL, -1 };
}
