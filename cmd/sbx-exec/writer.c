/*
 * Records to our stdout: queued, and written as fast as it takes them. Who fills the queue looks at
 * its length and waits; a reader that is gone or a disk that is full is a failure, told once.
 */
#include "exec.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bytes.h"

#define QUEUE_MAX ((size_t)192 * 1024 * 1024) /* a record for each command that may run at once */

static void on_writable(void *arg, uint32_t events);

static void
fail(struct exec_writer *writer, const char *what)
{
	sbx_fail_sys(&writer->failure, SBX_E_IO, "%s", what);
	writer->failure.executed = SBX_EXECUTED_UNKNOWN;
	sbx_buf_clear(&writer->queue);
	sbx_loop_stop(writer->loop);
}

/* As much as it takes now. */
static void
push(struct exec_writer *writer)
{
	while (writer->queue.length > 0) {
		ssize_t n = exec_outer_write(&writer->outer, writer->queue.data,
			writer->queue.length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			fail(writer, "stdout");
			return;
		}
		sbx_buf_consume(&writer->queue, (size_t)n);
	}
	if (writer->queue.length == 0) {
		sbx_loop_del(writer->loop, writer->writing);
		writer->writing = NULL;
	} else if (writer->writing == NULL) {
		writer->writing = sbx_loop_add(writer->loop, writer->outer.fd, EPOLLOUT,
			on_writable, writer, &writer->failure);
		if (writer->writing == NULL)
			sbx_loop_stop(writer->loop);
	}
}

static void
on_writable(void *arg, uint32_t events)
{
	struct exec_writer *writer = arg;

	(void)events;
	push(writer);
	writer->moved(writer->arg);
}

int
exec_writer_open(struct exec_writer *writer, struct sbx_loop *loop, void (*moved)(void *arg),
	void *arg, struct sbx_err *err)
{
	*writer = (struct exec_writer){ .loop = loop, .moved = moved, .arg = arg };
	sbx_buf_init(&writer->queue, QUEUE_MAX);
	return exec_outer_open(STDOUT_FILENO, O_WRONLY, &writer->outer, err);
}

void
exec_writer_put(struct exec_writer *writer, const struct sbx_buf *lines)
{
	if (writer->failure.code != SBX_OK)
		return;
	if (sbx_buf_add(&writer->queue, sbx_buf_str(lines), lines->length) < 0) {
		errno = ENOBUFS;
		fail(writer, "stdout does not keep up");
		return;
	}
	push(writer);
	writer->moved(writer->arg);
}

void
exec_writer_close(struct exec_writer *writer)
{
	if (writer->loop == NULL)
		return;
	sbx_loop_del(writer->loop, writer->writing);
	exec_outer_close(&writer->outer);
	sbx_buf_done(&writer->queue);
	writer->loop = NULL;
}
