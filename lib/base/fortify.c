/*
 * What the C library's headers make of some calls where a library was compiled with their checks, and
 * musl does not have: libsodium's archive asks for it. Empty where the library has it.
 */
#include "base/mem.h"

#include <features.h>
#include <string.h>

#ifndef __GLIBC__
void __explicit_bzero_chk(void *bytes, size_t length, size_t room); /* NOLINT: glibc's name */

void
__explicit_bzero_chk(void *bytes, size_t length, size_t room) /* NOLINT */
{
	if (length > room)
		__builtin_trap();
	explicit_bzero(bytes, length);
}
#endif
