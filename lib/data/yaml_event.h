/* libyaml's events with what configuration may not use refused. Only for lib/data/yaml.c. */
#ifndef SBX_DATA_YAML_EVENT_H
#define SBX_DATA_YAML_EVENT_H

#include <stddef.h>

#include <yaml.h>

#include "base/err.h"

/* Owned by the caller; file, text and err are borrowed from it. */
struct sbx_yaml_reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one */
	const char *file, *text;
	size_t length;
	struct sbx_err *err;
};

/* SBX_E_CONFIG for a text that is too large or not UTF-8; r is to be done with in any case. */
int sbx_yaml_reader_init(struct sbx_yaml_reader *r, const char *file, const char *text,
	size_t length, struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_yaml_reader_done(struct sbx_yaml_reader *r);

/* Go on to the next event; aliases, anchors and tags are refused. */
int sbx_yaml_next(struct sbx_yaml_reader *r) __attribute__((warn_unused_result));

/*
 * Pass a result on: 0 as it is; -1 with "<file>:<line>: " put in front of the message and the code
 * made SBX_E_CONFIG. The line is that of the current event.
 */
int sbx_yaml_here(const struct sbx_yaml_reader *r, int result);

/* Fail at the current event: "<file>:<line>: <place>: <what>"; place may be NULL. */
int sbx_yaml_refuse(const struct sbx_yaml_reader *r, const char *place, const char *what);

/* Whether the event is a scalar that YAML takes for nothing: empty, ~ or null, without quotes. */
int sbx_yaml_is_null(const struct sbx_yaml_reader *r);

/* The text of a scalar, borrowed until the next event; NULL with an error if it is none. */
const char *sbx_yaml_text(const struct sbx_yaml_reader *r, const char *place)
	__attribute__((warn_unused_result));

#endif
