/* base/buf: growth, the cap, the sticky overflow; and base/mem. */
#include "base/buf.h"

#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "tap.h"

static void
test_append(void)
{
	SBX_AUTO_BUF buf = SBX_BUF_INIT(1000000);
	int i;

	is_str(sbx_buf_str(&buf), "", "empty is a text");
	ok(buf.data == NULL, "and holds no memory");
	is_int(sbx_buf_add(&buf, NULL, 0), 0, "nothing can be added");
	is_int(sbx_buf_add(&buf, "ab\0c", 4), 0, "bytes");
	is_int(buf.length, 4, "a NUL inside counts");
	sbx_buf_clear(&buf);
	is_str(sbx_buf_str(&buf), "", "clear");
	is_int(sbx_buf_add_str(&buf, "abc"), 0, "text");
	is_int(sbx_buf_add_char(&buf, 'd'), 0, "character");
	is_int(sbx_buf_printf(&buf, "-%d-%s", 42, "x"), 0, "printf");
	is_str(sbx_buf_str(&buf), "abcd-42-x", "all in order");
	sbx_buf_consume(&buf, 5);
	is_str(sbx_buf_str(&buf), "42-x", "consume drops the front");
	sbx_buf_consume(&buf, 4);
	is_str(sbx_buf_str(&buf), "", "consume all");
	for (i = 0; i < 100000; i++)
		sbx_buf_printf(&buf, "%d", i % 10);
	is_int(buf.length, 100000, "many small pieces");
	ok(buf.data[99999] == '9' && buf.data[100000] == '\0', "whole and terminated");
	sbx_buf_done(&buf);
	ok(buf.data == NULL && buf.length == 0 && buf.cap == 1000000, "done keeps the cap");
	is_int(sbx_buf_add_str(&buf, "again"), 0, "and the buffer can be used again");
}

static void
test_cap(void)
{
	SBX_AUTO_BUF buf = { 0 };
	struct sbx_err err = { 0 };
	char *place;

	sbx_buf_init(&buf, 8);
	is_int(sbx_buf_add_str(&buf, "12345678"), 0, "exactly the cap fits");
	is_int(sbx_buf_check(&buf, "line", &err), 0, "no overflow yet");
	is_int(sbx_buf_add_char(&buf, '9'), -1, "one more does not");
	is_str(sbx_buf_str(&buf), "12345678", "what was there stays");
	sbx_buf_consume(&buf, 4);
	is_int(sbx_buf_add_char(&buf, 'x'), -1, "overflow sticks though there is room");
	is_int(sbx_buf_check(&buf, "line", &err), -1, "check answers -1");
	is_int(err.code, SBX_E_TOO_LARGE, "as too large");
	is_str(err.msg, "line: larger than 8 bytes", "naming what and the cap");
	sbx_buf_clear(&buf);
	is_int(sbx_buf_add_str(&buf, "123"), 0, "clear ends it");
	is_int(sbx_buf_printf(&buf, "%s", "456789"), -1, "printf is all or nothing");
	is_str(sbx_buf_str(&buf), "123", "nothing was taken");
	sbx_buf_clear(&buf);
	ok(sbx_buf_reserve(&buf, 9) == NULL && buf.overflow, "reserve past the cap");
	sbx_buf_clear(&buf);
	place = sbx_buf_reserve(&buf, 8);
	if (ok(place != NULL, "reserve"))
		memcpy(place, "abcdefgh", 8);
	sbx_buf_commit(&buf, 3);
	is_str(sbx_buf_str(&buf), "abc", "commit counts and terminates");
	sbx_buf_init(&buf, (sbx_buf_done(&buf), SIZE_MAX));
	sbx_buf_add_char(&buf, 'x');
	ok(sbx_buf_reserve(&buf, SIZE_MAX) == NULL && buf.overflow,
		"no wrap under the largest cap");
}

/* In a child with little memory: how does it end? */
static int
status_of(void (*fn)(void))
{
	struct rlimit core = { 0, 0 }, memory = { 64 << 20, 64 << 20 };
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &core);
		setrlimit(RLIMIT_AS, &memory);
		if (dup2(STDOUT_FILENO, STDERR_FILENO) < 0 || close(STDERR_FILENO) < 0)
			_exit(2);
		fn();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void
take_product(void)
{
	/* volatile: the compiler would see the size and refuse */
	volatile size_t count = SIZE_MAX / 2;
	volatile char *p = sbx_mem_grow(NULL, count, 4);

	p[0] = 0;
}

#ifndef __SANITIZE_ADDRESS__ /* which cannot live in 64 MiB of addresses */
static void
take_much(void)
{
	volatile size_t count = 256 << 20;
	volatile char *p = sbx_mem_alloc(count, 1);

	p[0] = 1;
}
#endif

static void
test_mem(void)
{
	char *a = sbx_mem_dup("hello"), *b = sbx_mem_dup_n("hello", 2);
	char *c = sbx_mem_printf("%s-%d", a, 5);
	char *z = sbx_mem_alloc(3, 4);
	int status;

	is_str(a, "hello", "dup");
	is_str(b, "he", "dup_n");
	is_str(c, "hello-5", "printf");
	ok(memcmp(z, "\0\0\0\0\0\0\0\0\0\0\0", 12) == 0, "alloc is zeroed");
	z = sbx_mem_grow(z, 100, 4);
	ok(memcmp(z, "\0\0\0\0\0\0\0\0\0\0\0", 12) == 0, "grow keeps the bytes");
	free(a);
	free(b);
	free(c);
	free(z);
	status = status_of(take_product);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "overflow of a product aborts");
#ifndef __SANITIZE_ADDRESS__
	status = status_of(take_much);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "out of memory aborts");
#endif
}

int
main(void)
{
	test_append();
	test_cap();
	test_mem();
	return done();
}
