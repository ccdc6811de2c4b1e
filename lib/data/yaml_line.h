/* Line numbers for errors that show only after a YAML document was read. */
#ifndef SBX_DATA_YAML_LINE_H
#define SBX_DATA_YAML_LINE_H

#include <stddef.h>

#include "base/err.h"

/*
 * SBX_E_CONFIG "<file>:<line>: <key>: <message>". The line is where the top-level key stands at the
 * beginning of a line; in a document that is written in flow style it is line 1. Returns -1.
 */
int sbx_yaml_fail_at(struct sbx_err *err, const char *file, const char *text, size_t length,
	const char *key, const char *fmt, ...) __attribute__((format(printf, 6, 7)));

#endif
