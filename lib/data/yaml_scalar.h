/* One scalar of a configuration as its C value. Only for lib/data/yaml.c. */
#ifndef SBX_DATA_YAML_SCALAR_H
#define SBX_DATA_YAML_SCALAR_H

#include "base/err.h"
#include "data/yaml.h"

/*
 * text into the field of key's kind at `to` (not STRINGS, PAIRS, MAP). SBX_E_BAD_REQUEST
 * "<what>: ..."; the caller knows the line and makes it an error of configuration.
 */
int sbx_yaml_scalar(const struct sbx_yaml_key *key, const char *text, const char *what, void *to,
	struct sbx_err *err) __attribute__((warn_unused_result));

#endif
