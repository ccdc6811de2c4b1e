/*
 * What became of the command: judged once, from what was seen and counted, and then said, as a
 * record, as an exit status, or both. A status that nobody saw is "lost", never success.
 */
#include "exec.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "data/errors.h"
#include "data/json.h"
#include "run.h"

#define STATUS_OURS 125 /* a failure of ours, where the status is the command's */
#define STATUS_NOT_EXECUTABLE 126
#define STATUS_NOT_FOUND 127

/* A result with the storage that it borrows. */
struct verdict {
	struct sbx_result result;
	const char *enforced[SBX_ENV_LAYERS_MAX + 1];
	char error[128];
	char background[16];
};

/* As a shell says why a program did not start. */
static int
start_status(const struct exec_outcome *outcome)
{
	if (strcmp(outcome->stage, "execve") != 0)
		return STATUS_OURS;
	switch (outcome->start_error) {
	case ENOENT:
		return STATUS_NOT_FOUND;
	case EACCES:
	case EPERM:
	case ENOEXEC:
	case EISDIR:
	case ENOTDIR:
	case ELOOP:
	case ENAMETOOLONG:
	case ETXTBSY:
	case ELIBBAD:
	case EINVAL:
	case E2BIG:
		return STATUS_NOT_EXECUTABLE;
	default:
		return STATUS_OURS;
	}
}

static void
judge_end(const struct exec_outcome *outcome, struct verdict *verdict)
{
	struct sbx_result *result = &verdict->result;

	result->exit_code = -1;
	result->oom = outcome->oom || (outcome->has_usage && outcome->usage.oom_kills > 0);
	if (outcome->lost) {
		result->reason = SBX_REASON_LOST;
		return;
	}
	if (outcome->restarted) {
		result->reason = SBX_REASON_RESTARTED;
		return;
	}
	if (outcome->start_error != 0) {
		result->reason = SBX_REASON_START_FAILED;
		result->exit_code = start_status(outcome);
		snprintf(verdict->error, sizeof(verdict->error), "%s: %s", outcome->stage,
			strerror(outcome->start_error));
		result->error = verdict->error;
		return;
	}
	if (WIFSIGNALED(outcome->status))
		result->signal = WTERMSIG(outcome->status);
	else
		result->exit_code = WEXITSTATUS(outcome->status);
	/* One that ended by itself before anybody looked has broken its limit all the same. */
	if (outcome->forced != SBX_REASON_EXITED)
		result->reason = outcome->forced;
	else if (outcome->quota != NULL)
		result->reason = SBX_REASON_QUOTA;
	else if (result->signal == SIGKILL && result->oom)
		result->reason = SBX_REASON_MEMORY;
	else
		result->reason = result->signal != 0 ? SBX_REASON_SIGNAL : SBX_REASON_EXITED;
}

static void
judge_limit(const struct exec_target *target, const struct exec_run *run, struct sbx_result *result)
{
	const struct sbx_limits *limits = &target->record.limits;
	const struct exec_outcome *outcome = &run->outcome;

	if (result->reason == SBX_REASON_QUOTA) {
		result->limit = outcome->quota;
		result->limit_value = strcmp(outcome->quota, "workspace_bytes") == 0 ?
			limits->workspace_bytes :
			limits->workspace_inodes;
	} else if (result->reason == SBX_REASON_TIMEOUT) {
		result->limit = "wall_time";
		result->limit_value = run->plan->limit_ms;
	} else if (result->oom) {
		result->limit = "memory";
		result->limit_value = limits->memory_bytes;
	} else if (outcome->has_usage && outcome->usage.pids_hits > 0) {
		result->limit = "pids";
		result->limit_value = limits->pids;
	}
}

static uint64_t
between(int64_t from_us, int64_t to_us)
{
	return to_us > from_us ? (uint64_t)(to_us - from_us) : 0;
}

static void
judge_cost(const struct exec_outcome *outcome, int64_t began_us, struct sbx_result *result)
{
	int64_t started_us = outcome->started_us != 0 ? outcome->started_us : outcome->ended_us;

	result->start_us = between(outcome->asked_us, started_us);
	result->run_us = between(started_us, outcome->ended_us);
	result->total_us = between(began_us, sbx_clock_mono_us());
	result->wall_ms = result->run_us / 1000;
	result->has_usage = outcome->has_usage;
	result->cpu_ms = outcome->usage.cpu_us / 1000;
	result->peak_memory_bytes = outcome->usage.has_memory ? outcome->usage.peak_memory_bytes :
								0;
	result->usage_exact = outcome->usage.exact;
	result->killed = outcome->usage.left_over != 0;
	result->pipes_held = outcome->pipes_held;
	result->restarted = outcome->kill_restarted || outcome->restarted;
}

/* For a person: what struck, and what raises it. */
static void
tell_limits(const struct exec_options *options, const struct sbx_result *result)
{
	static const struct {
		const char *limit, *raised_by;
	} texts[] = {
		{ "wall_time", "--timeout, up to limits.wall_time of the spec" },
		{ "memory", "limits.memory of the spec" },
		{ "pids", "limits.pids of the spec" },
		{ "workspace_bytes", "limits.workspace_bytes of the spec" },
		{ "workspace_inodes", "limits.workspace_inodes of the spec" },
	};

	for (size_t i = 0; result->limit != NULL && i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(result->limit, texts[i].limit) == 0)
			sbx_log(SBX_LOG_WARN, "the command met its limit of %s; it is raised by %s",
				result->limit, texts[i].raised_by);
	if (!options->raw &&
		(result->out.bytes > result->out.kept || result->err.bytes > result->err.kept))
		sbx_log(SBX_LOG_WARN, "not all output was kept; --output-bytes keeps more");
}

/* With --raw nothing else tells why there is no status of the command's own. */
static int
answer_raw(const struct exec_run *run, const char *program, const struct sbx_result *result)
{
	if (result->reason == SBX_REASON_START_FAILED)
		sbx_log(SBX_LOG_ERROR, "start %s: %s", program, result->error);
	else if (result->reason == SBX_REASON_LOST || result->reason == SBX_REASON_RESTARTED)
		sbx_log(SBX_LOG_ERROR, "the environment was %s while the command ran",
			sbx_reason_names[result->reason]);
	for (int i = 0; i < 2; i++) {
		if (run->streams[i].failure.code == SBX_OK)
			continue;
		sbx_log_err(&run->streams[i].failure);
		return STATUS_OURS;
	}
	return sbx_result_status(result);
}

static void
finish_stream(struct exec_stream *stream, struct sbx_result_stream *result)
{
	sbx_excerpt_finish(&stream->excerpt, result);
	if (stream->spill.bytes == 0)
		return;
	result->spool = stream->spill.name;
	result->spooled = stream->spill.bytes;
}

static void
judge(const struct exec_target *target, const struct exec_wish *wish, struct exec_run *run,
	int64_t began_us, struct verdict *verdict)
{
	struct sbx_result *result = &verdict->result;

	*verdict = (struct verdict){
		.result = { .id = wish->id, .env = target->record.id, .argv = wish->argv }
	};
	for (size_t i = 0; i < target->record.enforced_count; i++)
		verdict->enforced[i] = target->record.enforced[i];
	result->enforced = verdict->enforced;
	judge_end(&run->outcome, verdict);
	judge_limit(target, run, result);
	judge_cost(&run->outcome, began_us, result);
	if (wish->background)
		result->background = verdict->background;
	if (run->outcome.usage.stays)
		snprintf(verdict->background, sizeof(verdict->background), "b%d",
			run->outcome.usage.background);
	if (run->changes.json.length > 0)
		result->changes = sbx_buf_str(&run->changes.json);
	result->has_workspace = run->changes.measured;
	result->workspace_bytes = run->changes.bytes;
	result->workspace_inodes = run->changes.inodes;
	finish_stream(&run->streams[0], &result->out);
	finish_stream(&run->streams[1], &result->err);
}

/* The command ran, whatever becomes of its record. */
static int
write_record(const struct sbx_result *result, struct sbx_buf *line, struct sbx_err *err)
{
	if (sbx_result_record(result, line, err) == 0)
		return 0;
	err->executed = SBX_EXECUTED_YES;
	return -1;
}

int
exec_verdict(const struct exec_target *target, const struct exec_wish *wish, struct exec_run *run,
	int64_t began_us, struct sbx_buf *line, struct sbx_err *err)
{
	struct verdict verdict;

	judge(target, wish, run, began_us, &verdict);
	return write_record(&verdict.result, line, err);
}

static int
answer_record(const struct sbx_result *result, struct sbx_err *err)
{
	SBX_AUTO_BUF line = SBX_BUF_INIT(SBX_JSON_LINE_MAX);

	if (write_record(result, &line, err) < 0)
		return -1;
	if (sbx_tool_print(&line, err) == 0)
		return 0;
	err->executed = SBX_EXECUTED_YES;
	return -1;
}

int
exec_answer(const struct exec_options *options, const struct exec_target *target,
	const struct exec_wish *wish, struct exec_run *run, int64_t began_us, struct sbx_err *err)
{
	const struct exec_outcome *outcome = &run->outcome;
	int by_command = options->raw || options->exit_code;
	struct verdict verdict;
	int status = 0;

	judge(target, wish, run, began_us, &verdict);
	if (isatty(STDERR_FILENO))
		tell_limits(options, &verdict.result);
	if (by_command)
		status = sbx_result_status(&verdict.result);
	if (options->raw)
		status = answer_raw(run, wish->argv[0], &verdict.result);
	else if (answer_record(&verdict.result, err) < 0)
		return -1;
	if (outcome->trouble.code == SBX_OK)
		return status;
	sbx_log_err(&outcome->trouble);
	return by_command ? STATUS_OURS : sbx_code_exit(outcome->trouble.code);
}

int
exec_fail(const struct exec_options *options, const struct exec_request *request,
	const struct sbx_err *err)
{
	int status = sbx_code_exit(err->code);

	if (options->raw || options->get != NULL || options->ls != NULL || options->tar_out != NULL)
		sbx_log_err(err); /* stdout is not for records */
	else if (request->upstream.length == 0)
		status = sbx_tool_fail(err, NULL);
	else if (sbx_tool_print(&request->upstream, NULL) < 0) /* who failed has said why */
		sbx_log_err(err);
	if ((options->raw || options->exit_code) && err->code != SBX_E_USAGE)
		return STATUS_OURS;
	return status;
}
