/*
 * clone3(2) for a child that shares our memory until it executes (CLONE_VM and CLONE_VFORK, as
 * vfork(2), which takes no group): the page tables of pid 1 are not copied for a command. The child
 * runs on a stack of its own and never returns; pid 1 waits for it, so that one stack is enough.
 */
#include "init.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES 65536

static char stack[STACK_BYTES] __attribute__((aligned(64)));

/* The system call, and in the child a jump to run(arg) with nothing on the stack above it. */
static long
clone3_and_run(struct clone_args *args, size_t size, void (*run)(void *), void *arg)
{
#if defined(__x86_64__)
	register long rax __asm__("rax") = SYS_clone3;
	register struct clone_args *rdi __asm__("rdi") = args;
	register size_t rsi __asm__("rsi") = size;
	register void (*r12)(void *) __asm__("r12") = run;
	register void *r13 __asm__("r13") = arg;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r13, %%rdi\n\t"
			 "call *%%r12\n\t"
			 "ud2\n"
			 "1:"
			 : "+r"(rax)
			 : "r"(rdi), "r"(rsi), "r"(r12), "r"(r13)
			 : "rcx", "r11", "cc", "memory");
	return rax;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)args;
	register size_t x1 __asm__("x1") = size;
	register void (*x19)(void *) __asm__("x19") = run;
	register void *x20 __asm__("x20") = arg;

	__asm__ volatile("svc 0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, xzr\n\t"
			 "mov x0, x20\n\t"
			 "blr x19\n\t"
			 "brk 1\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x19), "r"(x20)
			 : "cc", "memory");
	return x0;
#else
#error "sbx-init runs on x86-64 and aarch64"
#endif
}

pid_t
init_clone(int group_fd, void (*run)(void *), void *arg)
{
	struct clone_args args = {
		.flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)stack,
		.stack_size = sizeof(stack),
		.cgroup = (unsigned)group_fd,
	};
	long pid = clone3_and_run(&args, sizeof(args), run, arg);

	if (pid >= 0)
		return (pid_t)pid;
	errno = (int)-pid;
	return -1;
}
