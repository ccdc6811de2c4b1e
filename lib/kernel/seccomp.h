/*
 * The system call filter: an allow-list, compiled to BPF when we build (seccomp_gen.c reads
 * seccomp_table.h), so that installing it costs one system call. A balanced tree over ranges of
 * numbers: the kernel runs it once for each system call number when it is installed, so its depth
 * is what a command pays.
 *
 * pid 1 installs the base filter once; each command inherits it and adds a filter of a few
 * instructions that takes away what only pid 1 may do (clone3, for CLONE_INTO_CGROUP).
 */
#ifndef SBX_KERNEL_SECCOMP_H
#define SBX_KERNEL_SECCOMP_H

enum sbx_seccomp_profile {
	SBX_SECCOMP_STRICT = 0,
	SBX_SECCOMP_DEBUG, /* ptrace and process_vm_* allowed */
};

/* Both need no_new_privs (or CAP_SYS_ADMIN) and answer 0, or -1 with errno. Async-signal-safe. */
int sbx_seccomp_base(enum sbx_seccomp_profile profile) __attribute__((warn_unused_result));
/* counted: nothing but a count bounds the workspace, so that fallocate(2) is EOPNOTSUPP. */
int sbx_seccomp_command(int counted) __attribute__((warn_unused_result));

/* 1 if the kernel has seccomp filters (asked, not installed). */
int sbx_seccomp_available(void);

#endif
