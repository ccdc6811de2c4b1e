/*
 * Heap that never answers NULL. The one place of lib that ends the process with a word: a caller
 * that went on without memory would be code that no test ever runs.
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void __attribute__((noreturn)) out_of_memory(void)
{
	static const char text[] = "sbx: out of memory\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort();
	abort();
}

void *
sbx_mem_alloc(size_t count, size_t size)
{
	/* calloc checks the product; of nothing it may answer NULL, which is no failure. */
	void *p = calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);

	if (p == NULL)
		out_of_memory();
	return p;
}

void *
sbx_mem_grow(void *p, size_t count, size_t size)
{
	size_t bytes;
	void *moved;

	if (__builtin_mul_overflow(count, size, &bytes))
		out_of_memory();
	moved = realloc(p, bytes == 0 ? 1 : bytes);
	if (moved == NULL)
		out_of_memory();
	return moved;
}

char *
sbx_mem_dup(const char *text)
{
	return sbx_mem_dup_n(text, strlen(text));
}

char *
sbx_mem_dup_n(const char *text, size_t length)
{
	char *copy;

	if (length == SIZE_MAX)
		out_of_memory();
	copy = sbx_mem_alloc(length + 1, 1);
	if (length > 0)
		memcpy(copy, text, length);
	return copy;
}

char *
sbx_mem_printf(const char *fmt, ...)
{
	char *text;
	va_list ap;
	int length;

	va_start(ap, fmt);
	length = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (length < 0)
		out_of_memory();
	return text;
}
