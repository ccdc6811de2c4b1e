/*
 * --resolve: a local reference becomes the immutable digest that a spec takes: by the
 * configuration's table, else by what the mechanism's engine has. Never asks a registry.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/scoped.h"
#include "data/json_out.h"
#include "provision.h"

/* 1 and the digest, or 0. */
static int
configured(const struct sbx_yaml_pairs *images, const char *reference,
	char digest[SBX_MECH_DIGEST_SIZE])
{
	for (size_t i = 0; i < images->count; i++) {
		if (strcmp(images->keys[i], reference) != 0)
			continue;
		snprintf(digest, SBX_MECH_DIGEST_SIZE, "%s", images->values[i]);
		return 1;
	}
	return 0;
}

static int
print(const char *reference, const char *digest, const char *mechanism, struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	struct sbx_json_out json;

	sbx_json_out_init(&json, &line);
	sbx_json_out_object(&json, NULL);
	sbx_json_out_string(&json, "type", "image");
	sbx_json_out_string(&json, "reference", reference);
	sbx_json_out_string(&json, "digest", digest);
	sbx_json_out_string(&json, "mechanism", mechanism);
	sbx_json_out_end(&json);
	if (sbx_json_out_line(&json, "image record", err) < 0)
		return -1;
	return sbx_tool_print(&line, err);
}

int
provision_resolve(const struct sbx_tool *tool, const char *reference, const char *mechanism,
	struct sbx_err *err)
{
	const char *name = mechanism != NULL ? mechanism : tool->config.mechanism;
	const struct sbx_mech *mech = sbx_mech_find(name, err);
	char digest[SBX_MECH_DIGEST_SIZE];

	if (mech == NULL)
		return -1;
	if (!configured(&tool->config.images, reference, digest)) {
		if (mech->resolve == NULL) {
			sbx_fail(err, SBX_E_NOT_FOUND, "no image \"%.80s\"", reference);
			return sbx_fail_hint(err,
				"mechanism %s knows those under `images` in sbx.yaml", name);
		}
		if (mech->resolve(&tool->host, reference, digest, err) < 0)
			return -1;
	}
	sbx_log(SBX_LOG_INFO, "image %s is %s", reference, digest);
	return print(reference, digest, name, err);
}
