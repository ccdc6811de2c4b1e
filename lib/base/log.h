/*
 * The log: stderr, text for a terminal, else one JSON object a line with OpenTelemetry field names
 * (timestamp, severity_text, body, service.name, attributes). Only tools log; lib does not.
 */
#ifndef SBX_BASE_LOG_H
#define SBX_BASE_LOG_H

#include "base/err.h"

enum sbx_log_format { SBX_LOG_AUTO = 0, SBX_LOG_TEXT, SBX_LOG_JSON };
enum sbx_log_level { SBX_LOG_DEBUG = 0, SBX_LOG_INFO, SBX_LOG_WARN, SBX_LOG_ERROR };

/* tool is borrowed for the life of the process. AUTO: text if stderr is a terminal. */
void sbx_log_setup(const char *tool, enum sbx_log_format format, enum sbx_log_level least);

/* Control bytes and invalid UTF-8 in the text are escaped, so that no line can be forged. */
void sbx_log(enum sbx_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* An error as its text line: "sbx-exec: message (hint)". */
void sbx_log_err(const struct sbx_err *err);

#endif
