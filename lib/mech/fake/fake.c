/*
 * The mechanism fake: an environment in which nothing runs. Commands are answered from a script,
 * so that a harness can be evaluated without code of strangers. What is real: records, the lock,
 * the lease, descriptors, time, signals. Allowed in deployment evaluation only (mech.c).
 */
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scoped.h"
#include "mech/fake/fake.h"

static void
fake_probe(const struct sbx_mech_host *host, struct sbx_probe *probe)
{
	(void)host;
	sbx_probe_add(probe, "script", 1, 1, "canned results need nothing of the host", "");
}

/* The operator's file, by a path of theirs; a FIFO or a device must not make us wait. */
static int
read_script(const char *path, struct sbx_buf *text, struct sbx_err *err)
{
	SBX_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return sbx_fail_sys(err, errno == ENOENT ? SBX_E_NOT_FOUND : SBX_E_BAD_REQUEST,
			"fake_script %s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return sbx_fail(err, SBX_E_BAD_REQUEST, "fake_script %s: not a regular file", path);
	return sbx_io_read_all(fd, text, "fake_script", err);
}

/* `storage: memory` promises that nothing reaches a disk: then the state has to be on a tmpfs. */
static int
check_storage(const struct sbx_mech_host *host, const struct sbx_env *env, struct sbx_err *err)
{
	struct statfs fs;

	if (fstatfs(env->dir_fd, &fs) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "statfs %s", host->state->path);
	if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return 0;
	sbx_fail(err, SBX_E_UNAVAILABLE, "storage memory: the state directory %s is on a disk",
		host->state->path);
	return sbx_fail_hint(err, "name one on a tmpfs, for example --state /dev/shm/sbx");
}

/* Nothing runs between commands. */
static int
fake_keep(struct sbx_mech_birth *birth, struct sbx_err *err)
{
	(void)birth;
	(void)err;
	return 0;
}

static void
fake_drop(struct sbx_mech_birth *birth)
{
	(void)birth;
}

static int
fake_provision(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_spec *spec, struct sbx_env_record *record, struct sbx_mech_birth **birth,
	struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(SBX_FAKE_SCRIPT_MAX);
	struct sbx_fake_script script;
	int valid;

	*birth = NULL;
	if (spec->fake_script == NULL)
		return sbx_fail(err, SBX_E_BAD_REQUEST, "mechanism fake needs fake_script");
	if (spec->storage_memory && check_storage(host, env, err) < 0)
		return -1;
	if (read_script(spec->fake_script, &text, err) < 0)
		return -1;
	/* Only read to be refused now, and not at the first command. */
	valid = sbx_fake_script_read(sbx_buf_str(&text), text.length, &script, err);
	sbx_fake_script_done(&script);
	if (valid < 0 ||
		sbx_io_replace_file(env->dir_fd, SBX_FAKE_SCRIPT_FILE, sbx_buf_str(&text),
			text.length, 0600, 0, err) < 0)
		return -1;
	sbx_mech_enforced(record, "fake");
	return 0;
}

/* All that was made lies below env/<id>/ and goes with it; what plays ends with its session. */
static int
fake_destroy(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record, struct sbx_err *err)
{
	(void)host;
	(void)env;
	(void)record;
	(void)err;
	return 0;
}

/* Nothing lives, so nothing can have died: a script answers as long as its record is there. */
static int
fake_alive(const struct sbx_mech_host *host, const struct sbx_env_record *record)
{
	(void)host;
	return record->state == SBX_ENV_READY;
}

static int
fake_totals(const struct sbx_mech_host *host, const struct sbx_env_record *record,
	uint64_t *memory_bytes, uint64_t *pids)
{
	(void)host;
	(void)record;
	*memory_bytes = 0;
	*pids = 0;
	return 0;
}

static int
fake_answers(const struct sbx_mech_host *host, const struct sbx_env *env,
	const struct sbx_env_record *record)
{
	(void)env;
	return fake_alive(host, record);
}

const struct sbx_mech sbx_mech_fake = {
	.name = "fake",
	.probe = fake_probe,
	.provision = fake_provision,
	.keep = fake_keep,
	.drop = fake_drop,
	.destroy = fake_destroy,
	.alive = fake_alive,
	.answers = fake_answers,
	.totals = fake_totals,
	.open = sbx_fake_open,
	.close = sbx_fake_close,
	.fd = sbx_fake_fd,
	.start = sbx_fake_start,
	.next = sbx_fake_next,
	.signal = sbx_fake_signal,
	.kill = sbx_fake_kill,
	.finish = sbx_fake_finish,
};
