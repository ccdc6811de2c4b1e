/*
 * For guests that take more than is given: the limit, argv[2] in MiB, and the judgement on what
 * they hold in the end.
 */
#ifndef SBX_TEST_HOSTILE_BOMB_H
#define SBX_TEST_HOSTILE_BOMB_H

#include "guest.h"

#define MIB (1024L * 1024L)

static long
limit_bytes(void)
{
	return strtol(guest_argument, NULL, 10) * MIB;
}

static void
judge(const char *what, long taken)
{
	guest_must(taken < 2 * limit_bytes(), what, "holds %ld MiB", taken / MIB);
	printf("# %s: %ld KiB, then %s\n", what, taken / 1024, strerror(errno));
}

#endif
