/*
 * Whether the host's own user database leaves a range of uids free. Two users of one uid are one
 * user to the kernel: an environment must not be somebody. Reads /etc/passwd and the subordinate
 * ids (subuid(5)), changes nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/num.h"
#include "base/scoped.h"
#include "state/slot.h"

#define FILE_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define FIELDS 3 /* name, first, count; or name, password, uid */

struct range {
	uint64_t first, count;
};

/* Cut a line, in place, at its colons. How many of the first FIELDS are there. */
static int
split(char *line, char *fields[FIELDS])
{
	int count = 0;

	while (line != NULL && count < FIELDS) {
		fields[count++] = line;
		line = strchr(line, ':');
		if (line != NULL)
			*line++ = '\0';
	}
	return count;
}

static int
subordinate(char *const fields[FIELDS], struct range *range)
{
	return sbx_num_u64(fields[1], 0, UINT32_MAX, "first", &range->first, NULL) == 0 &&
		sbx_num_u64(fields[2], 1, UINT32_MAX, "count", &range->count, NULL) == 0;
}

/* What a line takes: 1, or 0 for a comment and what those who read these files would pass over. */
static int
line_range(char *line, int is_passwd, struct range *taken)
{
	char *fields[FIELDS];

	if (line[0] == '#' || split(line, fields) < FIELDS)
		return 0;
	taken->count = 1;
	if (is_passwd)
		return sbx_num_u64(fields[2], 0, UINT32_MAX, "uid", &taken->first, NULL) == 0;
	/* Root's own subordinate ids are where an operator reserves the range for us. */
	if (strcmp(fields[0], "root") == 0 || strcmp(fields[0], "0") == 0)
		return 0;
	return subordinate(fields, taken);
}

static int
read_database(int etc_fd, const char *name, struct sbx_buf *text, struct sbx_err *err)
{
	SBX_AUTO_FD fd = openat(etc_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return sbx_fail_sys(err, SBX_E_CONFIG, "open /etc/%s", name);
	return sbx_io_read_all(fd, text, name, err) < 0 ? -1 : 0;
}

static int
check_file(int etc_fd, const char *name, const struct range *ours, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(FILE_BYTES_MAX);
	int is_passwd = strcmp(name, "passwd") == 0, number = 0;
	char *line, *next;

	if (read_database(etc_fd, name, &text, err) < 0)
		return -1;
	next = text.data;
	while ((line = strsep(&next, "\n")) != NULL) {
		struct range taken;

		number++;
		if (!line_range(line, is_passwd, &taken) ||
			taken.first >= ours->first + ours->count ||
			ours->first >= taken.first + taken.count)
			continue;
		sbx_fail(err, SBX_E_CONFIG,
			"/etc/%s:%d: %.64s has %ju to %ju, which uids of environments (%ju to %ju) meet",
			name, number, line, (uintmax_t)taken.first,
			(uintmax_t)(taken.first + taken.count - 1), (uintmax_t)ours->first,
			(uintmax_t)(ours->first + ours->count - 1));
		return sbx_fail_hint(err, "set uids in sbx.yaml to a range that nobody has");
	}
	return 0;
}

int
sbx_slot_check_range_at(int etc_fd, uint64_t first, uint64_t count, struct sbx_err *err)
{
	const struct range ours = { first, count };

	if (check_file(etc_fd, "passwd", &ours, err) < 0 ||
		check_file(etc_fd, "subuid", &ours, err) < 0)
		return -1;
	return check_file(etc_fd, "subgid", &ours, err);
}

int
sbx_slot_check_range(uint64_t first, uint64_t count, struct sbx_err *err)
{
	SBX_AUTO_FD etc_fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (etc_fd < 0)
		return sbx_fail_sys(err, SBX_E_CONFIG, "open /etc");
	return sbx_slot_check_range_at(etc_fd, first, count, err);
}

/* The name of our uid in /etc/passwd; "" if it has none there: then only its number counts. */
static int
user_name(int etc_fd, const char *number, char *user, size_t size, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(FILE_BYTES_MAX);
	char *fields[FIELDS], *line, *next;

	user[0] = '\0';
	if (read_database(etc_fd, "passwd", &text, err) < 0)
		return -1;
	next = text.data;
	while (user[0] == '\0' && (line = strsep(&next, "\n")) != NULL)
		if (split(line, fields) == FIELDS && strcmp(fields[2], number) == 0 &&
			strlen(fields[0]) < size)
			memcpy(user, fields[0], strlen(fields[0]) + 1);
	return 0;
}

static int
first_of_user(int etc_fd, const char *file, const char *user, const char *number,
	struct range *found, struct sbx_err *err)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(FILE_BYTES_MAX);
	char *fields[FIELDS], *line, *next;

	if (read_database(etc_fd, file, &text, err) < 0)
		return -1;
	next = text.data;
	while ((line = strsep(&next, "\n")) != NULL) {
		if (line[0] == '#' || split(line, fields) < FIELDS ||
			(strcmp(fields[0], user) != 0 && strcmp(fields[0], number) != 0))
			continue;
		if (subordinate(fields, found))
			return 0;
	}
	sbx_fail(err, SBX_E_UNAVAILABLE, "user %s has no range in /etc/%s",
		user[0] != '\0' ? user : number, file);
	return sbx_fail_hint(err,
		"root can give one: usermod --add-subuids FIRST-LAST --add-subgids "
		"FIRST-LAST %s; or configure `user_ids: own`",
		user[0] != '\0' ? user : number);
}

int
sbx_slot_user_range(struct sbx_slot_range *range, struct sbx_err *err)
{
	SBX_AUTO_FD etc_fd = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char user[256], number[24];
	struct range uids = { 0 }, gids = { 0 };

	snprintf(number, sizeof(number), "%u", (unsigned)geteuid());
	if (etc_fd < 0)
		return sbx_fail_sys(err, SBX_E_CONFIG, "open /etc");
	if (user_name(etc_fd, number, user, sizeof(user), err) < 0 ||
		first_of_user(etc_fd, "subuid", user, number, &uids, err) < 0 ||
		first_of_user(etc_fd, "subgid", user, number, &gids, err) < 0)
		return -1;
	range->uid_first = uids.first;
	range->gid_first = gids.first;
	range->count = uids.count < gids.count ? uids.count : gids.count;
	return 0;
}
