/*
 * What a record says about its environment: how long it has left, whether its pid 1 lives, and the
 * `env` record for other programs. Changes nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/num.h"
#include "data/json_out.h"
#include "state/env.h"

static int
same_boot(const struct sbx_env_record *record)
{
	const char *now = sbx_clock_boot_id();

	return now[0] != '\0' && strcmp(record->boot_id, now) == 0;
}

int64_t
sbx_env_left_ms(const struct sbx_env_record *record)
{
	if (same_boot(record))
		return record->expires_boot_ms - sbx_clock_boot_ms();
	return record->expires_wall_ms - sbx_clock_wall_ms();
}

/*
 * Of /proc/PID/stat: fields 3 (state) and 22 (start time), counted after the last ')', since the
 * name of a program may hold blanks and parentheses. proc(5).
 */
static int
stat_in(const char *stat, char *state, int64_t *start)
{
	const char *at = strrchr(stat, ')');
	char number[24];
	size_t length;

	if (at == NULL || at[1] != ' ')
		return -1;
	*state = at[2];
	for (int field = 2; field < 22; field++) {
		at = strchr(at + 1, ' ');
		if (at == NULL)
			return -1;
	}
	length = strcspn(at + 1, " ");
	if (length >= sizeof(number))
		return -1;
	memcpy(number, at + 1, length);
	number[length] = '\0';
	return sbx_num_i64(number, 0, INT64_MAX, "start time", start, NULL);
}

/* A zombie has ended: nothing of its pid namespace is left but its status. */
int64_t
sbx_env_start_time(int64_t pid)
{
	char path[64], stat[1024], state;
	int64_t start;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	if (sbx_io_read_attr(AT_FDCWD, path, stat, sizeof(stat)) < 0 ||
		stat_in(stat, &state, &start) < 0)
		return 0;
	return state == 'Z' || state == 'X' ? 0 : start;
}

int
sbx_env_init_alive(const struct sbx_env_record *record)
{
	return record->init_pid > 0 && record->init_start > 0 && same_boot(record) &&
		sbx_env_start_time(record->init_pid) == record->init_start;
}

int
sbx_env_record_line(const struct sbx_env_record *record, int created, int64_t total_us,
	struct sbx_buf *out, struct sbx_err *err)
{
	struct sbx_json_out json;
	char expires[32];

	sbx_clock_format(record->expires_wall_ms, expires);
	sbx_json_out_init(&json, out);
	sbx_json_out_object(&json, NULL);
	sbx_json_out_string(&json, "type", "env");
	sbx_json_out_string(&json, "env", record->id);
	sbx_json_out_bool(&json, "created", created);
	sbx_json_out_string(&json, "state", sbx_env_state_names[record->state]);
	sbx_json_out_string(&json, "tenant", record->tenant);
	sbx_json_out_string(&json, "run", record->run);
	sbx_json_out_i64(&json, "epoch", record->epoch);
	sbx_json_out_string(&json, "mechanism", record->mechanism);
	sbx_json_out_string(&json, "image", record->image[0] != '\0' ? record->image : NULL);
	sbx_json_out_string(&json, "expires_at", expires);
	sbx_limits_out(&record->limits, &json, "limits");
	sbx_json_out_array(&json, "enforced");
	for (size_t i = 0; i < record->enforced_count; i++)
		sbx_json_out_string(&json, NULL, record->enforced[i]);
	sbx_json_out_end(&json);
	sbx_json_out_string(&json, "storage", record->storage_memory ? "memory" : "disk");
	if (total_us != 0) {
		sbx_json_out_object(&json, "timing_us");
		sbx_json_out_i64(&json, "total", total_us);
		sbx_json_out_end(&json);
	}
	sbx_json_out_end(&json);
	return sbx_json_out_line(&json, "env record", err);
}
