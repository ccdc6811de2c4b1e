/* Removal of a tree that somebody hostile filled: by descriptor, never through a link or a mount. */
#ifndef SBX_BASE_WALK_H
#define SBX_BASE_WALK_H

#include "base/err.h"

/*
 * Remove `name` beneath dir_fd, whatever it is, with all that it holds; directories without
 * permission are opened up first, any depth works with a bounded number of descriptors and no
 * recursion. Stops at a mount point (SBX_E_BUSY, names it). A missing name is success.
 */
int sbx_walk_remove(int dir_fd, const char *name, struct sbx_err *err)
	__attribute__((warn_unused_result));

#endif
