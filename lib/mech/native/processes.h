/* Who lives in an environment, as the host sees them, and what they hold. */
#ifndef SBX_MECH_NATIVE_PROCESSES_H
#define SBX_MECH_NATIVE_PROCESSES_H

#include <stdint.h>

/* init_pid and all that descend from it, at most `most`: how many. Some may be gone by now. */
int sbx_native_processes(int64_t init_pid, int pids[], int most);

/*
 * Bytes of files on device `dev` that have no name any more and that one of them has open or mapped,
 * each once; what nobody may look at, or is in a socket's queue, is not in it. Stops early, with what
 * it has until then, after 65,536 of what is looked at.
 */
uint64_t sbx_native_held(const int pids[], int count, uint64_t dev);

#endif
