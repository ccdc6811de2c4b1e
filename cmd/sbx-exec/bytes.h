/*
 * The parts of sbx-exec that move bytes, all driven by one loop: our own stdin and stdout (outer,
 * reader, writer), and a command's three streams (feed, stream, spill).
 */
#ifndef SBX_EXEC_BYTES_H
#define SBX_EXEC_BYTES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/loop.h"
#include "data/excerpt.h"
#include "state/spool.h"

struct exec_options;

/* ---- outer.c: one of our own 0, 1 and 2, in a form that never blocks */
struct exec_outer {
	int fd; /* owned */
	int is_socket;
	int may_block; /* could not be opened anew: asked before each use, and used in small pieces */
};
int exec_outer_open(int fd, int access, struct exec_outer *outer, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_outer_close(struct exec_outer *outer);
/* As read(2) and write(2); EAGAIN instead of waiting. */
ssize_t exec_outer_read(const struct exec_outer *outer, void *bytes, size_t length);
ssize_t exec_outer_write(const struct exec_outer *outer, const void *bytes, size_t length);

/* ---- feed.c: what goes into a command's stdin, or into a file */
struct exec_feed {
	struct sbx_loop *loop; /* borrowed */
	int wanted; /* 0: /dev/null does */
	int framed; /* in chunks, as workspace/workspace.h has it: a broken end is told from a right one */
	struct exec_outer source; /* fd -1: there is none */
	int fd; /* our end of the pipe; -1: not started, or nobody reads it any more */
	struct sbx_buf queue; /* from queue_at on: goes in next */
	size_t queue_at;
	int ended; /* no more comes */
	int end_framed; /* and it has been told so */
	uint64_t given, taken; /* bytes of the queue, ever */
	void (*moved)(void *arg); /* called when taken has grown, or fd is gone; may be NULL */
	void *arg;
	struct sbx_loop_io *reading, *writing;
};
/* A plain command's, by its options. stdin_is_taken: the environment's record came that way. */
int exec_feed_open(const struct exec_options *options, int stdin_is_taken, struct exec_feed *feed,
	struct sbx_err *err) __attribute__((warn_unused_result));
void exec_feed_open_queue(struct exec_feed *feed, int framed); /* bytes come by give() alone */
int exec_feed_open_stdin(struct exec_feed *feed, int framed, struct sbx_err *err)
	__attribute__((warn_unused_result)); /* ours, to its end */
/* Before or after the start. SBX_E_BUSY: too much waits already; SBX_E_NOT_FOUND: nobody reads it. */
int exec_feed_give(struct exec_feed *feed, const void *bytes, size_t length, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_feed_end(struct exec_feed *feed); /* no more is given */
/* Take over our end of the pipe and begin. */
int exec_feed_start(struct exec_feed *feed, struct sbx_loop *loop, int fd, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_feed_stop(struct exec_feed *feed); /* before its loop is freed */
void exec_feed_close(struct exec_feed *feed);

/* ---- spill.c: the whole of an output that is longer than what is kept of it */
struct exec_spill {
	const struct sbx_env *env; /* borrowed; NULL: nothing is spooled */
	const char *kind; /* static */
	uint64_t most_bytes, total_bytes; /* of this output, of the environment's spool */
	uint64_t bytes; /* there */
	int begun, fd; /* -1: none, or it could not be written */
	char name[SBX_SPOOL_NAME_SIZE];
};
/* Bytes that come next, before the excerpt takes them. */
void exec_spill_add(struct exec_spill *spill, const struct sbx_excerpt *excerpt, const char *bytes,
	size_t length);
void exec_spill_close(struct exec_spill *spill);

/* ---- stream.c: one of the command's outputs, kept as an excerpt or passed on */
struct exec_stream {
	struct sbx_loop *loop; /* borrowed */
	void (*moved)(void *arg); /* called after each step */
	void *arg;
	int fd; /* our end of the pipe; -1: at its end */
	int draining; /* the command is over: take what is there, wait for nothing more */
	size_t left; /* while draining: bytes that were there when it began */
	int pass_on;
	struct exec_outer outer; /* where to, with pass_on */
	struct sbx_excerpt excerpt; /* without */
	struct exec_spill spill;
	void (*tap)(void *arg, const char *bytes, size_t length); /* sees what is kept, or NULL */
	void *tap_arg;
	int paused; /* nothing is read, until it drains */
	char *chunk;
	size_t chunk_at, chunk_end; /* read and not yet written out */
	struct sbx_loop_io *reading, *writing;
	struct sbx_err failure; /* of writing out; code SBX_OK: none */
	int gone; /* our reader is, which is no failure */
};
/* pass_to: 1 or 2, or -1 to keep an excerpt of at most bound_bytes. */
int exec_stream_open(struct exec_stream *stream, int pass_to, size_t bound_bytes,
	struct sbx_err *err) __attribute__((warn_unused_result));
/* Take over our end of the pipe and watch it. */
int exec_stream_start(struct exec_stream *stream, struct sbx_loop *loop, int fd,
	void (*moved)(void *arg), void *arg, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_stream_abandon(struct exec_stream *stream); /* nobody reads it: who writes it may know */
void exec_stream_pause(struct exec_stream *stream, int paused);
/* Nobody writes any more, or nobody who counts: read what the pipe holds now and end it. What our
 * own stdout does not take at once is still to be written by the loop. */
void exec_stream_drain(struct exec_stream *stream);
int exec_stream_is_over(const struct exec_stream *stream); /* read to its end and written out */
void exec_stream_stop(struct exec_stream *stream); /* before its loop is freed */
void exec_stream_close(struct exec_stream *stream);

/* ---- writer.c: records to our stdout, none lost and none waited for */
struct exec_writer {
	struct sbx_loop *loop; /* borrowed */
	struct exec_outer outer;
	struct sbx_buf queue;
	struct sbx_loop_io *writing;
	void (*moved)(void *arg); /* called when the queue has grown or shrunk */
	void *arg;
	struct sbx_err failure; /* code SBX_OK: none */
};
int exec_writer_open(struct exec_writer *writer, struct sbx_loop *loop, void (*moved)(void *arg),
	void *arg, struct sbx_err *err) __attribute__((warn_unused_result));
void exec_writer_put(struct exec_writer *writer, const struct sbx_buf *lines);
void exec_writer_close(struct exec_writer *writer);

/* ---- reader.c: lines from our stdin, each at most 1 MiB */
struct exec_reader {
	struct sbx_loop *loop; /* borrowed */
	struct exec_outer outer;
	struct sbx_buf line;
	size_t seen; /* of it without a newline */
	int skipping; /* the rest of a line that was too long */
	int paused, ended;
	struct sbx_loop_io *reading;
	struct sbx_loop_timer *again; /* a file cannot be watched */
	/* A line without its newline; NULL: one that was too long; once more with ended set at the end. */
	void (*take)(void *arg, const char *line, size_t length);
	void *arg;
};
int exec_reader_open(struct exec_reader *reader, struct sbx_loop *loop,
	void (*take)(void *arg, const char *line, size_t length), void *arg, struct sbx_err *err)
	__attribute__((warn_unused_result));
void exec_reader_pause(struct exec_reader *reader, int paused); /* take no more lines for now */
void exec_reader_close(struct exec_reader *reader);

#endif
