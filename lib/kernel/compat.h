/*
 * What kernels have and the headers of Debian 12 (Linux 6.1) or musl do not name yet. Numbers and
 * bits are the kernel's own ABI and never change; whether the running kernel knows them is asked at
 * run time, never taken from a header.
 */
#ifndef SBX_KERNEL_COMPAT_H
#define SBX_KERNEL_COMPAT_H

#include <stdint.h>
#include <sys/syscall.h>

#include <linux/landlock.h>

/*
 * System calls. From 424 on a call has the same number on x86-64 and aarch64
 * (include/uapi/asm-generic/unistd.h).
 */
#ifndef __NR_landlock_create_ruleset /* Linux 5.13 */
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule 445
#define __NR_landlock_restrict_self 446
#endif
#ifndef __NR_futex_waitv /* 5.16 */
#define __NR_futex_waitv 449
#endif
#ifndef __NR_set_mempolicy_home_node /* 5.17 */
#define __NR_set_mempolicy_home_node 450
#endif
#ifndef __NR_cachestat /* 6.5 */
#define __NR_cachestat 451
#endif
#ifndef __NR_fchmodat2 /* 6.6 */
#define __NR_fchmodat2 452
#endif
#ifndef __NR_map_shadow_stack /* 6.7 */
#define __NR_map_shadow_stack 453
#endif
#ifndef __NR_futex_wake /* 6.7 */
#define __NR_futex_wake 454
#define __NR_futex_wait 455
#define __NR_futex_requeue 456
#endif
#ifndef __NR_statmount /* 6.8 */
#define __NR_statmount 457
#define __NR_listmount 458
#endif
#ifndef __NR_lsm_get_self_attr /* 6.8 */
#define __NR_lsm_get_self_attr 459
#define __NR_lsm_set_self_attr 460
#define __NR_lsm_list_modules 461
#endif
#ifndef __NR_mseal /* 6.10 */
#define __NR_mseal 462
#endif
#ifndef __NR_setxattrat /* 6.13 */
#define __NR_setxattrat 463
#define __NR_getxattrat 464
#define __NR_listxattrat 465
#define __NR_removexattrat 466
#endif
#ifndef __NR_open_tree_attr /* 6.15 */
#define __NR_open_tree_attr 467
#endif
#ifndef __NR_file_getattr /* 6.17 */
#define __NR_file_getattr 468
#define __NR_file_setattr 469
#endif

/* Landlock rights (landlock(7)); the comment gives the ABI that brought them. */
#ifndef LANDLOCK_ACCESS_FS_REFER /* 2 */
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE /* 3 */
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP /* 4 */
#define LANDLOCK_ACCESS_NET_BIND_TCP (1ULL << 0)
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV /* 5 */
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET /* 6 */
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif
#ifndef LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF /* 7 */
#define LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF (1U << 0)
#define LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON (1U << 1)
#define LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF (1U << 2)
#endif

/*
 * struct landlock_ruleset_attr as of ABI 6. An older kernel takes the longer structure as long as
 * the fields it does not know are 0.
 */
struct sbx_landlock_ruleset_attr {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

#endif
