/*
 * A spec of a stranger: taken or refused by name, and what is taken is within every range and reads
 * back as itself in its canonical form.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_taken(const struct sbx_spec *spec, const struct sbx_config *config)
{
	const struct sbx_limits *got = &spec->limits, *most = &config->profile.maximum;
	struct sbx_spec again;
	struct sbx_err err = { .code = SBX_OK };

	if (got->cpu_milli == 0 || got->cpu_milli > most->cpu_milli || got->memory_bytes == 0 ||
		got->memory_bytes > most->memory_bytes || got->pids == 0 ||
		got->pids > most->pids || got->wall_ms == 0 || got->wall_ms > most->wall_ms ||
		got->workspace_bytes == 0 || got->workspace_bytes > most->workspace_bytes ||
		got->workspace_inodes == 0 || got->workspace_inodes > most->workspace_inodes ||
		got->egress > most->egress || spec->epoch < 0)
		abort();
	if (sbx_spec_read(spec->canonical, strlen(spec->canonical), config, &again, &err) < 0 ||
		strcmp(again.canonical, spec->canonical) != 0)
		abort();
	sbx_spec_done(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sbx_config config;
	struct sbx_spec spec;
	struct sbx_err err = { .code = SBX_OK };

	sbx_config_init(&config);
	if (sbx_spec_read((const char *)data, size, &config, &spec, &err) == 0)
		check_taken(&spec, &config);
	else if (err.code == SBX_OK || err.msg[0] == '\0')
		abort();
	sbx_spec_done(&spec);
	sbx_config_done(&config);
	return 0;
}
