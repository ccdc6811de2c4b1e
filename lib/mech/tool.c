/*
 * The common frame of the tools: how main begins, what is opened, how a tool answers. Prints only
 * what it is told to, and never decides anything about an environment.
 */
#include "mech/tool.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"
#include "base/log.h"
#include "data/errors.h"

int
sbx_tool_begin(const struct sbx_tool_about *about, int argc, char **argv, void *options,
	struct sbx_err *err)
{
	struct sbx_opt_common *common =
		(struct sbx_opt_common *)(void *)((char *)options + about->common_offset);
	int closed = fcntl(STDOUT_FILENO, F_GETFD) < 0;
	int first;

	sbx_log_setup(about->name, SBX_LOG_AUTO, SBX_LOG_INFO);
	if (sbx_fd_sanitize(err) < 0)
		return -1;
	if (closed)
		return sbx_fail(err, SBX_E_IO, "stdout is closed");
	signal(SIGPIPE, SIG_IGN);
	first = sbx_opt_parse(about->table, argc, argv, options, err);
	if (first < 0)
		return -1;
	sbx_log_setup(about->name, (enum sbx_log_format)common->log_format,
		common->verbose ? SBX_LOG_DEBUG : SBX_LOG_INFO);
	if (!common->help && !common->version)
		return first;
	if (common->help)
		sbx_opt_help(about->name, about->usage, about->table);
	else
		printf("%s %s\n", about->name, SBX_VERSION);
	if (fflush(stdout) != 0)
		return sbx_fail_sys(err, SBX_E_IO, "stdout");
	return SBX_TOOL_DONE;
}

int
sbx_tool_open(const struct sbx_opt_common *common, struct sbx_tool *tool, struct sbx_err *err)
{
	const char *libexec = getenv("SBX_LIBEXEC");

	if (sbx_state_load_config(common->config, &tool->config, err) < 0 ||
		sbx_state_open(common->state, tool->config.state, &tool->state, err) < 0) {
		sbx_config_done(&tool->config);
		return -1;
	}
	tool->host.config = &tool->config;
	tool->host.state = &tool->state;
	tool->host.libexec = libexec != NULL && libexec[0] != '\0' ? libexec : SBX_LIBEXECDIR;
	return 0;
}

void
sbx_tool_close(struct sbx_tool *tool)
{
	sbx_state_close(&tool->state);
	sbx_config_done(&tool->config);
}

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
#define ENDING_COUNT (sizeof(ending) / sizeof(ending[0]))

static void
mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ENDING_COUNT; i++)
		sigaddset(&set, ending[i]);
	sigprocmask(how, &set, NULL);
}

void
sbx_tool_defer(void)
{
	mask(SIG_BLOCK);
}

int
sbx_tool_deferred(void)
{
	struct sigaction action;
	sigset_t pending;

	if (sigpending(&pending) < 0)
		return 0;
	/* One that is ignored (SIGINT of a shell's background job) waits like the others, but ends
	 * nobody. */
	for (size_t i = 0; i < ENDING_COUNT; i++)
		if (sigismember(&pending, ending[i]) == 1 &&
			sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			return 1;
	return 0;
}

void
sbx_tool_undefer(void)
{
	mask(SIG_UNBLOCK);
}

int
sbx_tool_print(const struct sbx_buf *lines, struct sbx_err *err)
{
	if (sbx_io_write_all(STDOUT_FILENO, sbx_buf_str(lines), lines->length) < 0)
		return sbx_fail_sys(err, SBX_E_IO, "stdout");
	return 0;
}

int
sbx_tool_fail(const struct sbx_err *err, const char *id)
{
	SBX_AUTO_BUF record = SBX_BUF_INIT(8192);

	sbx_error_record(err, id, &record);
	/* stdout may be what failed: the text on stderr and the status still tell. */
	if (sbx_tool_print(&record, NULL) < 0)
		sbx_log(SBX_LOG_DEBUG, "the error record could not be written");
	sbx_log_err(err);
	return sbx_code_exit(err->code);
}
