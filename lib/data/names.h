/* A word out of a fixed list, and the error that quotes the list. */
#ifndef SBX_DATA_NAMES_H
#define SBX_DATA_NAMES_H

#include "base/err.h"

/*
 * *out becomes the index of text in the NULL-terminated names. SBX_E_BAD_REQUEST
 * "<what>: must be one of a, b, c" if it is not among them.
 */
int sbx_names_parse(const char *text, const char *const *names, const char *what, int *out,
	struct sbx_err *err) __attribute__((warn_unused_result));

#endif
