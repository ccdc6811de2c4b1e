/*
 * Releases for owning locals. errno is kept, because they run between a failing call and the return
 * of the function that reports it. A failing close is no error here: what must reach the disk is
 * fsynced by its writer.
 */
#include "base/scoped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
sbx_scoped_close(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

void
sbx_scoped_free(void *pointer_to_pointer)
{
	int saved = errno;
	void *p;

	/* A copy of the bytes, as the variable may be of any pointer type. */
	memcpy(&p, pointer_to_pointer, sizeof(p));
	free(p);
	errno = saved;
}
