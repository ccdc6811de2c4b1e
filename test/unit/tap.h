/*
 * TAP for unit tests: a program prints "ok N - name" lines and ends with its plan. Header only: each
 * test is one program.
 */
#ifndef SBX_TEST_TAP_H
#define SBX_TEST_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count_, tap_failed_;

#define ok(cond, ...) tap_ok_((cond) ? 1 : 0, __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_is_str_((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...)                                                                     \
	tap_is_int_((long long)(got), (long long)(want), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 4, 5), unused)) static int
tap_ok_(int good, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	tap_count_++;
	printf("%sok %d - ", good ? "" : "not ", tap_count_);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (!good) {
		tap_failed_++;
		printf("# failed at %s:%d\n", file, line);
	}
	fflush(stdout);
	return good;
}

__attribute__((format(printf, 5, 6), unused)) static int
tap_is_str_(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
{
	char name[512];
	va_list ap;
	int good;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	good = got == want || (got != NULL && want != NULL && strcmp(got, want) == 0);
	tap_ok_(good, file, line, "%s", name);
	if (!good)
		printf("#   got: %s\n#  want: %s\n", got ? got : "(null)", want ? want : "(null)");
	return good;
}

__attribute__((format(printf, 5, 6), unused)) static int
tap_is_int_(long long got, long long want, const char *file, int line, const char *fmt, ...)
{
	char name[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	tap_ok_(got == want, file, line, "%s", name);
	if (got != want)
		printf("#   got: %lld\n#  want: %lld\n", got, want);
	return got == want;
}

/* Count `n` tests as skipped; under SBX_TEST_STRICT=1 they fail. */
__attribute__((unused)) static void
skip(int n, const char *reason)
{
	const char *strict = getenv("SBX_TEST_STRICT");

	while (n-- > 0) {
		tap_count_++;
		if (strict != NULL && strcmp(strict, "1") == 0) {
			tap_failed_++;
			printf("not ok %d - skipped under SBX_TEST_STRICT: %s\n", tap_count_,
				reason);
		} else {
			printf("ok %d # SKIP %s\n", tap_count_, reason);
		}
	}
}

__attribute__((unused, warn_unused_result)) static int
done(void)
{
	printf("1..%d\n", tap_count_);
	return tap_failed_ == 0 ? 0 : 1;
}

#endif
