/*
 * Configuration in YAML, read through a table by libyaml's events. Anchors, aliases, tags, duplicate
 * keys, a second document and unknown keys are refused, each with its line number (SBX_E_CONFIG).
 */
#ifndef SBX_DATA_YAML_H
#define SBX_DATA_YAML_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum sbx_yaml_kind {
	SBX_YAML_BOOL, /* int: true, false */
	SBX_YAML_U64, /* uint64_t */
	SBX_YAML_SIZE, /* uint64_t bytes */
	SBX_YAML_DURATION, /* uint64_t ms */
	SBX_YAML_STRING, /* char *, owned; a former value is freed */
	SBX_YAML_ENUM, /* int: index in names */
	SBX_YAML_STRINGS, /* struct sbx_yaml_strings: a sequence of scalars */
	SBX_YAML_PAIRS, /* struct sbx_yaml_pairs: a mapping of scalars */
	SBX_YAML_MAP, /* nested: `table` with offsets from the same target */
	SBX_YAML_MILLI, /* uint64_t thousandths: "1.5" is 1500 */
};

struct sbx_yaml_strings {
	char **items;
	int *lines; /* of each item, for later errors */
	size_t count;
};
struct sbx_yaml_pairs {
	char **keys, **values;
	size_t count;
};

struct sbx_yaml_key {
	const char *key; /* NULL ends the table */
	enum sbx_yaml_kind kind;
	size_t offset;
	uint64_t min,
		max; /* numbers; of strings the bytes, of lists and pairs the count; max never 0 */
	const char *const *names; /* ENUM */
	const struct sbx_yaml_key *table; /* MAP */
};

#define SBX_YAML_TEXT_MAX (1024 * 1024)
#define SBX_YAML_PAIRS_MAX 4096 /* the most that a table may allow: their keys are searched */

/*
 * `file` is only for messages: "sbx.yaml:12: memory: ...". An empty document changes nothing; a key
 * without a value is an error. After an error the target is partly filled and still the caller's
 * to release.
 */
int sbx_yaml_read(const char *file, const char *text, size_t length,
	const struct sbx_yaml_key *table, void *target, struct sbx_err *err)
	__attribute__((warn_unused_result));

void sbx_yaml_strings_done(struct sbx_yaml_strings *list);
void sbx_yaml_pairs_done(struct sbx_yaml_pairs *pairs);

#endif
