/*
 * Scalars of a configuration as C values, by the kind in the table and never by how YAML would
 * guess: `no` is a string where a string is wanted, and only `true` and `false` are booleans.
 */
#include "data/yaml_scalar.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "base/scoped.h"
#include "base/utf8.h"
#include "data/names.h"

#define DIGITS "0123456789"
#define QUOTED_BYTES_MAX 64

/* Decimals are thousandths once their point is gone: "1.5" is read as the integer 1500. */
static int
read_milli(const struct sbx_yaml_key *key, const char *text, const char *what, uint64_t *out,
	struct sbx_err *err)
{
	size_t whole = strspn(text, DIGITS);
	const char *fraction = text[whole] == '.' ? text + whole + 1 : "";
	size_t decimals = strspn(fraction, DIGITS);
	int quoted = (int)sbx_utf8_floor(text, strnlen(text, QUOTED_BYTES_MAX));

	if (whole > 0 && whole < QUOTED_BYTES_MAX && fraction[decimals] == '\0' &&
		(text[whole] == '\0' || (decimals > 0 && decimals <= 3))) {
		SBX_AUTO_FREE char *digits = sbx_mem_printf("%.*s%s%.*s", (int)whole, text,
			fraction, (int)(3 - decimals), "000");

		if (sbx_num_u64(digits, key->min, key->max, what, out, NULL) == 0)
			return 0;
	}
	return sbx_fail(err, SBX_E_BAD_REQUEST,
		"%s: \"%.*s\" is not a number from %ju.%03ju to %ju.%03ju", what, quoted, text,
		(uintmax_t)(key->min / 1000), (uintmax_t)(key->min % 1000),
		(uintmax_t)(key->max / 1000), (uintmax_t)(key->max % 1000));
}

static int
read_string(const struct sbx_yaml_key *key, const char *text, const char *what, char **out,
	struct sbx_err *err)
{
	size_t length = strlen(text);

	if (length < key->min || length > key->max)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: %zu bytes, must be %ju to %ju", what,
			length, (uintmax_t)key->min, (uintmax_t)key->max);
	free(*out);
	*out = sbx_mem_dup(text);
	return 0;
}

int
sbx_yaml_scalar(const struct sbx_yaml_key *key, const char *text, const char *what, void *to,
	struct sbx_err *err)
{
	static const char *const booleans[] = { "false", "true", NULL };

	switch (key->kind) {
	case SBX_YAML_BOOL:
		return sbx_names_parse(text, booleans, what, to, err);
	case SBX_YAML_U64:
		return sbx_num_u64(text, key->min, key->max, what, to, err);
	case SBX_YAML_SIZE:
		return sbx_num_size(text, key->min, key->max, what, to, err);
	case SBX_YAML_DURATION:
		return sbx_num_duration_ms(text, key->min, key->max, what, to, err);
	case SBX_YAML_MILLI:
		return read_milli(key, text, what, to, err);
	case SBX_YAML_STRING:
		return read_string(key, text, what, to, err);
	case SBX_YAML_ENUM:
		return sbx_names_parse(text, key->names, what, to, err);
	case SBX_YAML_STRINGS:
	case SBX_YAML_PAIRS:
	case SBX_YAML_MAP:
		break;
	}
	return sbx_fail(err, SBX_E_INTERNAL, "%s: not a scalar's kind: %d", what, (int)key->kind);
}
