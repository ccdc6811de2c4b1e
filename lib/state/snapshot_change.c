/* One difference of two snapshots as an object of a record. */
#include <stdio.h>

#include "data/entry_out.h"
#include "state/snapshot.h"

/* Why there is no digest. */
static const char *
reason(const struct sbx_snap_entry *entry)
{
	switch ((enum sbx_snap_digest)entry->digest) {
	case SBX_SNAP_TOO_LARGE:
		return "too_large";
	case SBX_SNAP_DENIED:
		return "denied";
	case SBX_SNAP_UNSTEADY:
		return "unsteady";
	case SBX_SNAP_NONE:
	case SBX_SNAP_SETTLED:
	case SBX_SNAP_FRESH:
		break;
	}
	return NULL;
}

static void
put_entry(struct sbx_json_out *out, const struct sbx_snap_entry *entry)
{
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", entry->mode & 07777u);
	sbx_json_out_string(out, "kind", sbx_entry_kind(entry->mode));
	sbx_json_out_u64(out, "size", entry->size);
	sbx_json_out_string(out, "mode", mode);
	sbx_entry_digest_out(out, "digest", sbx_snap_digest(entry));
	if (reason(entry) != NULL)
		sbx_json_out_string(out, "no_digest", reason(entry));
}

void
sbx_snapshot_change_out(struct sbx_json_out *out, const struct sbx_snap_difference *difference)
{
	sbx_json_out_string(out, "change", sbx_snap_change_names[difference->change]);
	sbx_entry_name_out(out, "path", "path_b64", difference->path, difference->path_bytes);
	if (difference->path_bytes >= SBX_SNAP_PATH_MAX)
		sbx_json_out_bool(out, "path_truncated", 1);
	put_entry(out, difference->is != NULL ? difference->is : difference->was);
	if (difference->is != NULL && difference->was != NULL) {
		sbx_json_out_object(out, "was");
		put_entry(out, difference->was);
		sbx_json_out_end(out);
	}
}
