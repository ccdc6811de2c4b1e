/* base/err: texts, cutting, aliasing, and the owning locals of base/scoped. */
#include "base/err.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/scoped.h"
#include "base/utf8.h"
#include "tap.h"

static void
test_fill(void)
{
	struct sbx_err err;

	memset(&err, 0xff, sizeof(err));
	is_int(sbx_fail(&err, SBX_E_QUOTA, "%d of %s", 3, "bytes"), -1, "fail answers -1");
	is_int(err.code, SBX_E_QUOTA, "the code");
	is_int(err.sys, 0, "no errno");
	is_int(err.executed, SBX_EXECUTED_NO, "not executed");
	is_str(err.msg, "3 of bytes", "the message");
	is_str(err.hint, "", "no hint");
	is_int(err.msg[sizeof(err.msg) - 1], 0, "nothing stale behind the text");

	errno = ENOSPC;
	is_int(sbx_fail_sys(&err, SBX_E_IO, "write %s", "x"), -1, "fail_sys answers -1");
	is_int(errno, ENOSPC, "errno is kept");
	is_int(err.sys, ENOSPC, "errno is in the error");
	is_str(err.msg, "write x: No space left on device", "errno's text is appended");

	is_int(sbx_fail_wrap(&err, "store %d", 7), -1, "wrap answers -1");
	is_str(err.msg, "store 7: write x: No space left on device", "context stands in front");
	is_int(err.sys, ENOSPC, "wrap keeps errno");
	is_int(err.code, SBX_E_IO, "wrap keeps the code");
	is_int(sbx_fail_hint(&err, "free %s", "space"), -1, "hint answers -1");
	is_str(err.hint, "free space", "the hint");

	sbx_fail(&err, SBX_E_BUSY, "again: %s", err.msg);
	is_str(err.msg, "again: store 7: write x: No space left on device",
		"an argument may be the message itself");
	is_str(err.hint, "", "a new failure has no old hint");
	ok(sbx_fail(NULL, SBX_E_IO, "x") == -1 && sbx_fail_sys(NULL, SBX_E_IO, "x") == -1 &&
			sbx_fail_wrap(NULL, "x") == -1 && sbx_fail_hint(NULL, "x") == -1,
		"err may be NULL");
}

static void
test_cut(void)
{
	struct sbx_err err;
	char text[600];
	size_t i, pad;

	memset(text, 'a', sizeof(text));
	text[255] = '\0';
	sbx_fail(&err, SBX_E_IO, "%s", text);
	is_str(err.msg, text, "255 bytes fit");
	text[255] = 'a';
	text[256] = '\0';
	sbx_fail(&err, SBX_E_IO, "%s", text);
	is_int(strlen(err.msg), 255, "256 are cut");
	is_str(err.msg + 252, "...", "and marked");

	for (pad = 0; pad < 4; pad++) {
		memset(text, 'a', sizeof(text));
		for (i = pad; i + 4 < sizeof(text); i += 4)
			memcpy(text + i, "\xf0\x9f\x98\x80", 4);
		text[i] = '\0';
		sbx_fail(&err, SBX_E_IO, "%s", text);
		ok(sbx_utf8_valid(err.msg, strlen(err.msg)), "cut at a code point, %zu before",
			pad);
		is_str(err.msg + strlen(err.msg) - 3, "...", "marked");
		sbx_fail_wrap(&err, "%s", text);
		ok(sbx_utf8_valid(err.msg, strlen(err.msg)), "wrap cuts there too");
		sbx_fail_hint(&err, "%s", text);
		ok(sbx_utf8_valid(err.hint, strlen(err.hint)) && strlen(err.hint) >= 155,
			"and so does the hint");
	}
}

static void
test_scoped(void)
{
	int pair[2], left;
	char *kept;

	if (!ok(pipe2(pair, O_CLOEXEC) == 0, "pipe"))
		return;
	{
		SBX_AUTO_FD first = pair[0];
		SBX_AUTO_FD second = pair[1];
		SBX_AUTO_FD none = -1;
		SBX_AUTO_FD bad = INT_MAX; /* whose close fails */
		SBX_AUTO_FREE char *text = strdup("x");
		SBX_AUTO_FREE char *other = strdup("y");

		left = sbx_take_fd(&second);
		kept = sbx_take_ptr(other);
		ok(second == -1 && other == NULL && text != NULL && first >= 0 && none < bad,
			"take leaves nothing behind");
		errno = EDOM;
	}
	is_int(errno, EDOM, "releases keep errno");
	is_int(fcntl(pair[0], F_GETFD), -1, "closed at the end of its scope");
	is_int(left, pair[1], "a taken descriptor is the same");
	ok(fcntl(left, F_GETFD) >= 0, "and open");
	is_str(kept, "y", "a taken pointer lives");
	free(kept);
	close(left);
}

int
main(void)
{
	test_fill();
	test_cut();
	test_scoped();
	return done();
}
