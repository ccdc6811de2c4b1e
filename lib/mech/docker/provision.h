/*
 * What a provision by an engine asks before and proves after, for docker.c: check.c decides and
 * starts nothing, probe.c tries it all in containers that end at once.
 */
#ifndef SBX_MECH_DOCKER_PROVISION_H
#define SBX_MECH_DOCKER_PROVISION_H

#include "mech/channel.h"
#include "mech/docker/docker.h"

/* ---- check.c */
/* What these mechanisms cannot do: SBX_E_BAD_REQUEST, SBX_E_UNAVAILABLE. */
int sbx_docker_check_spec(const char *mechanism, const struct sbx_spec *spec, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The runtime, its network in production, the limits that the configuration requires. */
int sbx_docker_check_engine(const struct sbx_mech_host *host, const struct sbx_docker *docker,
	const struct sbx_docker_engine *engine, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* The kernel inside is the promised one; that pid 1 is confined, the session asked at its start. */
int sbx_docker_check_hello(const struct sbx_mech_host *host, const struct sbx_docker *docker,
	const struct sbx_chan_hello *hello, struct sbx_err *err)
	__attribute__((warn_unused_result));
/* `enforced`, of what these three proved. */
void sbx_docker_note_layers(const struct sbx_docker *docker, const struct sbx_spec *spec,
	const struct sbx_docker_engine *engine, const struct sbx_chan_hello *hello,
	struct sbx_env_record *record);

/* ---- probe.c */
void sbx_docker_probe(const struct sbx_mech_host *host, const char *mechanism,
	struct sbx_probe *probe);

#endif
