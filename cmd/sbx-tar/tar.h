/*
 * sbx-tar: a tar archive and the stream of workspace/pack.h, one out of the other. A private helper of
 * sbx-exec, and the only program that reads a stranger's archive: it has three descriptors and
 * nothing else (confine.c), and what it lets through is walked once more where it is written.
 */
#ifndef SBX_TAR_H
#define SBX_TAR_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "mech/tool.h"
#include "workspace/pack.h"

#define TAR_PATH_MAX 4095 /* what an archive may name; a workspace may be deeper */

struct tar_options {
	uint64_t max_bytes, max_entries;
	struct sbx_opt_common common;
};
extern const struct sbx_tool_about tar_about;

/* confine.c: no more rights, files, memory than the work needs. */
int tar_confine(struct sbx_err *err) __attribute__((warn_unused_result));

/* in.c: an archive on stdin becomes the stream on stdout. SBX_E_BAD_REQUEST: it is none, or is cut
 * off; SBX_E_DENIED: an entry is a trap; SBX_E_TOO_LARGE: too many entries or bytes. */
int tar_in(const struct tar_options *options, struct sbx_err *err)
	__attribute__((warn_unused_result));

/* out.c: the other way. */
int tar_out(struct sbx_err *err) __attribute__((warn_unused_result));

/* names.c: what an archive has named so far. */
struct tar_names;
struct tar_names *tar_names_make(uint64_t most);
void tar_names_free(struct tar_names *names);
/* As enum sbx_pack_kind; END: not named. */
enum sbx_pack_kind tar_names_find(const struct tar_names *names, const char *path, size_t length);
int tar_names_add(struct tar_names *names, const char *path, enum sbx_pack_kind kind,
	struct sbx_err *err) __attribute__((warn_unused_result)); /* SBX_E_TOO_LARGE */

/* member.c: one of an archive. Zeroed before the first; `path` and `target` are its own. */
struct archive_entry;
struct tar_member {
	struct archive_entry *from; /* the archive's, set by the caller */
	char *path, *target;
	struct sbx_pack_entry entry;
};
/* Fill it in from `from`, and note its name: 1; 0 for the archive's root, which is nothing to make;
 * -1: SBX_E_DENIED, it is a trap, or SBX_E_TOO_LARGE. */
int tar_member_judge(struct tar_member *member, struct tar_names *names, struct sbx_err *err)
	__attribute__((warn_unused_result));
void tar_member_done(struct tar_member *member);

/* path.c */
/* A name that leads nowhere else, without "./" and slashes at its ends; "" is the archive's root.
 * NULL: absolute, with "..", or too long, and err says so. Changes `path`. */
char *tar_path_clean(char *path, struct sbx_err *err) __attribute__((warn_unused_result));
/* For a message: printable, at most 100 bytes and the NUL. */
#define TAR_SHOWN_SIZE 104
const char *tar_path_show(const char *path, char shown[TAR_SHOWN_SIZE]);

#endif
