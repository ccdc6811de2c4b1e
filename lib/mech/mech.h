/*
 * A mechanism: one way to build an environment and to run commands in it. Tools see only this; what
 * a mechanism cannot do it refuses by name, and nothing falls back to a weaker one.
 */
#ifndef SBX_MECH_MECH_H
#define SBX_MECH_MECH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "data/config.h"
#include "data/spec.h"
#include "state/env.h"
#include "state/root.h"
#include "workspace/workspace.h"

/* What every operation works on; all borrowed from the tool. */
struct sbx_mech_host {
	const struct sbx_config *config;
	const struct sbx_state *state;
	const char *libexec; /* directory of sbx-init */
};

/* One primitive of this host, tried by doing it. */
struct sbx_probe_item {
	char name[40];
	int works;
	int required; /* by this configuration */
	char detail[160]; /* what was seen */
	char fix[200]; /* what to do about it; "" if it works */
};
#define SBX_PROBE_MAX 40
struct sbx_probe {
	struct sbx_probe_item items[SBX_PROBE_MAX];
	size_t count;
};
void sbx_probe_add(struct sbx_probe *probe, const char *name, int works, int required,
	const char *detail, const char *fix);

/* The size of a terminal. */
struct sbx_mech_tty {
	uint16_t rows, columns;
};

/* A command to start. All borrowed; the descriptors stay the caller's and are duplicated. */
struct sbx_mech_command {
	char *const *argv; /* at least one */
	char *const *envp;
	const char *cwd; /* inside; NULL: the workspace */
	int stdin_fd, stdout_fd, stderr_fd;
	/* Not NULL: it gets a terminal, controlling it. Where pty() made it, the three descriptors
	 * are its slave; else the mechanism makes it and carries its bytes over stdin_fd and
	 * stdout_fd. */
	const struct sbx_mech_tty *tty;
	int background; /* what it starts may outlive it: SBX_E_UNAVAILABLE where it cannot */
};

/* What a background command left. */
struct sbx_mech_background {
	int number;
	uint64_t processes, cpu_us;
};
#define SBX_MECH_BACKGROUND_MAX 64

/* Workspace access, as workspace/workspace.h has it; the owner is the mechanism's to say. Borrowed; the
 * descriptors are duplicated. */
struct sbx_mech_files {
	struct sbx_files_want want;
	int in_fd; /* what comes in; -1: nothing does */
	int out_fd; /* where the answer's bytes go */
};

enum sbx_mech_event_kind {
	SBX_EVENT_STARTED = 1,
	SBX_EVENT_START_FAILED, /* nothing of it runs */
	SBX_EVENT_EXITED, /* its first process ended; descendants may live until finish() */
	SBX_EVENT_OOM, /* the memory limit struck; on some hosts the rest still has to be killed */
	SBX_EVENT_RESTARTED, /* ended because another command's kill took the whole environment */
	SBX_EVENT_LOST, /* the environment died; no more events */
};
struct sbx_mech_event {
	enum sbx_mech_event_kind kind;
	uint32_t id; /* as start() answered; 0 for LOST */
	int status; /* EXITED: as wait(2) */
	int error; /* START_FAILED: errno */
	char stage[24]; /* START_FAILED: "execve", "chdir", ... */
};

struct sbx_mech_usage {
	uint64_t cpu_us, peak_memory_bytes;
	uint64_t oom_kills, pids_hits;
	int exact; /* of this command alone */
	int has_memory; /* peak_memory_bytes means something */
	int left_over; /* descendants were still running and were killed */
	int stays; /* of a background command they were not: what they are is `background` */
	int background;
};

struct sbx_mech_birth; /* what provision() started and keep() lets live; each has its own */
struct sbx_session; /* a tool's hold on a live environment; each mechanism has its own */

#define SBX_MECH_DIGEST_SIZE 72 /* "sha256:", 64 hexadecimal digits, NUL */

/* A command line that would be run: NULL-terminated, borrowed for the call. */
typedef void sbx_mech_call_fn(void *arg, char *const *argv);

struct sbx_mech {
	const char *name;
	/* The workspace is the mechanism's own (a volume); else it is made as env/<id>/workspace. */
	int own_workspace;
	/*
	 * Outputs pass through the session: after finish() it still writes what it holds, as long as
	 * its descriptor is served, and the pipes reach end of file by that. Else they hold it all.
	 */
	int carries_output;

	/* Try each primitive that provision() would need. Never fails: what does not work is an item. */
	void (*probe)(const struct sbx_mech_host *host, struct sbx_probe *probe);

	/*
	 * Tell the commands that provision() would run with this spec and record, in order, and run
	 * none. NULL: it runs no commands.
	 */
	int (*dry_run)(const struct sbx_mech_host *host, const struct sbx_spec *spec,
		const struct sbx_env_record *record, sbx_mech_call_fn *call, void *arg,
		struct sbx_err *err);

	/* The digest of a local image by name; SBX_E_NOT_FOUND. NULL: only the configuration knows. */
	int (*resolve)(const struct sbx_mech_host *host, const char *reference,
		char digest[SBX_MECH_DIGEST_SIZE], struct sbx_err *err);

	/*
	 * Give the empty env/<id>/workspace what bounds it, before anything is in it. Fills the
	 * record's quota and writes the record before it makes something; destroy() takes it down.
	 * NULL: it stays a plain directory.
	 */
	int (*storage)(const struct sbx_mech_host *host, const struct sbx_env *env,
		struct sbx_env_record *record, struct sbx_err *err);

	/*
	 * Build the environment: env is locked, its spec and a record in state `provisioning` are
	 * written. Fills uid, gid, slot, init_*, cgroup_*, enforced; runs the self-test. What it
	 * started ends with its maker until keep(), which is called once the record names it; drop()
	 * ends it instead. After a failure the caller calls destroy() too.
	 */
	int (*provision)(const struct sbx_mech_host *host, const struct sbx_env *env,
		const struct sbx_spec *spec, struct sbx_env_record *record,
		struct sbx_mech_birth **birth, struct sbx_err *err);
	int (*keep)(struct sbx_mech_birth *birth, struct sbx_err *err); /* frees birth */
	void (*drop)(struct sbx_mech_birth *birth); /* frees birth; NULL is fine */

	/* Tear down every part, even if one fails (first error kept). Idempotent, env is locked;
	 * what is on disk below env/<id>/ is left to sbx_env_remove(). */
	int (*destroy)(const struct sbx_mech_host *host, const struct sbx_env *env,
		const struct sbx_env_record *record, struct sbx_err *err);

	/* Whether it lives; and what it uses now, for lists (zeros where unknown). */
	int (*alive)(const struct sbx_mech_host *host, const struct sbx_env_record *record);
	/* Asked, and not only looked at: 1 if it answers, 0 if it is dead, -1 if that cannot be told
	 * now (an engine that is down). One whose maker died before keep() may be seen for a moment,
	 * and does not answer. */
	int (*answers)(const struct sbx_mech_host *host, const struct sbx_env *env,
		const struct sbx_env_record *record);
	int (*totals)(const struct sbx_mech_host *host, const struct sbx_env_record *record,
		uint64_t *memory_bytes, uint64_t *pids);

	/* Attach to a live environment. SBX_E_NOT_FOUND / SBX_E_UNAVAILABLE if it is not alive. */
	int (*open)(const struct sbx_mech_host *host, const struct sbx_env *env,
		const struct sbx_env_record *record, struct sbx_session **session,
		struct sbx_err *err);
	/* Ends what this session started and closes. NULL is fine. */
	void (*close)(struct sbx_session *session);

	/* Readable (EPOLLIN) when next() has something. Borrowed from the session. */
	int (*fd)(const struct sbx_session *session);
	/* Ask for a command; STARTED or START_FAILED follows as an event with this id. */
	int (*start)(struct sbx_session *session, const struct sbx_mech_command *command,
		uint32_t *id, struct sbx_err *err);
	/*
	 * Work on the workspace: like a command, in a process that hostile code can neither signal
	 * nor trace. STARTED, then EXITED with enum sbx_files_failure as exit code; finish() after
	 * it. What has an in_fd ends cleanly when that does, which is how it is cancelled: kill()
	 * is for one that does not. NULL: there is no workspace.
	 */
	int (*files)(struct sbx_session *session, const struct sbx_mech_files *files, uint32_t *id,
		struct sbx_err *err);
	/*
	 * The workspace as a directory of this host that we may read whole, opened; the caller
	 * closes it. NULL, or SBX_E_UNAVAILABLE: it is not, and files() has to do.
	 */
	int (*workspace)(struct sbx_session *session, struct sbx_err *err);
	/*
	 * Bytes on device `dev`, the workspace's, of files without a name that processes of the
	 * environment hold: as far as that can be seen. NULL: it cannot.
	 */
	uint64_t (*held)(struct sbx_session *session, uint64_t dev);
	/* The next event: 1, or 0 when there is none now. Never blocks. Losing the environment is
	 * the event LOST, not an error. */
	int (*next)(struct sbx_session *session, struct sbx_mech_event *event);
	/*
	 * A terminal of the environment's own for a command: ends[0] its master, ends[1] its slave,
	 * owned by the caller. NULL: start() makes one, and resize() tells its size, which else is
	 * the master's. Both NULL: SBX_E_UNAVAILABLE.
	 */
	int (*pty)(struct sbx_session *session, const struct sbx_mech_tty *tty, int ends[2],
		struct sbx_err *err);
	int (*resize)(struct sbx_session *session, uint32_t id, const struct sbx_mech_tty *tty,
		struct sbx_err *err);
	/* A signal to the process group of the command's first process, while that runs; the command
	 * may do with it what it likes. NULL: no command is ever signalled. */
	int (*signal)(struct sbx_session *session, uint32_t id, int signo, struct sbx_err *err);
	/*
	 * Processes that background commands left: the list (count, or -1), and the end of one.
	 * They run only while a command of the environment does, and are frozen between. NULL:
	 * there are none.
	 */
	int (*background)(struct sbx_session *session,
		struct sbx_mech_background list[SBX_MECH_BACKGROUND_MAX], struct sbx_err *err);
	int (*end_background)(struct sbx_session *session, int number, struct sbx_err *err);
	/*
	 * Kill every process of the command. *restarted is set where that took all commands of the
	 * environment. EXITED follows if the first process lived.
	 */
	int (*kill)(struct sbx_session *session, uint32_t id, int *restarted, struct sbx_err *err);
	/*
	 * After EXITED (or START_FAILED): end what is left of the command, wait until nothing is (at
	 * most 10 s; SBX_E_BUSY names what stays), read its counters and forget it.
	 */
	int (*finish)(struct sbx_session *session, uint32_t id, struct sbx_mech_usage *usage,
		struct sbx_err *err);
};

extern const struct sbx_mech sbx_mech_native;
extern const struct sbx_mech sbx_mech_docker;
extern const struct sbx_mech sbx_mech_gvisor;
extern const struct sbx_mech sbx_mech_fake;

/* By name; SBX_E_UNCONFIGURED for microvm, SBX_E_BAD_REQUEST for a name nobody has. */
const struct sbx_mech *sbx_mech_find(const char *name, struct sbx_err *err)
	__attribute__((warn_unused_result));

/*
 * The rules of deployment, as one table: which mechanism may run where, with which storage, before
 * anything is built. SBX_E_DENIED or SBX_E_UNCONFIGURED that says which rule. *warning is set
 * (static text, else NULL) where a choice has to be logged.
 */
int sbx_mech_rules(const struct sbx_mech *mech, const struct sbx_config *config, int storage_memory,
	const char **warning, struct sbx_err *err) __attribute__((warn_unused_result));

/* The same by name, for a mechanism that this version only knows; an unknown name is
 * SBX_E_BAD_REQUEST. A tool asks this before sbx_mech_find(), so that a rule answers first. */
int sbx_mech_rules_by_name(const char *name, const struct sbx_config *config, int storage_memory,
	const char **warning, struct sbx_err *err) __attribute__((warn_unused_result));

/* The known names in the table's order, built or not; NULL past the last. */
const char *sbx_mech_name(size_t index);

/* A layer that is on, for `enforced`; asserts room. */
void sbx_mech_enforced(struct sbx_env_record *record, const char *layer);

#endif
