/*
 * Where a mechanism has it otherwise than native by design: the attempt, by its name (fnmatch(3)), and
 * why what it finds is no escape. What is not in this table is one.
 */
#ifndef SBX_TEST_HOSTILE_DIFFERENCES_H
#define SBX_TEST_HOSTILE_DIFFERENCES_H

static const struct {
	const char *mechanism, *attempt, *why;
} differences[] = {
#define DIFFERS_HIDEPID "engines mount /proc without hidepid, which shows arguments of uid 0"
	{ "docker", "/proc/*/cmdline", DIFFERS_HIDEPID },
	{ "docker", "/proc/*/status", DIFFERS_HIDEPID },
	{ "docker", "/proc/*/mountinfo", DIFFERS_HIDEPID },
	{ "docker", "no file of another process can be read", DIFFERS_HIDEPID },
#define DIFFERS_SHOWN "the engine's own /proc and /sys tell of the machine"
	{ "docker", "/proc/kallsyms", DIFFERS_SHOWN },
	{ "docker", "/proc/key-users", DIFFERS_SHOWN },
	{ "docker", "/proc/modules", DIFFERS_SHOWN },
	{ "docker", "/proc/cmdline", DIFFERS_SHOWN },
	{ "docker", "/proc/iomem", DIFFERS_SHOWN },
	{ "docker", "/proc/ioports", DIFFERS_SHOWN },
	{ "docker", "/proc/interrupts", DIFFERS_SHOWN },
	{ "docker", "/proc/config.gz", DIFFERS_SHOWN },
	{ "docker", "/proc/partitions", DIFFERS_SHOWN },
	{ "docker", "/proc/diskstats", DIFFERS_SHOWN },
	{ "docker", "/sys/kernel/notes", DIFFERS_SHOWN },
	{ "docker", "/sys is empty", DIFFERS_SHOWN },
#define DIFFERS_IMAGE "directories are those of the image"
	{ "docker", "/etc/machine-id", DIFFERS_IMAGE },
	{ "docker", "/root", DIFFERS_IMAGE },
	{ "docker", "/var/lib", DIFFERS_IMAGE },
	{ "docker", "/var/log", DIFFERS_IMAGE },
	{ "docker", "/boot", DIFFERS_IMAGE },
#define DIFFERS_NODES "a volume may hold nodes of the devices that every container has"
	{ "docker", "open zero to *", DIFFERS_NODES },

#define DIFFERS_TRACE "gVisor's /proc asks for no right to trace; of uid 0 there is nothing secret"
	{ "gvisor", "/proc/*/cmdline", DIFFERS_TRACE },
	{ "gvisor", "/proc/*/status", DIFFERS_TRACE },
	{ "gvisor", "/proc/*/mountinfo", DIFFERS_TRACE },
	{ "gvisor", "/proc/*/environ", DIFFERS_TRACE },
	{ "gvisor", "/proc/*/maps", DIFFERS_TRACE },
	{ "gvisor", "/proc/*/auxv", DIFFERS_TRACE },
	{ "gvisor", "no file of another process can be read", DIFFERS_TRACE },
	{ "gvisor", "open /proc/1/fd to read", DIFFERS_TRACE },
#define DIFFERS_DOMAIN "without Landlock the commands of one environment are not apart"
	{ "gvisor", "abstract socket of a neighbour", DIFFERS_DOMAIN },
	{ "gvisor", "a neighbour is neither killed nor read", DIFFERS_DOMAIN },
	{ "gvisor", "a domain of our own is taken", DIFFERS_DOMAIN },
#define DIFFERS_OPENS "gVisor refuses the use and not the opening"
	{ "gvisor", "open /proc/1/ns/* to read", DIFFERS_OPENS },
	{ "gvisor", "open /proc/self/uid_map to write", DIFFERS_OPENS },
	{ "gvisor", "open zero to *", DIFFERS_OPENS },
#define DIFFERS_OWN "gVisor's own kernel has it, the host's is not asked"
	{ "gvisor", "/dev/fuse", DIFFERS_OWN },
	{ "gvisor", "open /dev/net/tun to *", DIFFERS_OWN },
	{ "gvisor", "chmod /bin/sh", DIFFERS_OWN },
	{ "gvisor", "int 0x80", DIFFERS_OWN },
	{ "gvisor", "set an address", DIFFERS_OWN },
	{ "gvisor", "set flags", DIFFERS_OWN },
	{ "gvisor", "add a route", DIFFERS_OWN },
	{ "gvisor", "mark packets", DIFFERS_OWN },
	{ "gvisor", "transparent proxy", DIFFERS_OWN },
	{ "gvisor", "SHM_LOCK", DIFFERS_OWN },
	{ "gvisor", "more priority", DIFFERS_OWN },
	{ "gvisor", "open /proc/self/oom_score_adj to write", DIFFERS_OWN },
	{ "gvisor", "/sys is empty", DIFFERS_OWN },
	{ "gvisor", "/proc/cmdline", DIFFERS_OWN },
	{ "gvisor", "/root", DIFFERS_IMAGE },
	{ "gvisor", "/var/lib", DIFFERS_IMAGE },
	{ "gvisor", "/var/log", DIFFERS_IMAGE },
	{ "gvisor", "/boot", DIFFERS_IMAGE },
	{ "gvisor", "/etc/machine-id", DIFFERS_IMAGE },
};

#endif
