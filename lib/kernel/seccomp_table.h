/*
 * The system calls and what becomes of each, read by seccomp_gen.c when we build and by the test.
 * A call that is not listed answers ENOSYS, as on a kernel that does not have it, so that what
 * Linux adds later is closed until somebody has thought about it and programs use their fallbacks.
 *
 * The filter only looks at values: what is behind a pointer can be changed by another thread after
 * the check, so a call whose meaning hides there is allowed or refused as a whole.
 */
#ifndef SBX_KERNEL_SECCOMP_TABLE_H
#define SBX_KERNEL_SECCOMP_TABLE_H

#include <sys/syscall.h>

#include "kernel/compat.h"

enum sbx_verdict {
	SBX_VERDICT_ABSENT = 0, /* ENOSYS */
	SBX_VERDICT_ALLOW,
	SBX_VERDICT_DENY, /* EPERM */
	SBX_VERDICT_KILL, /* the whole process, by SIGSYS */
	SBX_VERDICT_DEBUG, /* allowed in the debug profile, else EPERM */
	/* These look at arguments: seccomp_checks.h. */
	SBX_VERDICT_SOCKET,
	SBX_VERDICT_CLONE,
	SBX_VERDICT_IOCTL,
	SBX_VERDICT_PRCTL,
	SBX_VERDICT_PRLIMIT,
	SBX_VERDICT_PERSONALITY,
	SBX_VERDICT_SECCOMP,
	SBX_VERDICT_COUNT
};

struct sbx_seccomp_rule {
	const char *name;
	unsigned number;
	enum sbx_verdict verdict;
};

/* Above every number that is given out; x32 numbers start far beyond. */
#define SBX_SECCOMP_NUMBERS 512U
#define SBX_SECCOMP_X32_BIT 0x40000000U

/* One call a line would be twice as long and half as clear. */
/* clang-format off */
#define ALLOW(call) { #call, __NR_##call, SBX_VERDICT_ALLOW }
#define DENY(call) { #call, __NR_##call, SBX_VERDICT_DENY }
#define DEBUG(call) { #call, __NR_##call, SBX_VERDICT_DEBUG }
#define ABSENT(call) { #call, __NR_##call, SBX_VERDICT_ABSENT }
#define CHECK(call, what) { #call, __NR_##call, SBX_VERDICT_##what }

static const struct sbx_seccomp_rule sbx_seccomp_rules[] = {
	/* Open descriptors: what they reach was decided when they were opened. */
	ALLOW(read), ALLOW(write), ALLOW(readv), ALLOW(writev), ALLOW(pread64), ALLOW(pwrite64),
	ALLOW(preadv), ALLOW(pwritev), ALLOW(preadv2), ALLOW(pwritev2), ALLOW(close),
	ALLOW(close_range), ALLOW(dup), ALLOW(dup3), ALLOW(pipe2), ALLOW(fcntl), ALLOW(flock),
	ALLOW(lseek), ALLOW(fsync), ALLOW(fdatasync), ALLOW(sync), ALLOW(syncfs),
	ALLOW(sync_file_range), ALLOW(fadvise64), ALLOW(readahead), ALLOW(fallocate),
	ALLOW(ftruncate), ALLOW(sendfile), ALLOW(copy_file_range), ALLOW(splice), ALLOW(tee),
	ALLOW(vmsplice), ALLOW(memfd_create), ALLOW(getdents64), CHECK(ioctl, IOCTL),

	/* Paths: only what is mounted can be named, and Landlock says what may be written. */
	ALLOW(openat), ALLOW(openat2), ALLOW(newfstatat), ALLOW(fstat), ALLOW(statx),
	ALLOW(statfs), ALLOW(fstatfs), ALLOW(faccessat), ALLOW(faccessat2), ALLOW(readlinkat),
	ALLOW(getcwd), ALLOW(chdir), ALLOW(fchdir), ALLOW(mkdirat), ALLOW(mknodat), ALLOW(linkat),
	ALLOW(symlinkat), ALLOW(unlinkat), ALLOW(renameat), ALLOW(renameat2), ALLOW(truncate),
	ALLOW(utimensat), ALLOW(umask), ALLOW(fchmod), ALLOW(fchmodat), ALLOW(fchmodat2),
	ALLOW(fchown), ALLOW(fchownat), ALLOW(setxattr), ALLOW(lsetxattr), ALLOW(fsetxattr),
	ALLOW(getxattr), ALLOW(lgetxattr), ALLOW(fgetxattr), ALLOW(listxattr), ALLOW(llistxattr),
	ALLOW(flistxattr), ALLOW(removexattr), ALLOW(lremovexattr), ALLOW(fremovexattr),
	ALLOW(setxattrat), ALLOW(getxattrat), ALLOW(listxattrat), ALLOW(removexattrat),
	ALLOW(inotify_init1), ALLOW(inotify_add_watch), ALLOW(inotify_rm_watch),

	/* Waiting for descriptors. */
	ALLOW(ppoll), ALLOW(pselect6), ALLOW(epoll_create1), ALLOW(epoll_ctl), ALLOW(epoll_pwait),
	ALLOW(epoll_pwait2), ALLOW(eventfd2), ALLOW(signalfd4), ALLOW(timerfd_create),
	ALLOW(timerfd_settime), ALLOW(timerfd_gettime), ALLOW(io_setup), ALLOW(io_submit),
	ALLOW(io_cancel), ALLOW(io_getevents), ALLOW(io_pgetevents), ALLOW(io_destroy),

	/* The process's own memory. */
	ALLOW(brk), ALLOW(mmap), ALLOW(munmap), ALLOW(mprotect), ALLOW(mremap), ALLOW(msync),
	ALLOW(madvise), ALLOW(mincore), ALLOW(mlock), ALLOW(mlock2), ALLOW(mlockall),
	ALLOW(munlock), ALLOW(munlockall), ALLOW(mseal), ALLOW(remap_file_pages),
	ALLOW(pkey_alloc), ALLOW(pkey_free), ALLOW(pkey_mprotect), ALLOW(map_shadow_stack),
	ALLOW(get_mempolicy), ALLOW(membarrier), ALLOW(rseq),

	/* Processes and threads. clone3: only pid 1, since the command filter takes it away. */
	CHECK(clone, CLONE), ALLOW(clone3), ALLOW(execve), ALLOW(execveat), ALLOW(exit),
	ALLOW(exit_group), ALLOW(wait4), ALLOW(waitid), ALLOW(getpid), ALLOW(getppid),
	ALLOW(gettid), ALLOW(getpgid), ALLOW(setpgid), ALLOW(getsid), ALLOW(setsid),
	ALLOW(pidfd_open), ALLOW(pidfd_send_signal), ALLOW(set_tid_address),
	ALLOW(set_robust_list), ALLOW(get_robust_list), ALLOW(futex), ALLOW(futex_waitv),
	ALLOW(futex_wake), ALLOW(futex_wait), ALLOW(futex_requeue), CHECK(prctl, PRCTL),
	CHECK(personality, PERSONALITY),

	/* Signals. Landlock keeps them within a command where the kernel can (ABI 6). */
	ALLOW(kill), ALLOW(tkill), ALLOW(tgkill), ALLOW(rt_sigaction), ALLOW(rt_sigprocmask),
	ALLOW(rt_sigpending), ALLOW(rt_sigsuspend), ALLOW(rt_sigtimedwait),
	ALLOW(rt_sigqueueinfo), ALLOW(rt_tgsigqueueinfo), ALLOW(rt_sigreturn), ALLOW(sigaltstack),
	ALLOW(restart_syscall),

	/* Scheduling: RLIMIT_NICE and RLIMIT_RTPRIO are 0, the control group has the last word. */
	ALLOW(sched_yield), ALLOW(sched_setaffinity), ALLOW(sched_getaffinity),
	ALLOW(sched_setparam), ALLOW(sched_getparam), ALLOW(sched_setscheduler),
	ALLOW(sched_getscheduler), ALLOW(sched_setattr), ALLOW(sched_getattr),
	ALLOW(sched_get_priority_max), ALLOW(sched_get_priority_min),
	ALLOW(sched_rr_get_interval), ALLOW(getpriority), ALLOW(setpriority), ALLOW(ioprio_get),
	ALLOW(ioprio_set), ALLOW(getcpu),

	/* Time: read it and wait for it. */
	ALLOW(nanosleep), ALLOW(clock_nanosleep), ALLOW(clock_gettime), ALLOW(clock_getres),
	ALLOW(gettimeofday), ALLOW(getitimer), ALLOW(setitimer), ALLOW(timer_create),
	ALLOW(timer_settime), ALLOW(timer_gettime), ALLOW(timer_getoverrun), ALLOW(timer_delete),
	ALLOW(times),

	/* Identity: one user is mapped and no capability is left, so there is nobody to become. */
	ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid), ALLOW(getresuid),
	ALLOW(getresgid), ALLOW(getgroups), ALLOW(setuid), ALLOW(setgid), ALLOW(setreuid),
	ALLOW(setregid), ALLOW(setresuid), ALLOW(setresgid), ALLOW(setgroups), ALLOW(setfsuid),
	ALLOW(setfsgid), ALLOW(capget), ALLOW(capset),

	/* Limits and figures. */
	ALLOW(getrlimit), ALLOW(setrlimit), CHECK(prlimit64, PRLIMIT), ALLOW(getrusage),
	ALLOW(sysinfo), ALLOW(uname), ALLOW(getrandom),

	/* Sockets: the family is checked where one is made. */
	CHECK(socket, SOCKET), CHECK(socketpair, SOCKET), ALLOW(bind), ALLOW(listen),
	ALLOW(accept), ALLOW(accept4), ALLOW(connect), ALLOW(shutdown), ALLOW(getsockname),
	ALLOW(getpeername), ALLOW(setsockopt), ALLOW(getsockopt), ALLOW(sendto), ALLOW(recvfrom),
	ALLOW(sendmsg), ALLOW(recvmsg), ALLOW(sendmmsg), ALLOW(recvmmsg),

	/* System V and POSIX objects live in the environment's own ipc namespace. */
	ALLOW(shmget), ALLOW(shmat), ALLOW(shmctl), ALLOW(shmdt), ALLOW(semget), ALLOW(semop),
	ALLOW(semtimedop), ALLOW(semctl), ALLOW(msgget), ALLOW(msgsnd), ALLOW(msgrcv),
	ALLOW(msgctl), ALLOW(mq_open), ALLOW(mq_unlink), ALLOW(mq_timedsend),
	ALLOW(mq_timedreceive), ALLOW(mq_notify), ALLOW(mq_getsetattr),

	/* A program may lock itself in further: what is added later can only restrict. */
	CHECK(seccomp, SECCOMP), ALLOW(landlock_create_ruleset), ALLOW(landlock_add_rule),
	ALLOW(landlock_restrict_self),

	/* Reach into another process. A debugger needs the first three. */
	DEBUG(ptrace), DEBUG(process_vm_readv), DEBUG(process_vm_writev), DENY(process_madvise),
	DENY(process_mrelease), DENY(pidfd_getfd), DENY(kcmp),

	/* Where memory sits is the host's to say; the last two also move other processes' pages. */
	DENY(mbind), DENY(set_mempolicy), DENY(set_mempolicy_home_node), DENY(migrate_pages),
	DENY(move_pages),

	/* Namespaces, roots and mounts; file handles open what no path reaches (CVE-2014-3519). */
	DENY(unshare), DENY(setns), DENY(chroot), DENY(pivot_root), DENY(mount), DENY(umount2),
	DENY(open_tree), DENY(open_tree_attr), DENY(move_mount), DENY(mount_setattr),
	DENY(fsopen), DENY(fsconfig), DENY(fsmount), DENY(fspick), DENY(name_to_handle_at),
	DENY(open_by_handle_at), DENY(fanotify_init), DENY(fanotify_mark), DENY(quotactl),
	DENY(quotactl_fd),

	/* Keyrings belong to a uid, not to a namespace: storage between environments. */
	DENY(add_key), DENY(request_key), DENY(keyctl),

	/* Large doors into the kernel that no ordinary program needs. */
	DENY(bpf), DENY(perf_event_open), DENY(userfaultfd),

	/* The machine: its clock, name, log, swap, kernel and power. */
	DENY(settimeofday), DENY(clock_settime), DENY(clock_adjtime), DENY(adjtimex),
	DENY(sethostname), DENY(setdomainname), DENY(syslog), DENY(acct), DENY(swapon),
	DENY(swapoff), DENY(init_module), DENY(finit_module), DENY(delete_module),
	DENY(kexec_load), DENY(kexec_file_load), DENY(reboot), DENY(vhangup),
	DENY(lookup_dcookie),

	/*
	 * Known and left out: programs have a fallback for ENOSYS and few for EPERM. io_uring does
	 * what the filter forbids without a system call; the mount queries have mountinfo;
	 * cachestat showed any readable file's pages (CVE-2025-21691), a channel between
	 * environments over shared files; secret memory is locked memory; security attributes and
	 * inode flags are new ways to set what the older ways guard.
	 */
	ABSENT(io_uring_setup), ABSENT(io_uring_enter), ABSENT(io_uring_register),
	ABSENT(statmount), ABSENT(listmount), ABSENT(cachestat), ABSENT(memfd_secret),
	ABSENT(lsm_get_self_attr), ABSENT(lsm_set_self_attr), ABSENT(lsm_list_modules),
	ABSENT(file_getattr), ABSENT(file_setattr),

#ifdef __x86_64__
	/* The first forms of calls that are allowed above; aarch64 never had them. */
	ALLOW(open), ALLOW(creat), ALLOW(stat), ALLOW(lstat), ALLOW(access), ALLOW(readlink),
	ALLOW(rename), ALLOW(mkdir), ALLOW(rmdir), ALLOW(link), ALLOW(unlink), ALLOW(symlink),
	ALLOW(chmod), ALLOW(chown), ALLOW(lchown), ALLOW(mknod), ALLOW(utime), ALLOW(utimes),
	ALLOW(futimesat), ALLOW(getdents), ALLOW(poll), ALLOW(select), ALLOW(epoll_create),
	ALLOW(epoll_wait), ALLOW(eventfd), ALLOW(signalfd), ALLOW(inotify_init), ALLOW(pipe),
	ALLOW(dup2), ALLOW(fork), ALLOW(vfork), ALLOW(getpgrp), ALLOW(pause), ALLOW(alarm),
	ALLOW(time),

	/* arch_prctl: the thread pointer. Ports and descriptor tables: nothing for a guest. */
	ALLOW(arch_prctl), DENY(iopl), DENY(ioperm), DENY(modify_ldt),
#endif
};

#undef ALLOW
#undef DENY
#undef DEBUG
#undef ABSENT
#undef CHECK
/* clang-format on */

#define SBX_SECCOMP_RULE_COUNT (sizeof(sbx_seccomp_rules) / sizeof(sbx_seccomp_rules[0]))

#endif
