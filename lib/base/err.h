/*
 * Errors as values: what went wrong, in a form that crosses a pipe in one write and becomes an
 * error record without further thought.
 */
#ifndef SBX_BASE_ERR_H
#define SBX_BASE_ERR_H

#include <errno.h>

/*
 * The codes of error records. Their names and exit statuses stand in data/errors.c; the order here
 * is the order of the tables there.
 */
enum sbx_code {
	SBX_OK = 0,
	SBX_E_USAGE, /* the command line */
	SBX_E_CONFIG, /* a configuration file */
	SBX_E_BAD_REQUEST,
	SBX_E_TOO_LARGE,
	SBX_E_NOT_FOUND,
	SBX_E_CONFLICT,
	SBX_E_DENIED,
	SBX_E_UNAVAILABLE,
	SBX_E_UNCONFIGURED,
	SBX_E_STALE_EPOCH,
	SBX_E_EXPIRED,
	SBX_E_RELEASING,
	SBX_E_LOCKED,
	SBX_E_BUSY,
	SBX_E_QUOTA,
	SBX_E_TIMEOUT,
	SBX_E_CANCELLED,
	SBX_E_START_FAILED,
	SBX_E_IO,
	SBX_E_CORRUPT,
	SBX_E_INTERNAL,
	SBX_E_COUNT
};

/* Whether the effect that was asked for happened, as far as the failing side can tell. */
enum sbx_executed { SBX_EXECUTED_NO = 0, SBX_EXECUTED_YES, SBX_EXECUTED_UNKNOWN };

/*
 * Owned by the caller, no heap, below PIPE_BUF (4,096): a child writes it to its parent as it is.
 * A zeroed struct means "no error". msg and hint are always terminated; a text that does not fit
 * is cut at a code point and ends in "...".
 */
struct sbx_err {
	enum sbx_code code;
	int sys; /* errno, 0 if no system call is to blame */
	enum sbx_executed executed;
	char msg[256];
	char hint[160]; /* what the reader can do about it; may be empty */
};

/* Fill err and return -1, so that a caller can write `return sbx_fail(err, ...)`. err may be NULL. */
int sbx_fail(struct sbx_err *err, enum sbx_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with errno: appends ": " and its text, keeps the number in err->sys. */
int sbx_fail_sys(struct sbx_err *err, enum sbx_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Put context in front of a message that is already there: "<context>: <message>". Returns -1. */
int sbx_fail_wrap(struct sbx_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Set the hint of a failed err. Returns -1. */
int sbx_fail_hint(struct sbx_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
