/* The vocabulary of failures: code names, exit statuses, the error record. */
#ifndef SBX_DATA_ERRORS_H
#define SBX_DATA_ERRORS_H

#include "base/buf.h"
#include "base/err.h"
#include "data/json.h"

/* Exit statuses of every tool, sbx(7). */
enum sbx_exit {
	SBX_EXIT_OK = 0,
	SBX_EXIT_USAGE = 64,
	SBX_EXIT_DATA = 65,
	SBX_EXIT_NOT_FOUND = 66,
	SBX_EXIT_UNAVAILABLE = 69,
	SBX_EXIT_INTERNAL = 70,
	SBX_EXIT_SYSTEM = 71,
	SBX_EXIT_LATER = 75,
	SBX_EXIT_DENIED = 77,
	SBX_EXIT_CONFIG = 78,
};

const char *sbx_code_name(enum sbx_code code); /* "bad_request"; "internal" for nonsense */
enum sbx_code sbx_code_parse(const char *name); /* SBX_E_INTERNAL if unknown */
int sbx_code_exit(enum sbx_code code);
const char *sbx_code_retry(enum sbx_code code); /* "never", "same_id" or "later" */

/*
 * The error record as one line: type, id (a JSON text; NULL: null), code, message, hint (left out
 * when empty), executed, retry.
 */
void sbx_error_record(const struct sbx_err *err, const char *id, struct sbx_buf *out);

/* If v is an error record, fill err from it and answer 1. */
int sbx_error_from_record(struct sbx_json v, struct sbx_err *err);

#endif
