/* Heap that never answers NULL: out of memory prints one line and ends the process (abort). */
#ifndef SBX_BASE_MEM_H
#define SBX_BASE_MEM_H

#include <stddef.h>

void *sbx_mem_alloc(size_t count, size_t size) /* zeroed; overflow of the product aborts */
	__attribute__((malloc, alloc_size(1, 2), returns_nonnull, warn_unused_result));
void *sbx_mem_grow(void *p, size_t count, size_t size) /* realloc; new bytes are not zeroed */
	__attribute__((alloc_size(2, 3), returns_nonnull, warn_unused_result));
char *sbx_mem_dup(const char *text) __attribute__((malloc, returns_nonnull, warn_unused_result));
char *sbx_mem_dup_n(const char *text, size_t length) /* length bytes and a NUL */
	__attribute__((malloc, returns_nonnull, warn_unused_result));
char *sbx_mem_printf(const char *fmt, ...)
	__attribute__((malloc, returns_nonnull, warn_unused_result, format(printf, 1, 2)));

#endif
