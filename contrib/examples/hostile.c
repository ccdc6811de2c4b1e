/*
 * A small hostile program for `make run`: it does one useful thing, then tries to get at what it was
 * not given. Each argument is one act; it prints what it saw, and a good sandbox makes that dull.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

static int
compute(void)
{
	FILE *out = fopen("primes.txt", "w");
	int count = 0;

	if (out == NULL) {
		perror("primes.txt");
		return 1;
	}
	for (int n = 2; n < 100000; n++) {
		int prime = 1;

		for (int d = 2; d * d <= n && prime; d++)
			prime = n % d != 0;
		if (prime) {
			count++;
			fprintf(out, "%d\n", n);
		}
	}
	fclose(out);
	printf("%d primes below 100000 are in primes.txt\n", count);
	return 0;
}

static void
try_read(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY);

	if (fd >= 0 && read(fd, &byte, 1) == 1)
		printf("READ %s\n", path);
	else
		printf("%s: %s\n", path, strerror(errno));
}

static int
snoop(void)
{
	static const char *const paths[] = { "/etc/shadow", "/root/.ssh/id_rsa", "/var/lib/sbx",
		"/proc/1/environ", "/proc/kcore", "/var/run/docker.sock" };
	struct dirent *entry;
	DIR *proc = opendir("/proc");
	int others = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		try_read(paths[i]);
	while (proc != NULL && (entry = readdir(proc)) != NULL)
		others += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
			strtol(entry->d_name, NULL, 10) != (long)getpid();
	printf("%d processes of others in sight\n", others);
	if (ptrace(PTRACE_ATTACH, 1, NULL, NULL) != 0)
		printf("ptrace of pid 1: %s\n", strerror(errno));
	if (kill(1, SIGKILL) == 0)
		printf("kill of pid 1: sent, and ignored\n");
	else
		printf("kill of pid 1: %s\n", strerror(errno));
	return 0;
}

static int
call_home(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(53) };
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
	if (connect(sock, (struct sockaddr *)&address, sizeof(address)) != 0)
		printf("connect: %s\n", strerror(errno));
	if (socket(AF_PACKET, SOCK_RAW, 0) < 0)
		printf("packet socket: %s\n", strerror(errno));
	return 0;
}

static int
fork_bomb(void)
{
	int made = 0;

	for (;;) {
		pid_t pid = fork();

		if (pid == 0)
			for (;;)
				pause();
		if (pid < 0)
			break;
		made++;
	}
	printf("fork %d: %s\n", made + 1, strerror(errno));
	return 0;
}

static int
eat_memory(void)
{
	for (;;) {
		char *room = malloc(1 << 20);

		if (room != NULL)
			memset(room, 1, 1 << 20);
	}
	return 0;
}

static int
sleep_for_ever(void)
{
	for (;;)
		pause();
	return 0;
}

static int
print_for_ever(void)
{
	for (int i = 0; i < 2000000; i++)
		puts("all work and no play makes Jack a dull boy");
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*act)(void);
	} acts[] = { { "compute", compute }, { "snoop", snoop }, { "call-home", call_home },
		{ "fork-bomb", fork_bomb }, { "eat-memory", eat_memory },
		{ "sleep", sleep_for_ever }, { "print", print_for_ever } };

	for (size_t i = 0; argc == 2 && i < sizeof(acts) / sizeof(acts[0]); i++) {
		if (strcmp(argv[1], acts[i].name) == 0)
			return acts[i].act();
	}
	fprintf(stderr, "usage: hostile ACT\n");
	return 64;
}
