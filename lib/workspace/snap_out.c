/* A snapshot's bytes on their way out, in large pieces, with a digest of all of them at the end. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "workspace/snap_impl.h"

static int
flush(struct sbx_snap_out *out, struct sbx_err *err)
{
	size_t length = out->held;

	crypto_generichash_update(&out->state, (const unsigned char *)out->bytes, length);
	out->held = 0;
	return out->sink.put(out->sink.arg, out->bytes, length, err);
}

static int
put(struct sbx_snap_out *out, const void *bytes, size_t length, struct sbx_err *err)
{
	if (length > sizeof(out->bytes) - out->held && flush(out, err) != 0)
		return -1;
	memcpy(out->bytes + out->held, bytes, length);
	out->held += length;
	out->length += length;
	return 0;
}

int
sbx_snap_out_begin(struct sbx_snap_out *out, const struct sbx_snap_sink *sink,
	const struct sbx_snap_head *head, struct sbx_err *err)
{
	out->sink = *sink;
	out->held = 0;
	out->length = 0;
	crypto_generichash_init(&out->state, NULL, 0, SBX_SNAP_DIGEST_BYTES);
	return put(out, head, sizeof(*head), err);
}

int
sbx_snap_out_entry(struct sbx_snap_out *out, const struct sbx_snap_entry *entry, const char *name,
	const unsigned char *digest, struct sbx_err *err)
{
	static const char padding[8];
	uint64_t end = out->length + sbx_snap_entry_bytes(entry);

	assert((digest != NULL) == sbx_snap_has_digest(entry));
	if (end + sizeof(struct sbx_snap_foot) > SBX_SNAP_BYTES_MAX)
		return sbx_fail(err, SBX_E_TOO_LARGE, "the tree has too many names for a snapshot");
	if (put(out, entry, sizeof(*entry), err) != 0 ||
		(digest != NULL && put(out, digest, SBX_SNAP_DIGEST_BYTES, err) != 0) ||
		put(out, name, entry->name_bytes, err) != 0)
		return -1;
	return put(out, padding, (size_t)(end - out->length), err);
}

int
sbx_snap_out_end(struct sbx_snap_out *out, struct sbx_snap_foot *foot, struct sbx_err *err)
{
	foot->mark = SBX_SNAP_FOOT;
	if (put(out, foot, offsetof(struct sbx_snap_foot, digest), err) != 0 ||
		flush(out, err) != 0)
		return -1;
	crypto_generichash_final(&out->state, foot->digest, sizeof(foot->digest));
	return out->sink.put(out->sink.arg, foot->digest, sizeof(foot->digest), err);
}

int
sbx_snap_put_marker(const struct sbx_snap_sink *sink, const char *name, uint32_t permissions,
	struct sbx_err *err)
{
	const struct sbx_snap_head head = { .magic = SBX_SNAP_MAGIC, .version = SBX_SNAP_VERSION };
	const struct sbx_snap_entry entry = { .mode = (uint16_t)(S_IFREG | permissions),
		.name_bytes = (uint8_t)strlen(name),
		.nlink = 1 };
	struct sbx_snap_foot foot = { .entries = 1, .inodes = 1 };
	struct sbx_snap_out *out = sbx_mem_alloc(1, sizeof(*out));
	int rc = sbx_snap_out_begin(out, sink, &head, err);

	if (rc == 0)
		rc = sbx_snap_out_entry(out, &entry, name, NULL, err);
	if (rc == 0)
		rc = sbx_snap_out_end(out, &foot, err);
	free(out);
	return rc;
}
