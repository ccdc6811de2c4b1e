/*
 * What an environment's objects are called. By the id and the state's tag alone, so that whoever
 * tears down finds them without a record.
 */
#include <stdio.h>

#include "mech/docker/docker.h"

void
sbx_docker_names(const struct sbx_mech_host *host, const char *id, struct sbx_docker_names *names)
{
	const char *tag = host->state->tag;

	_Static_assert(sizeof("sbx--") + SBX_STATE_TAG_SIZE + SBX_ENV_ID_SIZE <=
			sizeof(names->container),
		"a name fits");
	_Static_assert(SBX_STATE_TAG_SIZE <= sizeof(names->state), "a tag fits");
	snprintf(names->state, sizeof(names->state), "%s", tag);
	snprintf(names->container, sizeof(names->container), "sbx-%s-%s", tag, id);
	snprintf(names->volume, sizeof(names->volume), "sbx-%s-%s", tag, id);
}
