/* The parts of the mechanism fake: its script, and the sessions that play lines of it. */
#ifndef SBX_MECH_FAKE_H
#define SBX_MECH_FAKE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "mech/mech.h"

#define SBX_FAKE_SCRIPT_FILE "fake.ndjson" /* the copy below env/<id>/ */
#define SBX_FAKE_SCRIPT_MAX ((size_t)1024 * 1024)
#define SBX_FAKE_LINES_MAX 1024
#define SBX_FAKE_ARGS_MAX 1024
#define SBX_FAKE_DELAY_MAX_MS ((uint64_t)60 * 60 * 1000)

/* One canned result. */
struct sbx_fake_line {
	char **argv; /* that it answers, exactly; NULL: any */
	size_t argc;
	struct sbx_buf out, err;
	uint64_t delay_ms;
	int exit_code;
	int signal; /* that ends it; 0: it exits */
	int oom; /* killed as if by the memory limit */
};

struct sbx_fake_script {
	struct sbx_fake_line *lines;
	size_t count;
};

/*
 * Read a script: NDJSON, empty lines allowed. Unknown keys and everything out of range are
 * SBX_E_BAD_REQUEST that names the line. The caller calls done() also after a failure.
 */
int sbx_fake_script_read(const char *text, size_t length, struct sbx_fake_script *script,
	struct sbx_err *err) __attribute__((warn_unused_result));
void sbx_fake_script_done(struct sbx_fake_script *script);

/* The first line that answers argv, or NULL. Borrowed from the script. */
const struct sbx_fake_line *sbx_fake_script_find(const struct sbx_fake_script *script,
	char *const *argv);

/*
 * Fork a child that plays the line on these descriptors (stdin, stdout, stderr; they stay the
 * caller's): writes, sleeps, ends as told. It dies with its maker. Its pid, or -1 with errno.
 */
pid_t sbx_fake_play(const struct sbx_fake_line *line, const int fds[3])
	__attribute__((warn_unused_result));

/* The operations of struct sbx_mech that concern a session; contracts there. */
int sbx_fake_open(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_session **session, struct sbx_err *err);
void sbx_fake_close(struct sbx_session *session);
int sbx_fake_fd(const struct sbx_session *session);
int sbx_fake_start(struct sbx_session *session, const struct sbx_mech_command *command,
	uint32_t *id, struct sbx_err *err);
int sbx_fake_next(struct sbx_session *session, struct sbx_mech_event *event);
int sbx_fake_signal(struct sbx_session *session, uint32_t id, int signo, struct sbx_err *err);
int sbx_fake_kill(struct sbx_session *session, uint32_t id, int *restarted, struct sbx_err *err);
int sbx_fake_finish(struct sbx_session *session, uint32_t id, struct sbx_mech_usage *usage,
	struct sbx_err *err);

#endif
