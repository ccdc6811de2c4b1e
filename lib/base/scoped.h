/*
 * Owning locals: a variable declared with one of these macros releases what it holds when it goes
 * out of scope, errno kept. Ownership leaves through sbx_take_fd() or sbx_take_ptr().
 */
#ifndef SBX_BASE_SCOPED_H
#define SBX_BASE_SCOPED_H

#include <stddef.h>

void sbx_scoped_close(int *fd); /* closes *fd if it is >= 0 */
void sbx_scoped_free(void *pointer_to_pointer); /* free(*(void **)p) */

#define SBX_AUTO_FD __attribute__((cleanup(sbx_scoped_close))) int
#define SBX_AUTO_FREE __attribute__((cleanup(sbx_scoped_free)))

/* Hand the descriptor on: returns it and leaves -1 behind. */
static inline int
sbx_take_fd(int *fd)
{
	int out = *fd;

	*fd = -1;
	return out;
}

/* Hand the pointer on: returns it and leaves NULL behind. */
#define sbx_take_ptr(p)                                                                            \
	__extension__({                                                                            \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#endif
