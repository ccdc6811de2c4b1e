/* A short program of the host, run to its end: for helpers whose only answers are status and complaint. */
#ifndef SBX_BASE_SPAWN_H
#define SBX_BASE_SPAWN_H

#include <stddef.h>

/*
 * Run argv (found by PATH, our environment) with /dev/null as input and output and wait for it.
 * `said` gets the first line of its stderr, cut to size - 1 bytes. Answers the status as wait(2)
 * has it, or -1 with errno: ENOENT if there is no such program, ETIMEDOUT if it was killed after
 * timeout_ms.
 */
int sbx_spawn_wait(char *const *argv, int timeout_ms, char *said, size_t size)
	__attribute__((warn_unused_result));

#endif
