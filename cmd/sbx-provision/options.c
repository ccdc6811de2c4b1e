/* The options of sbx-provision, one table for parsing, --help and the manual page. */
#include "provision.h"

#define AT(member) offsetof(struct provision_options, member)
#define TEXT(option, member, shown, text)                                                          \
	{                                                                                          \
		.name = (option), .kind = SBX_OPT_STRING, .argument = (shown),                     \
		.offset = AT(member), .help = (text)                                               \
	}

static const struct sbx_opt table[] = {
	TEXT("spec", spec, "FILE", "read the spec from FILE, - for stdin"),
	{ .name = "probe",
		.kind = SBX_OPT_FLAG,
		.offset = AT(probe),
		.help = "try what this host can do, build nothing" },
	{ .name = "table",
		.kind = SBX_OPT_FLAG,
		.offset = AT(table),
		.help = "print the probe for people, also without a terminal" },
	{ .name = "dry-run",
		.kind = SBX_OPT_FLAG,
		.offset = AT(dry_run),
		.help = "print the commands that would be run, run none" },
	TEXT("resolve", resolve, "REF", "print the digest of a local image"),
	{ .name = "", .kind = SBX_OPT_HEAD, .help = "The spec by options, instead of --spec" },
	TEXT("tenant", tenant, "NAME", "owner of the run (default)"),
	TEXT("run", run, "NAME", "run that the environment belongs to"),
	TEXT("epoch", epoch, "N", "lease epoch (0)"),
	TEXT("mechanism", mechanism, "NAME", "mechanism (the configured one)"),
	TEXT("image", image, "DIGEST", "root tree, sha256:... (the host's programs)"),
	TEXT("storage", storage, "KIND", "disk or memory (disk)"),
	TEXT("memory", memory, "SIZE", "memory, tmpfs included"),
	TEXT("cpus", cpus, "N", "processors, 0.5 is half of one"),
	TEXT("pids", pids, "N", "tasks"),
	TEXT("timeout", timeout, "TIME", "wall time of each command"),
	TEXT("workspace-bytes", workspace_bytes, "SIZE", "bytes in the workspace"),
	TEXT("workspace-inodes", workspace_inodes, "N", "files in the workspace"),
	TEXT("tmp-bytes", tmp_bytes, "SIZE", "bytes in /tmp"),
	TEXT("expires", expires, "TIME", "life of the environment"),
	TEXT("proc", proc, "VIEW", "view of /proc: full or pid (full)"),
	{ .name = "debug",
		.kind = SBX_OPT_FLAG,
		.offset = AT(debug),
		.help = "allow ptrace and process_vm_readv inside" },
	{ .name = "env",
		.letter = 'e',
		.kind = SBX_OPT_LIST,
		.argument = "NAME=VALUE",
		.offset = AT(env),
		.help = "variable of every command; may be repeated" },
	TEXT("fake-script", fake_script, "FILE", "canned results of mechanism fake"),
	SBX_OPT_COMMON(struct provision_options, common),
	{ .name = NULL },
};

static const char *const usage[] = {
	"[options] --run NAME",
	"[options] --spec FILE",
	"[options] < spec.json",
	"--probe [--table]",
	"--resolve REF [--mechanism NAME]",
	NULL,
};

const struct sbx_tool_about provision_about = {
	.name = "sbx-provision",
	.usage = usage,
	.table = table,
	.common_offset = AT(common),
};
