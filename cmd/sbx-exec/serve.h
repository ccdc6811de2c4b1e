/*
 * A stream of requests: serve.c reads them and sees to the whole, command.c follows one command or
 * one access to the workspace from its request to its record, events.c tells what it prints
 * meanwhile.
 */
#ifndef SBX_EXEC_SERVE_H
#define SBX_EXEC_SERVE_H

#include "exec.h"
#include "run.h"

struct serve {
	const struct exec_options *options;
	struct exec_hold *hold;
	struct exec_reader reader;
	struct exec_writer writer;
	struct command *commands;
	int count;
	int held_back; /* commands that tell live what they print wait for our reader */
};

/* ---- events.c: `event` records of one output, cut at code points */
struct events {
	struct exec_writer *writer; /* borrowed */
	const char *id; /* a JSON text or NULL, borrowed */
	const char *name; /* "stdout", "stderr" or "data" */
	uint64_t offset; /* of the first byte that is not told */
	uint64_t dropped;
	char carry[4]; /* the beginning of a code point */
	size_t carried;
};
void events_bytes(void *events, const char *bytes, size_t length); /* a tap of exec_stream */
void events_end(struct events *events); /* what was carried */
void events_started(struct exec_writer *writer, const char *id);

/* ---- command.c */
/* A STDIN request that is answered when its bytes are where they should be. */
struct pending {
	struct pending *next;
	char *id; /* a JSON text or NULL, owned */
	uint64_t until; /* of the feed's bytes */
};

/* One on its way; what its parts borrow from each other lives here. */
struct command {
	struct command *next;
	struct serve *serve;
	struct sbx_request request;
	struct exec_wish wish;
	struct exec_files files; /* workspace access instead of a command */
	struct exec_plan plan;
	struct exec_run run;
	struct events events[2];
	struct pending *pending; /* the oldest first */
	int pending_count;
	int64_t began_us;
};
/* Begin it; takes over the request. What fails is answered. */
void command_begin(struct serve *serve, struct sbx_request *request);
struct command *command_find(const struct serve *serve, const char *id);
/* More for its stdin, or for the file that it writes; takes over the request. */
void command_give(struct command *command, struct sbx_request *request);
void command_pause(struct command *command, int paused); /* what it prints, if that is told live */
void command_free(struct command *command); /* whatever it is at; ends it */

/* ---- serve.c: what the others answer with */
void serve_error(struct serve *serve, const char *id, const struct sbx_err *err);
/* {"type": TYPE, "id": ID}: done, and nothing more to say. */
void serve_done(struct serve *serve, const char *type, const char *id);
void serve_steer(struct serve *serve); /* read on, wait or end: after anything that changes that */

#endif
