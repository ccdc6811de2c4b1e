/*
 * One call of the engine, to its end or its deadline. What the engine says is for the log: a caller
 * gets one of our codes and our own words, since texts differ between engines and versions, and may
 * quote what a stranger chose.
 */
#include <string.h>
#include <sys/wait.h>

#include "base/child.h"
#include "base/log.h"
#include "mech/docker/docker.h"

#define SAID_MAX 4096

/*
 * What engines say, in the order of asking: the first that is in the text decides. Seen of docker
 * 20.10 to 28 and podman 4.3, which says the same in other words. A full disk comes first, since
 * that text is quoted in others; a runtime's own failure early, since it quotes what programs say.
 */
static const struct {
	const char *part;
	enum sbx_code code;
	const char *ours;
} complaints[] = {
	{ "no space left on device", SBX_E_QUOTA, "no space left" },
	{ "disk quota exceeded", SBX_E_QUOTA, "no space left" },
	{ "permission denied while trying to connect", SBX_E_DENIED,
		"the engine's socket may not be used" },
	{ "cannot connect to the docker daemon", SBX_E_UNAVAILABLE,
		"the engine cannot be reached" },
	{ "cannot connect to podman", SBX_E_UNAVAILABLE, "the engine cannot be reached" },
	{ "unable to connect to podman", SBX_E_UNAVAILABLE, "the engine cannot be reached" },
	{ "error during connect", SBX_E_UNAVAILABLE, "the engine cannot be reached" },
	{ "connection refused", SBX_E_UNAVAILABLE, "the engine cannot be reached" },
	{ "connection reset by peer", SBX_E_UNAVAILABLE, "the engine went away" },
	{ "unexpected eof", SBX_E_UNAVAILABLE, "the engine went away" },
	{ "unknown runtime", SBX_E_UNAVAILABLE, "the engine does not know the runtime" },
	{ "unknown or invalid runtime", SBX_E_UNAVAILABLE, "the engine does not know the runtime" },
	{ "default oci runtime", SBX_E_UNAVAILABLE, "the engine does not know the runtime" },
	{ "oci runtime", SBX_E_UNAVAILABLE, "the runtime failed, see the log" },
	{ "no such image", SBX_E_NOT_FOUND, "no such image" },
	{ "image not known", SBX_E_NOT_FOUND, "no such image" },
	{ "unable to find image", SBX_E_NOT_FOUND, "no such image" },
	{ "no such volume", SBX_E_NOT_FOUND, "no such volume" },
	{ "no such container", SBX_E_NOT_FOUND, "no such container" },
	{ "no such object", SBX_E_NOT_FOUND, "no such object" },
	{ "is not running", SBX_E_UNAVAILABLE, "the container does not run" },
	{ "container state improper", SBX_E_UNAVAILABLE, "the container does not run" },
	{ "volume is in use", SBX_E_BUSY, "in use" },
	{ "volume is being used", SBX_E_BUSY, "in use" },
	{ "is already in progress", SBX_E_BUSY, "somebody else does the same" },
	{ "is already in use", SBX_E_CONFLICT, "the name is in use" },
	{ "is in use: container already exists", SBX_E_CONFLICT, "the name is in use" },
	{ "volume already exists", SBX_E_CONFLICT, "the name is in use" },
	{ "is using its referenced image", SBX_E_BUSY, "in use" },
	{ "context deadline exceeded", SBX_E_TIMEOUT, "the engine waited too long itself" },
	{ "i/o timeout", SBX_E_TIMEOUT, "the engine waited too long itself" },
	{ "permission denied", SBX_E_DENIED, "permission denied" },
	{ "operation not permitted", SBX_E_DENIED, "permission denied" },
};
#define COMPLAINT_COUNT (sizeof(complaints) / sizeof(complaints[0]))

/* The row of what was said; COMPLAINT_COUNT: none. */
static size_t
find(const char *said)
{
	size_t i = 0;

	while (i < COMPLAINT_COUNT && strcasestr(said, complaints[i].part) == NULL)
		i++;
	return i;
}

enum sbx_code
sbx_docker_code(const char *said)
{
	size_t row = find(said);

	return row < COMPLAINT_COUNT ? complaints[row].code : SBX_E_INTERNAL;
}

/* "volume create", "start": a call by the words that name it. */
static const char *
second_word(const struct sbx_docker_args *args)
{
	const char *verb = args->count > 1 ? args->args[1] : "";
	int two = strcmp(verb, "volume") == 0 || strcmp(verb, "image") == 0;

	return two && args->count > 2 ? args->args[2] : "";
}

static int
complain(const struct sbx_docker_args *args, const char *said, int status, int quiet,
	struct sbx_err *err)
{
	size_t row = find(said);
	const char *verb = args->count > 1 ? args->args[1] : "", *more = second_word(args);
	const char *blank = more[0] != '\0' ? " " : "";
	/* That something is not there is often what a caller asked. */
	int news = !quiet && (row == COMPLAINT_COUNT || complaints[row].code != SBX_E_NOT_FOUND);

	sbx_log(news ? SBX_LOG_WARN : SBX_LOG_DEBUG, "%s %s%s%s: %s", args->args[0], verb, blank,
		more, said);
	if (row < COMPLAINT_COUNT)
		return sbx_fail(err, complaints[row].code, "%s %s%s%s: %s", args->args[0], verb,
			blank, more, complaints[row].ours);
	if (WIFSIGNALED(status))
		return sbx_fail(err, SBX_E_INTERNAL, "%s %s%s%s: ended by signal %d", args->args[0],
			verb, blank, more, WTERMSIG(status));
	return sbx_fail(err, SBX_E_INTERNAL, "%s %s%s%s: failed with status %d, see the log",
		args->args[0], verb, blank, more, WEXITSTATUS(status));
}

/* The command line itself: not there is the mechanism's lack, not the caller's mistake. */
static int
explain_start(const struct sbx_docker *docker, struct sbx_err *err)
{
	if (err == NULL || err->code != SBX_E_NOT_FOUND)
		return -1;
	err->code = SBX_E_UNAVAILABLE;
	return sbx_fail_hint(err,
		"install a container engine, or set `engine` in sbx.yaml; it is \"%.64s\"",
		docker->engine);
}

static void
drop_newlines(struct sbx_buf *text)
{
	while (text->length > 0 && text->data[text->length - 1] == '\n')
		text->data[--text->length] = '\0';
}

int
sbx_docker_call(const struct sbx_docker *docker, const struct sbx_docker_args *args,
	const char *input, size_t input_bytes, struct sbx_buf *out, struct sbx_err *err)
{
	SBX_AUTO_BUF said = SBX_BUF_INIT(SAID_MAX);
	struct sbx_child_talk talk = { .input = input,
		.input_bytes = input_bytes,
		.out = out,
		.said = &said,
		.timeout_ms = docker->timeout_ms,
		.keep_fd = docker->lock_fd,
		.stop = docker->stop };
	int status, rc;

	rc = sbx_child_talk(args->args, &talk, &status, err);
	drop_newlines(&said);
	if (rc != 0) {
		if (said.length > 0)
			sbx_log(docker->quiet ? SBX_LOG_DEBUG : SBX_LOG_WARN, "%s: %s",
				args->args[0], sbx_buf_str(&said));
		return explain_start(docker, err);
	}
	if (status != 0)
		return complain(args, sbx_buf_str(&said), status, docker->quiet, err);
	if (said.length > 0)
		sbx_log(SBX_LOG_DEBUG, "%s: %s", args->args[0], sbx_buf_str(&said));
	if (out != NULL && out->length > 0 && out->data[out->length - 1] == '\n')
		out->data[--out->length] = '\0';
	return 0;
}
