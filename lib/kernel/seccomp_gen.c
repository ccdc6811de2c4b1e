/*
 * Runs while we build: turns seccomp_table.h into BPF and prints it as a C header of four arrays,
 * strict, debug, command and counted, for the architecture it was compiled on. Any doubt (a number listed
 * twice, a jump that is too long) is a failed build. Never part of a tool.
 *
 * The filter is a balanced tree over ranges of numbers with one verdict each; neighbours that agree
 * are one range. For every number the kernel asks once, at installation, whether its answer depends
 * on arguments (Linux 5.11: seccomp_cache_prepare); allowed ones then cost a bit test and never run
 * the filter. It understands loads, jumps, AND and returns, so that is all we use.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/audit.h>

#include "kernel/seccomp_checks.h"
#include "kernel/seccomp_table.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
/* cppcheck-suppress preprocessorErrorDirective */
#error "the system call filter is written for x86-64 and aarch64"
#endif

enum { PROGRAM_MAX = 511, JUMP_MAX = 255, RANGE_MAX = SBX_SECCOMP_NUMBERS + 4 };

struct program {
	struct sock_filter code[PROGRAM_MAX];
	size_t count;
};

struct range {
	unsigned first; /* up to the next range's first */
	enum sbx_verdict verdict;
};

struct ranges {
	struct range at[RANGE_MAX];
	size_t count;
};

static void
die(const char *what, const char *which)
{
	fprintf(stderr, "seccomp_gen: %s%s\n", what, which);
	exit(1);
}

/* Numbers of calls to verdicts, ABSENT where the table is silent. */
static void
read_table(enum sbx_verdict verdicts[SBX_SECCOMP_NUMBERS], int debug)
{
	static char seen[SBX_SECCOMP_NUMBERS];

	for (unsigned n = 0; n < SBX_SECCOMP_NUMBERS; n++) {
		verdicts[n] = SBX_VERDICT_ABSENT;
		seen[n] = 0;
	}
	for (size_t i = 0; i < SBX_SECCOMP_RULE_COUNT; i++) {
		const struct sbx_seccomp_rule *rule = &sbx_seccomp_rules[i];

		if (rule->number >= SBX_SECCOMP_NUMBERS)
			die("number out of bounds: ", rule->name);
		if (seen[rule->number])
			die("listed twice: ", rule->name);
		seen[rule->number] = 1;
		verdicts[rule->number] = rule->verdict;
		if (rule->verdict == SBX_VERDICT_DEBUG)
			verdicts[rule->number] = debug ? SBX_VERDICT_ALLOW : SBX_VERDICT_DENY;
	}
}

static void
add_range(struct ranges *ranges, unsigned first, enum sbx_verdict verdict)
{
	if (ranges->count > 0 && ranges->at[ranges->count - 1].verdict == verdict)
		return;
	ranges->at[ranges->count].first = first;
	ranges->at[ranges->count].verdict = verdict;
	ranges->count++;
}

static void
make_ranges(struct ranges *ranges, int debug)
{
	enum sbx_verdict verdicts[SBX_SECCOMP_NUMBERS];

	ranges->count = 0;
	read_table(verdicts, debug);
	for (unsigned n = 0; n < SBX_SECCOMP_NUMBERS; n++)
		add_range(ranges, n, verdicts[n]);
	add_range(ranges, SBX_SECCOMP_NUMBERS, SBX_VERDICT_ABSENT);
#ifdef __x86_64__
	/* x32 has the same calls by other numbers; -1 is what a tracer puts to skip a call. */
	add_range(ranges, SBX_SECCOMP_X32_BIT, SBX_VERDICT_KILL);
	add_range(ranges, 0xffffffffU, SBX_VERDICT_ABSENT);
#endif
}

static void
emit(struct program *program, struct sock_filter instruction)
{
	if (program->count == PROGRAM_MAX)
		die("too many instructions", "");
	program->code[program->count++] = instruction;
}

static void
emit_all(struct program *program, const struct sock_filter *code, size_t count)
{
	for (size_t i = 0; i < count; i++)
		emit(program, code[i]);
}

/* Ranges [low, high): the lower half follows its test, the upper half is jumped to. */
static void
emit_tree(struct program *program, const struct ranges *ranges, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2, test = program->count, jump;

	if (high - low == 1) {
		const struct leaf *leaf = &leaves[ranges->at[low].verdict];

		emit_all(program, leaf->code, leaf->count);
		return;
	}
	emit(program, (struct sock_filter)IF_AT_LEAST(ranges->at[middle].first, 0, 0));
	emit_tree(program, ranges, low, middle);
	jump = program->count - test - 1;
	if (jump > JUMP_MAX)
		die("a jump is too long", "");
	program->code[test].jt = (unsigned char)jump;
	emit_tree(program, ranges, middle, high);
}

static void
make_base(struct program *program, int debug)
{
	static const struct sock_filter head[] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		IF_EQUAL(NATIVE_ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(offsetof(struct seccomp_data, nr)),
	};
	struct ranges ranges;

	program->count = 0;
	emit_all(program, head, COUNT(head));
	make_ranges(&ranges, debug);
	emit_tree(program, &ranges, 0, ranges.count);
}

/* Runs beside the base filter, which has judged the architecture; the stricter answer counts. */
static void
make_command(struct program *program)
{
	static const struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		IF_EQUAL(__NR_clone3, 0, 1), /* its flags are behind a pointer; libc falls back */
		RETURN(REFUSE(ENOSYS)),
		RETURN(ALLOW),
	};

	program->count = 0;
	emit_all(program, code, COUNT(code));
}

/*
 * The same where the workspace is only counted: fallocate(2) takes 30 GiB in 40 ms, beyond any count
 * and, with KEEP_SIZE, beyond RLIMIT_FSIZE. With this answer libc writes instead.
 */
static void
make_counted(struct program *program)
{
	static const struct sock_filter code[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		IF_EQUAL(__NR_fallocate, 0, 1),
		RETURN(REFUSE(EOPNOTSUPP)),
		IF_EQUAL(__NR_clone3, 0, 1),
		RETURN(REFUSE(ENOSYS)),
		RETURN(ALLOW),
	};

	program->count = 0;
	emit_all(program, code, COUNT(code));
}

static void
print(const char *name, const struct program *program)
{
	printf("\nstatic const struct sock_filter sbx_seccomp_%s_code[] = {\n", name);
	for (size_t i = 0; i < program->count; i++) {
		const struct sock_filter *at = &program->code[i];

		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", at->code, at->jt, at->jf, at->k);
	}
	printf("};\n");
}

int
main(void)
{
	static struct program program;

	printf("/* Made by seccomp_gen from seccomp_table.h. */\n#include <linux/filter.h>\n");
	make_base(&program, 0);
	print("strict", &program);
	make_base(&program, 1);
	print("debug", &program);
	make_command(&program);
	print("command", &program);
	make_counted(&program);
	print("counted", &program);
	if (fflush(stdout) != 0 || ferror(stdout))
		die("cannot write", "");
	return 0;
}
