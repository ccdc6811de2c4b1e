/*
 * What the engine says of itself and of its images, read from its JSON: docker's and podman's names
 * for the same. Decides nothing; what is not said counts as not there.
 */
#include <stdio.h>
#include <string.h>

#include "base/scoped.h"
#include "data/json.h"
#include "mech/docker/docker.h"

#define INFO_MAX ((size_t)1024 * 1024)

void
sbx_docker_args_info(const struct sbx_docker *docker, struct sbx_docker_args *args)
{
	sbx_docker_args_add(args, "%s", docker->engine);
	sbx_docker_args_add(args, "info");
	sbx_docker_args_add(args, "--format={{json .}}");
}

void
sbx_docker_args_image(const struct sbx_docker *docker, const char *image,
	struct sbx_docker_args *args)
{
	sbx_docker_args_add(args, "%s", docker->engine);
	sbx_docker_args_add(args, "image");
	sbx_docker_args_add(args, "inspect");
	sbx_docker_args_add(args, "--format={{.Id}} {{json .Config.Volumes}}");
	sbx_docker_args_add(args, "%s", image);
}

static int
is_true(struct sbx_json v)
{
	int on = 0;

	return sbx_json_bool(v, "info", &on, NULL) == 0 && on;
}

static int
array_has(struct sbx_json array, const char *text)
{
	struct sbx_json value;
	size_t cursor = 0;

	while (sbx_json_each(array, &cursor, NULL, &value))
		if (sbx_json_string_is(value, text))
			return 1;
	return 0;
}

/* The runtime's arguments, with one or two dashes and in one word or two. */
static int
passes_network(struct sbx_json arguments)
{
	struct sbx_json value;
	size_t cursor = 0;
	int named = 0;

	while (sbx_json_each(arguments, &cursor, NULL, &value)) {
		if (named && sbx_json_string_is(value, "host"))
			return 1;
		if (sbx_json_string_is(value, "--network=host") ||
			sbx_json_string_is(value, "-network=host"))
			return 1;
		named = sbx_json_string_is(value, "--network") ||
			sbx_json_string_is(value, "-network");
	}
	return 0;
}

static void
read_docker(struct sbx_json root, const char *runtime, struct sbx_docker_engine *engine)
{
	struct sbx_json runtimes = sbx_json_get(root, "Runtimes"), mine;

	engine->memory = is_true(sbx_json_get(root, "MemoryLimit"));
	engine->swap = is_true(sbx_json_get(root, "SwapLimit"));
	engine->pids = is_true(sbx_json_get(root, "PidsLimit"));
	/* The second name is the API's newer one. */
	engine->cpu = is_true(sbx_json_get(root, "CpuCfsQuota")) ||
		is_true(sbx_json_get(root, "CPUCfsQuota"));
	engine->knows_runtime = 1;
	if (runtime == NULL)
		return;
	mine = sbx_json_get(runtimes, runtime);
	engine->knows_runtime = sbx_json_type(mine) == SBX_JSON_OBJECT;
	engine->host_network = passes_network(sbx_json_get(mine, "runtimeArgs"));
}

static void
read_podman(struct sbx_json host, struct sbx_docker_engine *engine)
{
	struct sbx_json controllers = sbx_json_get(host, "cgroupControllers");

	engine->memory = engine->swap = array_has(controllers, "memory");
	engine->pids = array_has(controllers, "pids");
	engine->cpu = array_has(controllers, "cpu");
	engine->knows_runtime = 1;
}

int
sbx_docker_engine_read(const char *text, size_t length, const char *runtime,
	struct sbx_docker_engine *engine, struct sbx_err *err)
{
	SBX_AUTO_JSON doc = sbx_json_parse(text, length, err);
	SBX_AUTO_FREE char *version = NULL;
	struct sbx_json root, host, said;

	*engine = (struct sbx_docker_engine){ .host_network = -1 };
	if (doc == NULL) {
		if (err != NULL)
			err->code = SBX_E_UNAVAILABLE;
		return sbx_fail_wrap(err, "what the engine says of itself");
	}
	root = sbx_json_root(doc);
	host = sbx_json_get(root, "host");
	said = sbx_json_get(root, "ServerVersion");
	if (sbx_json_type(host) == SBX_JSON_OBJECT) {
		read_podman(host, engine);
		said = sbx_json_get(sbx_json_get(root, "version"), "Version");
	} else {
		read_docker(root, runtime, engine);
	}
	/* Without its daemon docker's own half of the answer comes with status 0. */
	if (sbx_json_string(said, "version", sizeof(engine->version) - 1, &version, NULL) < 0)
		return sbx_fail(err, SBX_E_UNAVAILABLE, "the engine cannot be reached");
	snprintf(engine->version, sizeof(engine->version), "%s", version);
	return 0;
}

int
sbx_docker_engine_ask(const struct sbx_docker *docker, struct sbx_docker_engine *engine,
	struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };
	SBX_AUTO_BUF out = SBX_BUF_INIT(INFO_MAX);

	*engine = (struct sbx_docker_engine){ .host_network = -1 };
	sbx_docker_args_info(docker, &args);
	if (sbx_docker_call(docker, &args, NULL, 0, &out, err) < 0)
		return -1;
	return sbx_docker_engine_read(sbx_buf_str(&out), out.length, docker->runtime, engine, err);
}

/* "<id> <volumes as JSON>" of an image. */
static int
inspect(const struct sbx_docker *docker, const char *image, struct sbx_buf *out,
	struct sbx_err *err)
{
	SBX_AUTO_DOCKER_ARGS args = { .count = 0 };

	sbx_docker_args_image(docker, image, &args);
	return sbx_docker_call(docker, &args, NULL, 0, out, err);
}

int
sbx_docker_image_check(const struct sbx_docker *docker, const char *image, struct sbx_err *err)
{
	SBX_AUTO_BUF out = SBX_BUF_INIT(64 * 1024);
	const char *volumes;

	if (inspect(docker, image, &out, err) < 0) {
		if (err != NULL && err->code == SBX_E_NOT_FOUND)
			sbx_fail_hint(err,
				"sbx-provision --resolve REF prints the digest of an image "
				"that the engine has");
		return -1;
	}
	volumes = strchr(sbx_buf_str(&out), ' ');
	if (volumes == NULL || strcmp(volumes, " null") == 0 || strcmp(volumes, " {}") == 0)
		return 0;
	sbx_fail(err, SBX_E_BAD_REQUEST, "the image declares volumes: %.120s", volumes + 1);
	return sbx_fail_hint(err,
		"they would be writable and without a bound; build it without VOLUME");
}

/* A reference as engines have them, and nothing that could be an option or a path. */
static int
check_reference(const char *reference, struct sbx_err *err)
{
	size_t length = strspn(reference,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/@-");

	if (length >= 1 && length <= 255 && reference[length] == '\0' && reference[0] != '-' &&
		reference[0] != '/' && reference[0] != '.')
		return 0;
	return sbx_fail(err, SBX_E_BAD_REQUEST, "\"%.80s\" is no reference of an image", reference);
}

int
sbx_docker_resolve(const struct sbx_mech_host *host, const char *reference,
	char digest[SBX_MECH_DIGEST_SIZE], struct sbx_err *err)
{
	SBX_AUTO_BUF out = SBX_BUF_INIT(64 * 1024);
	struct sbx_docker docker;
	const char *id;
	size_t length;

	sbx_docker_of(host, "docker", &docker);
	if (check_reference(reference, err) < 0 || inspect(&docker, reference, &out, err) < 0)
		return -1;
	id = sbx_buf_str(&out);
	if (strncmp(id, "sha256:", 7) == 0)
		id += 7;
	/* podman leaves the algorithm out */
	length = strcspn(id, " ");
	snprintf(digest, SBX_MECH_DIGEST_SIZE, "sha256:%.*s", length <= 64 ? (int)length : 0, id);
	if (!sbx_config_is_digest(digest))
		return sbx_fail(err, SBX_E_INTERNAL, "the engine's id of %.80s is no digest",
			reference);
	return 0;
}
