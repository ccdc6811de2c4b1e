/* base/log: each line is one write, and no text can forge a line. */
#include "base/log.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/utf8.h"
#include "tap.h"

static int seen_fd = -1; /* the other end of stderr: a message a write */
static char seen[65536];

static const char *
last_line(void)
{
	ssize_t n = recv(seen_fd, seen, sizeof(seen) - 1, MSG_DONTWAIT);

	seen[n < 0 ? 0 : n] = '\0';
	return seen;
}

/* Without its timestamp and pid, which differ each time. */
static const char *
last_json(void)
{
	static char out[sizeof(seen)];
	char *body, *pid, *rest;

	last_line();
	body = strstr(seen, ",\"severity_text\"");
	pid = strstr(seen, "\"process.pid\":");
	if (strncmp(seen, "{\"timestamp\":\"20", 16) != 0 || body == NULL || pid == NULL)
		return seen;
	rest = pid + strlen("\"process.pid\":");
	rest += strspn(rest, "0123456789");
	snprintf(out, sizeof(out), "{%.*sPID%s", (int)(pid - body - 1), body + 1, rest);
	return out;
}

static void
test_text(void)
{
	struct sbx_err err = { 0 };
	char wide[5000];

	sbx_log_setup("tool", SBX_LOG_TEXT, SBX_LOG_INFO);
	sbx_log(SBX_LOG_INFO, "hello %d", 5);
	is_str(last_line(), "tool: hello 5\n", "a line");
	sbx_log(SBX_LOG_DEBUG, "hidden");
	is_str(last_line(), "", "below the least level");
	sbx_log(SBX_LOG_WARN, "careful");
	is_str(last_line(), "tool: warning: careful\n", "a warning");
	sbx_log(SBX_LOG_ERROR, "a\nb\r\t\x1b[31m\x7f");
	is_str(last_line(), "tool: a\\x0ab\\x0d\\x09\\x1b[31m\\x7f\n", "controls are escaped");
	sbx_log(SBX_LOG_ERROR, "\xc3\xa9 \xff\xc3 \xed\xa0\x80 \xc2\x9b");
	is_str(last_line(), "tool: \xc3\xa9 \\xff\\xc3 \\xed\\xa0\\x80 \\u009b\n",
		"and invalid UTF-8, and C1 controls");
	memset(wide, 'w', sizeof(wide));
	wide[sizeof(wide) - 1] = '\0';
	sbx_log(SBX_LOG_INFO, "%s", wide);
	last_line();
	is_int(strlen(seen), 6 + 1023 + 1, "a long text is cut");
	is_str(seen + strlen(seen) - 5, "w...\n", "and marked");
	sbx_fail(&err, SBX_E_DENIED, "open x");
	sbx_log_err(&err);
	is_str(last_line(), "tool: open x\n", "an error");
	sbx_fail_hint(&err, "be root");
	sbx_log_err(&err);
	is_str(last_line(), "tool: open x (be root)\n", "and its hint");
	sbx_log_setup("tool", SBX_LOG_TEXT, SBX_LOG_DEBUG);
	sbx_log(SBX_LOG_DEBUG, "seen");
	is_str(last_line(), "tool: debug: seen\n", "at the least level");
}

static void
test_json(void)
{
	struct sbx_err err = { 0 };
	char bad[1200];

	sbx_log_setup("to\"ol", SBX_LOG_JSON, SBX_LOG_INFO);
	sbx_log(SBX_LOG_WARN, "say \"x\\y\"\n");
	is_str(last_json(),
		"{\"severity_text\":\"WARN\",\"body\":\"say \\\"x\\\\y\\\"\\u000a\","
		"\"service.name\":\"to\\\"ol\",\"attributes\":{PID}}\n",
		"a line");
	sbx_log(SBX_LOG_INFO, "\xff \xc2\x9b \xe2\x82\xac \x7f");
	is_str(last_json(),
		"{\"severity_text\":\"INFO\",\"body\":\"\\\\xff \\u009b \xe2\x82\xac \\u007f\","
		"\"service.name\":\"to\\\"ol\",\"attributes\":{PID}}\n",
		"bytes that may not stand there");
	errno = ENOENT;
	sbx_fail_sys(&err, SBX_E_NOT_FOUND, "open x");
	sbx_fail_hint(&err, "make it");
	sbx_log_err(&err);
	is_str(last_json(),
		"{\"severity_text\":\"ERROR\",\"body\":\"open x: No such file or directory"
		" (make it)\",\"service.name\":\"to\\\"ol\",\"attributes\":{PID,\"errno\":2}}\n",
		"an error");
	memset(bad, 1, sizeof(bad));
	bad[sizeof(bad) - 1] = '\0';
	sbx_log(SBX_LOG_INFO, "%s", bad);
	last_line();
	ok(strlen(seen) > 6000 && seen[strlen(seen) - 1] == '\n' &&
			strstr(seen, "...\",\"service.name\"") != NULL,
		"a text that grows is whole");
}

int
main(void)
{
	int pair[2], on_stderr;
	SBX_AUTO_FD kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return 1;
	on_stderr = dup2(pair[1], STDERR_FILENO);
	close(pair[1]);
	seen_fd = pair[0];
	is_int(on_stderr, STDERR_FILENO, "stderr is watched");
	sbx_log(SBX_LOG_INFO, "early");
	is_str(last_json(),
		"{\"severity_text\":\"INFO\",\"body\":\"early\",\"service.name\":\"sbx\","
		"\"attributes\":{PID}}\n",
		"before setup, not to a terminal: JSON");
	test_text();
	test_json();
	errno = EDOM;
	close(seen_fd);
	dup2(kept, STDERR_FILENO);
	return done();
}
