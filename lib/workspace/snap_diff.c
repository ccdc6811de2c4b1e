/*
 * What changed between two snapshots: each entry that is there now beside the one of the same path
 * before, then what nobody met. Paths are joined as the walk goes. Never touches a file.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "workspace/snap_impl.h"

#define NOWHERE UINT32_MAX

const char *const sbx_snap_change_names[] = { "created", "modified", "deleted", "type_changed",
	"mode_changed", NULL };

/* The way from the first directory to where a walk of entries is. */
struct step {
	uint32_t place, before; /* of the directory, here and in the earlier snapshot */
	size_t path_bytes; /* with its '/' */
};

struct way {
	struct step *steps;
	size_t depth, room;
	size_t path_bytes; /* of the present entry, whole */
	char path[SBX_SNAP_PATH_MAX];
};

struct diff {
	const struct sbx_snap *before;
	struct sbx_snap_match match;
	unsigned char *met; /* a bit for each place of `before` */
	struct way way;
	int (*tell)(void *arg, const struct sbx_snap_difference *difference);
	void *arg;
};

/* What does not fit is missing at the path's end. */
static void
add(struct way *way, size_t at, const char *bytes, size_t length)
{
	if (at >= sizeof(way->path))
		return;
	if (length > sizeof(way->path) - at)
		length = sizeof(way->path) - at;
	memcpy(way->path + at, bytes, length);
}

/* Go to an entry; answers the step of its directory. */
static const struct step *
go_to(struct way *way, const struct sbx_snap_entry *entry)
{
	while (way->depth > 1 && way->steps[way->depth - 1].place != entry->parent)
		way->depth--;
	way->path_bytes = way->steps[way->depth - 1].path_bytes;
	add(way, way->path_bytes, sbx_snap_name(entry), entry->name_bytes);
	way->path_bytes += entry->name_bytes;
	return &way->steps[way->depth - 1];
}

static void
go_into(struct way *way, uint32_t place, uint32_t before)
{
	if (way->depth == way->room) {
		way->room = way->room == 0 ? 64 : way->room * 2;
		way->steps = sbx_mem_grow(way->steps, way->room, sizeof(*way->steps));
	}
	if (way->depth > 0)
		add(way, way->path_bytes++, "/", 1);
	way->steps[way->depth++] =
		(struct step){ .place = place, .before = before, .path_bytes = way->path_bytes };
}

static int
say(struct diff *diff, enum sbx_snap_change change, const struct sbx_snap_entry *was,
	const struct sbx_snap_entry *is)
{
	struct sbx_snap_difference difference = { .change = change,
		.was = was,
		.is = is,
		.path = diff->way.path,
		.path_bytes = diff->way.path_bytes };

	if (difference.path_bytes > sizeof(diff->way.path))
		difference.path_bytes = sizeof(diff->way.path);
	return diff->tell(diff->arg, &difference);
}

/* Without digests of both the stamps have to do: better a change too many than one too few. */
static int
same_content(const struct sbx_snap_entry *was, const struct sbx_snap_entry *is)
{
	const unsigned char *a = sbx_snap_digest(was), *b = sbx_snap_digest(is);

	if (!S_ISREG(is->mode) && !S_ISLNK(is->mode))
		return 1;
	if (was->size != is->size)
		return 0;
	if (a != NULL && b != NULL)
		return memcmp(a, b, SBX_SNAP_DIGEST_BYTES) == 0;
	return was->ino == is->ino && was->mtime_sec == is->mtime_sec &&
		was->mtime_nsec == is->mtime_nsec && was->ctime_sec == is->ctime_sec &&
		was->ctime_nsec == is->ctime_nsec;
}

static int
compare(struct diff *diff, const struct sbx_snap_entry *was, const struct sbx_snap_entry *is)
{
	if (was == NULL)
		return say(diff, SBX_SNAP_CREATED, was, is);
	if ((was->mode ^ is->mode) & S_IFMT)
		return say(diff, SBX_SNAP_TYPE_CHANGED, was, is);
	if (!same_content(was, is))
		return say(diff, SBX_SNAP_MODIFIED, was, is);
	return was->mode == is->mode ? 0 : say(diff, SBX_SNAP_MODE_CHANGED, was, is);
}

static int
look_at_now(struct diff *diff, const struct sbx_snap *now)
{
	const struct sbx_snap_entry *is, *was;

	go_into(&diff->way, 0, 0);
	for (uint32_t next = SBX_SNAP_FIRST, place = next; (is = sbx_snap_next(now, &next)) != NULL;
		place = next) {
		uint32_t parent = go_to(&diff->way, is)->before, before = 0;
		int rc;

		if (parent != NOWHERE)
			before = sbx_snap_match_name(&diff->match, parent, sbx_snap_name(is),
				is->name_bytes);
		was = before != 0 ? sbx_snap_at(diff->before, before) : NULL;
		if (was != NULL)
			diff->met[before / 8] |= (unsigned char)(1u << before % 8);
		rc = compare(diff, was, is);
		if (rc != 0)
			return rc;
		if (S_ISDIR(is->mode))
			go_into(&diff->way, place,
				was != NULL && S_ISDIR(was->mode) ? before : NOWHERE);
	}
	return 0;
}

static int
look_for_deleted(struct diff *diff)
{
	const struct sbx_snap_entry *was;

	diff->way.depth = diff->way.path_bytes = 0;
	go_into(&diff->way, 0, 0);
	for (uint32_t next = SBX_SNAP_FIRST, place = next;
		(was = sbx_snap_next(diff->before, &next)) != NULL; place = next) {
		int is_met = diff->met[place / 8] >> place % 8 & 1, rc;

		(void)go_to(&diff->way, was);
		rc = is_met ? 0 : say(diff, SBX_SNAP_DELETED, was, NULL);
		if (rc != 0)
			return rc;
		if (S_ISDIR(was->mode))
			go_into(&diff->way, place, 0);
	}
	return 0;
}

int
sbx_snap_diff(const struct sbx_snap *before, const struct sbx_snap *now,
	int (*tell)(void *arg, const struct sbx_snap_difference *difference), void *arg)
{
	struct diff *diff = sbx_mem_alloc(1, sizeof(*diff));
	int rc;

	diff->before = before;
	diff->tell = tell;
	diff->arg = arg;
	diff->met = sbx_mem_alloc(before->length / 64 + 1, 1);
	sbx_snap_match_init(&diff->match, before);
	rc = look_at_now(diff, now);
	if (rc == 0)
		rc = look_for_deleted(diff);
	sbx_snap_match_done(&diff->match);
	free(diff->met);
	free(diff->way.steps);
	free(diff);
	return rc;
}
