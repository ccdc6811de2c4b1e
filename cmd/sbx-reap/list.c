/*
 * The list of environments, from their records and what the kernel says of them now. Takes no lock
 * and changes nothing, so it answers also while somebody provisions or releases.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/scoped.h"
#include "data/json_out.h"
#include "mech/mech.h"
#include "reap.h"

#define FLUSH_BYTES ((size_t)64 * 1024)

/* One line of the list. */
struct row {
	struct sbx_env_record record;
	struct sbx_err damaged; /* why there is no more than an id */
	int alive;
	int64_t age_ms, left_ms;
	uint64_t memory_bytes, pids;
};

/* 1, or 0 if it went away meanwhile. */
static int
look(const struct sbx_tool *tool, const char *id, struct row *row)
{
	const struct sbx_mech *mech;
	struct sbx_env env;
	int got;

	memset(row, 0, sizeof(*row));
	if (sbx_env_open(&tool->state, id, &env, &row->damaged) < 0)
		return 0;
	got = sbx_env_read(&env, &row->record, &row->damaged);
	sbx_env_close(&env);
	snprintf(row->record.id, sizeof(row->record.id), "%s", id);
	if (got < 0)
		return 1;
	row->left_ms = sbx_env_left_ms(&row->record);
	row->age_ms = row->record.expires_wall_ms - row->record.created_wall_ms - row->left_ms;
	mech = sbx_mech_find(row->record.mechanism, &row->damaged);
	if (mech == NULL)
		return 1;
	row->alive = mech->alive(&tool->host, &row->record);
	/* A figure that cannot be read is 0, as one that a mechanism does not know. */
	if (mech->totals(&tool->host, &row->record, &row->memory_bytes, &row->pids) < 0)
		row->memory_bytes = row->pids = 0;
	return 1;
}

/* A directory without a record is one that is being made, or whose maker died at once. */
static const char *
state_name(const struct row *row)
{
	if (row->damaged.code == SBX_OK || row->record.mechanism[0] != '\0')
		return sbx_env_state_names[row->record.state];
	return row->damaged.code == SBX_E_NOT_FOUND ? sbx_env_state_names[SBX_ENV_PROVISIONING] :
						      "unreadable";
}

static int
out_record(const struct row *row, struct sbx_buf *out, struct sbx_err *err)
{
	const struct sbx_env_record *record = &row->record;
	struct sbx_json_out json;
	char expires[32];

	sbx_json_out_init(&json, out);
	sbx_json_out_object(&json, NULL);
	sbx_json_out_string(&json, "type", "env");
	sbx_json_out_string(&json, "env", record->id);
	sbx_json_out_string(&json, "state", state_name(row));
	sbx_json_out_bool(&json, "alive", row->alive);
	if (row->damaged.code != SBX_OK)
		sbx_json_out_string(&json, "error", row->damaged.msg);
	if (record->mechanism[0] != '\0') {
		sbx_clock_format(record->expires_wall_ms, expires);
		sbx_json_out_string(&json, "tenant", record->tenant);
		sbx_json_out_string(&json, "run", record->run);
		sbx_json_out_i64(&json, "epoch", record->epoch);
		sbx_json_out_string(&json, "mechanism", record->mechanism);
		sbx_json_out_i64(&json, "age_ms", row->age_ms);
		sbx_json_out_string(&json, "expires_at", expires);
		sbx_json_out_i64(&json, "expires_in_ms", row->left_ms);
		sbx_json_out_u64(&json, "memory_bytes", row->memory_bytes);
		sbx_json_out_u64(&json, "pids", row->pids);
	}
	sbx_json_out_end(&json);
	return sbx_json_out_line(&json, "env record", err);
}

/* "59s", "12m", "3h", "2d": two units would only be noise in a table. */
static void
format_span(int64_t ms, char out[24])
{
	static const struct {
		int64_t ms;
		char unit;
	} units[] = { { 86400000, 'd' }, { 3600000, 'h' }, { 60000, 'm' }, { 1000, 's' } };
	size_t i = 0;

	while (i < 3 && ms < 2 * units[i].ms)
		i++;
	snprintf(out, 24, "%" PRId64 "%c", ms > 0 ? ms / units[i].ms : 0, units[i].unit);
}

static void
out_table(const struct row *row, struct sbx_buf *out)
{
	const struct sbx_env_record *record = &row->record;
	char age[24], left[24], memory[16];

	if (record->mechanism[0] == '\0') {
		sbx_buf_printf(out, "%-27s  %-12s %s\n", record->id, state_name(row),
			row->damaged.msg);
		return;
	}
	format_span(row->age_ms, age);
	format_span(row->left_ms, left);
	sbx_num_format_size(row->memory_bytes, memory);
	sbx_buf_printf(out, "%-27s  %-12s %-5s %-9s %5s %7s %10s %5" PRIu64 "  %s/%s/%" PRId64 "\n",
		record->id, state_name(row), row->alive ? "yes" : "no", record->mechanism, age,
		row->left_ms > 0 ? left : "over", memory, row->pids, record->tenant, record->run,
		record->epoch);
}

static int
flush(struct sbx_buf *out, struct sbx_err *err)
{
	if (sbx_tool_print(out, err) < 0)
		return -1;
	sbx_buf_clear(out);
	return 0;
}

static int
print(const struct sbx_tool *tool, char (*ids)[SBX_ENV_ID_SIZE], size_t count, int table,
	struct sbx_err *err)
{
	SBX_AUTO_BUF out = SBX_BUF_INIT(2 * FLUSH_BYTES);
	struct row row;

	if (table)
		sbx_buf_printf(&out, "%-27s  %-12s %-5s %-9s %5s %7s %10s %5s  %s\n", "ENV",
			"STATE", "ALIVE", "MECHANISM", "AGE", "EXPIRES", "MEMORY", "PIDS",
			"TENANT/RUN/EPOCH");
	for (size_t i = 0; i < count; i++) {
		if (!look(tool, ids[i], &row))
			continue;
		if (table)
			out_table(&row, &out);
		else if (out_record(&row, &out, err) < 0)
			return -1;
		if (out.length >= FLUSH_BYTES && flush(&out, err) < 0)
			return -1;
	}
	return flush(&out, err);
}

int
reap_list(const struct sbx_tool *tool, int table, struct sbx_err *err)
{
	char(*ids)[SBX_ENV_ID_SIZE] = NULL;
	size_t count = 0;
	int failed;

	if (sbx_env_list(&tool->state, &ids, &count, err) < 0)
		return -1;
	failed = print(tool, ids, count, table || isatty(STDOUT_FILENO), err);
	free(ids);
	return failed;
}
