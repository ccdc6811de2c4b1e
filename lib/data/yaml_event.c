/*
 * libyaml's events, made strict: UTF-8 only, no anchors, aliases or tags, every error with file and
 * line. Knows nothing of tables; opens nothing.
 */
#include "data/yaml_event.h"

#include <string.h>

#include "base/utf8.h"
#include "data/yaml.h"

/* Put file and line in front of a failure, which is one of the configuration; 0 passes. */
static int
at_line(const struct sbx_yaml_reader *r, size_t line, int result)
{
	if (result == 0)
		return 0;
	if (r->err != NULL)
		r->err->code = SBX_E_CONFIG;
	return sbx_fail_wrap(r->err, "%s:%zu", r->file, line);
}

static size_t
line_of(const struct sbx_yaml_reader *r, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset && i < r->length; i++)
		line += r->text[i] == '\n';
	return line;
}

static int
check_utf8(const struct sbx_yaml_reader *r)
{
	const unsigned char *p = (const unsigned char *)r->text;
	size_t at = 0, n;

	while (at < r->length) {
		n = sbx_utf8_next(p + at, r->length - at);
		if (n == 0)
			return at_line(r, line_of(r, at),
				sbx_fail(r->err, SBX_E_CONFIG, "invalid UTF-8"));
		at += n;
	}
	return 0;
}

int
sbx_yaml_reader_init(struct sbx_yaml_reader *r, const char *file, const char *text, size_t length,
	struct sbx_err *err)
{
	memset(r, 0, sizeof(*r));
	r->file = file;
	r->text = text;
	r->length = length;
	r->err = err;
	if (length > SBX_YAML_TEXT_MAX)
		return sbx_fail(err, SBX_E_CONFIG, "%s: %zu bytes, at most %d", file, length,
			SBX_YAML_TEXT_MAX);
	if (check_utf8(r) < 0)
		return -1;
	if (!yaml_parser_initialize(&r->parser))
		return sbx_fail(err, SBX_E_INTERNAL, "%s: out of memory", file);
	/* Named, since libyaml would otherwise guess UTF-16 from the first bytes. */
	yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, length);
	return 0;
}

void
sbx_yaml_reader_done(struct sbx_yaml_reader *r)
{
	yaml_event_delete(&r->event);
	yaml_parser_delete(&r->parser);
}

int
sbx_yaml_here(const struct sbx_yaml_reader *r, int result)
{
	return at_line(r, r->event.start_mark.line + 1, result);
}

int
sbx_yaml_refuse(const struct sbx_yaml_reader *r, const char *place, const char *what)
{
	return sbx_yaml_here(r,
		sbx_fail(r->err, SBX_E_CONFIG, "%s%s%s", place != NULL ? place : "",
			place != NULL ? ": " : "", what));
}

/* libyaml marks its errors with a line, but those of single bytes only with an offset. */
static int
refuse_syntax(const struct sbx_yaml_reader *r)
{
	const yaml_parser_t *p = &r->parser;
	size_t line = p->problem_mark.line + 1;

	if (p->error == YAML_READER_ERROR)
		line = line_of(r, p->problem_offset);
	return at_line(r, line,
		sbx_fail(r->err, SBX_E_CONFIG, "%s", p->problem != NULL ? p->problem : "not YAML"));
}

static int
check_node(const struct sbx_yaml_reader *r, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor != NULL)
		return sbx_yaml_refuse(r, NULL, "anchors are not allowed");
	if (tag != NULL)
		return sbx_yaml_refuse(r, NULL, "tags are not allowed");
	return 0;
}

int
sbx_yaml_next(struct sbx_yaml_reader *r)
{
	yaml_event_t *e = &r->event;

	yaml_event_delete(e);
	if (!yaml_parser_parse(&r->parser, e))
		return refuse_syntax(r);
	if (e->type == YAML_ALIAS_EVENT)
		return sbx_yaml_refuse(r, NULL, "aliases are not allowed");
	if (e->type == YAML_SCALAR_EVENT)
		return check_node(r, e->data.scalar.anchor, e->data.scalar.tag);
	if (e->type == YAML_SEQUENCE_START_EVENT)
		return check_node(r, e->data.sequence_start.anchor, e->data.sequence_start.tag);
	if (e->type == YAML_MAPPING_START_EVENT)
		return check_node(r, e->data.mapping_start.anchor, e->data.mapping_start.tag);
	return 0;
}

int
sbx_yaml_is_null(const struct sbx_yaml_reader *r)
{
	const yaml_event_t *e = &r->event;
	const char *text;

	if (e->type != YAML_SCALAR_EVENT || e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return 0;
	text = (const char *)e->data.scalar.value;
	return *text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0;
}

const char *
sbx_yaml_text(const struct sbx_yaml_reader *r, const char *place)
{
	const yaml_event_t *e = &r->event;
	const char *wrong = NULL;

	if (e->type != YAML_SCALAR_EVENT)
		wrong = "must be a single value";
	else if (sbx_yaml_is_null(r))
		wrong = "has no value";
	else if (memchr(e->data.scalar.value, '\0', e->data.scalar.length) != NULL)
		wrong = "must not hold a NUL";
	if (wrong == NULL)
		return (const char *)e->data.scalar.value;
	(void)sbx_yaml_refuse(r, place, wrong);
	return NULL;
}
