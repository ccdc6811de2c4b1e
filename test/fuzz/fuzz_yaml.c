/* Configuration of a stranger, read through a table that has every kind: it is taken or refused. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "data/yaml.h"

struct sample {
	int flag, colour;
	uint64_t number;
	char *name;
	struct sbx_yaml_strings list;
	struct sbx_yaml_pairs pairs;
};

#define AT(field) .offset = offsetof(struct sample, field)

static const char *const colours[] = { "red", "green", NULL };
static const struct sbx_yaml_key inner[] = {
	{ .key = "u", .kind = SBX_YAML_U64, AT(number), .max = UINT64_MAX },
	{ .key = "d", .kind = SBX_YAML_DURATION, AT(number), .max = UINT64_MAX },
	{ .key = NULL },
};
static const struct sbx_yaml_key table[] = {
	{ .key = "f", .kind = SBX_YAML_BOOL, AT(flag) },
	{ .key = "e", .kind = SBX_YAML_ENUM, AT(colour), .names = colours },
	{ .key = "z", .kind = SBX_YAML_SIZE, AT(number), .max = UINT64_MAX },
	{ .key = "c", .kind = SBX_YAML_MILLI, AT(number), .max = UINT64_MAX },
	{ .key = "s", .kind = SBX_YAML_STRING, AT(name), .max = 64 },
	{ .key = "l", .kind = SBX_YAML_STRINGS, AT(list), .max = 8 },
	{ .key = "p", .kind = SBX_YAML_PAIRS, AT(pairs), .max = 8 },
	{ .key = "m", .kind = SBX_YAML_MAP, .table = inner },
	{ .key = NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sample s = { 0 };
	struct sbx_err err = { 0 };
	int result = sbx_yaml_read("f", (const char *)data, size, table, &s, &err);

	if ((result < 0) != (err.code == SBX_E_CONFIG))
		abort();
	free(s.name);
	sbx_yaml_strings_done(&s.list);
	sbx_yaml_pairs_done(&s.pairs);
	return 0;
}
