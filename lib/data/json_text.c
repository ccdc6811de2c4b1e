/*
 * The grammar of RFC 8259 over bytes, in one linear pass that runs before jsmn: that tokenizer takes
 * `[1 2]`, `01` and `nul` for JSON, and its time is quadratic in the nesting. What passes here is
 * within the caps and is JSON in all but one point, duplicate keys, which json.c finds.
 * Never allocates; recursion is bounded by SBX_JSON_DEPTH_MAX.
 */
#include "data/json_text.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "data/json.h"

struct scan {
	const unsigned char *text;
	size_t length, at, tokens;
	int depth;
	struct sbx_err *err;
};

static int scan_value(struct scan *s);

static int
refuse(const struct scan *s, const char *what)
{
	return sbx_fail(s->err, SBX_E_BAD_REQUEST, "json: %s at byte %zu", what, s->at);
}

/* The byte at the cursor, -1 at the end. */
static int
peek(const struct scan *s)
{
	return s->at < s->length ? s->text[s->at] : -1;
}

static void
skip_space(struct scan *s)
{
	int c;

	while ((c = peek(s)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		s->at++;
}

/* Step over c, and any white space before it, if it comes next. */
static int
take(struct scan *s, int c)
{
	skip_space(s);
	if (peek(s) != c)
		return 0;
	s->at++;
	return 1;
}

static int
count_token(struct scan *s)
{
	if (++s->tokens > SBX_JSON_TOKENS_MAX)
		return sbx_fail(s->err, SBX_E_TOO_LARGE, "json: more than %d values and keys",
			SBX_JSON_TOKENS_MAX);
	return 0;
}

static int
scan_escape(struct scan *s)
{
	const char *why = NULL;
	uint32_t code;
	size_t n = sbx_json_escape_read(s->text + s->at, s->length - s->at, &code, &why);

	if (n == 0)
		return refuse(s, why);
	s->at += n;
	return 0;
}

static int
scan_string(struct scan *s)
{
	int c;

	if (count_token(s) < 0)
		return -1;
	s->at++;
	while ((c = peek(s)) != '"') {
		if (c < 0)
			return refuse(s, "string without an end");
		if (c < 0x20)
			return refuse(s, "raw control character in a string");
		if (c == '\\') {
			if (scan_escape(s) < 0)
				return -1;
		} else {
			size_t n = sbx_utf8_next(s->text + s->at, s->length - s->at);

			if (n == 0)
				return refuse(s, "invalid UTF-8");
			s->at += n;
		}
	}
	s->at++;
	return 0;
}

/* One digit or more. */
static int
scan_digits(struct scan *s)
{
	size_t from = s->at;
	int c;

	while ((c = peek(s)) >= '0' && c <= '9')
		s->at++;
	return s->at > from ? 0 : refuse(s, "expected a digit");
}

static int
scan_number(struct scan *s)
{
	if (peek(s) == '-')
		s->at++;
	if (peek(s) == '0')
		s->at++; /* nothing may follow a leading zero but a fraction or an exponent */
	else if (scan_digits(s) < 0)
		return -1;
	if (peek(s) == '.') {
		s->at++;
		if (scan_digits(s) < 0)
			return -1;
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		s->at++;
		if (peek(s) == '+' || peek(s) == '-')
			s->at++;
		if (scan_digits(s) < 0)
			return -1;
	}
	return 0;
}

static int
scan_primitive(struct scan *s)
{
	static const char *const words[] = { "true", "false", "null" };
	int c = peek(s);

	if (count_token(s) < 0)
		return -1;
	if (c == '-' || (c >= '0' && c <= '9'))
		return scan_number(s);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i]);

		if (s->length - s->at >= n && memcmp(s->text + s->at, words[i], n) == 0) {
			s->at += n;
			return 0;
		}
	}
	return refuse(s, "expected a value");
}

static int
scan_key(struct scan *s)
{
	skip_space(s);
	if (peek(s) != '"')
		return refuse(s, "expected a key in quotes");
	if (scan_string(s) < 0)
		return -1;
	return take(s, ':') ? 0 : refuse(s, "expected ':'");
}

static int
scan_container(struct scan *s, int is_object)
{
	int close = is_object ? '}' : ']';

	if (count_token(s) < 0)
		return -1;
	if (++s->depth > SBX_JSON_DEPTH_MAX)
		return sbx_fail(s->err, SBX_E_TOO_LARGE, "json: nested deeper than %d at byte %zu",
			SBX_JSON_DEPTH_MAX, s->at);
	s->at++;
	if (!take(s, close)) {
		do {
			if ((is_object && scan_key(s) < 0) || scan_value(s) < 0)
				return -1;
		} while (take(s, ','));
		if (!take(s, close))
			return refuse(s, is_object ? "expected ',' or '}'" : "expected ',' or ']'");
	}
	s->depth--;
	return 0;
}

static int
scan_value(struct scan *s)
{
	skip_space(s);
	switch (peek(s)) {
	case '{':
		return scan_container(s, 1);
	case '[':
		return scan_container(s, 0);
	case '"':
		return scan_string(s);
	default:
		return scan_primitive(s);
	}
}

int
sbx_json_text_check(const char *text, size_t length, size_t *tokens, struct sbx_err *err)
{
	struct scan s = { .text = (const unsigned char *)text, .length = length, .err = err };

	if (length > SBX_JSON_TEXT_MAX)
		return sbx_fail(err, SBX_E_TOO_LARGE, "json: %zu bytes, at most %d", length,
			SBX_JSON_TEXT_MAX);
	if (scan_value(&s) < 0)
		return -1;
	skip_space(&s);
	if (s.at < s.length)
		return refuse(&s, "more text after the value");
	*tokens = s.tokens;
	return 0;
}
