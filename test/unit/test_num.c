/* base/num: what is a number, what is not, and what the error says. */
#include "base/num.h"

#include "tap.h"

#define VALUE_UNSET 4242

static void
test_u64(void)
{
	static const char *const wrong[] = { "", " 1", "1 ", "+1", "-1", "0x1", "1e3", "1.0", "a",
		"18446744073709551616", "99999999999999999999999", "1\n", "\xd9\xa1" };
	struct sbx_err err = { 0 };
	uint64_t out;
	size_t i;

	is_int(sbx_num_u64("0", 0, 9, "n", &out, &err), 0, "zero");
	is_int(out, 0, "is zero");
	is_int(sbx_num_u64("18446744073709551615", 0, UINT64_MAX, "n", &out, &err), 0, "largest");
	ok(out == UINT64_MAX, "is the largest");
	is_int(sbx_num_u64("007", 0, 9, "n", &out, &err), 0, "leading zeros are decimal");
	is_int(out, 7, "and mean nothing");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		out = VALUE_UNSET;
		is_int(sbx_num_u64(wrong[i], 0, UINT64_MAX, "n", &out, &err), -1, "refused: %zu",
			i);
		is_int(out, VALUE_UNSET, "and nothing is stored");
		is_int(err.code, SBX_E_BAD_REQUEST, "as a bad request");
	}
	is_int(sbx_num_u64("11", 1, 10, "jobs", &out, &err), -1, "over the range");
	is_str(err.msg, "jobs: \"11\" is not a number from 1 to 10", "value and range are quoted");
	is_int(sbx_num_u64("0", 1, 10, "jobs", &out, &err), -1, "under the range");
	is_int(sbx_num_u64("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			   "\xe2\x82\xac",
		       1, 2, "n", &out, &err),
		-1, "a long value");
	is_str(err.msg,
		"n: \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""
		" is not a number from 1 to 2",
		"is quoted up to 64 bytes and whole code points");
}

static void
test_i64(void)
{
	struct sbx_err err = { 0 };
	int64_t out = 0;

	is_int(sbx_num_i64("-9223372036854775808", INT64_MIN, INT64_MAX, "n", &out, &err), 0,
		"smallest");
	ok(out == INT64_MIN, "is the smallest");
	is_int(sbx_num_i64("9223372036854775807", INT64_MIN, INT64_MAX, "n", &out, &err), 0,
		"largest");
	ok(out == INT64_MAX, "is the largest");
	is_int(sbx_num_i64("-0", -1, 1, "n", &out, &err), 0, "minus zero");
	is_int(out, 0, "is zero");
	is_int(sbx_num_i64("9223372036854775808", INT64_MIN, INT64_MAX, "n", &out, &err), -1,
		"one over");
	is_int(sbx_num_i64("-9223372036854775809", INT64_MIN, INT64_MAX, "n", &out, &err), -1,
		"one under");
	is_int(sbx_num_i64("--1", -9, 9, "n", &out, &err), -1, "two signs");
	is_int(sbx_num_i64("-", -9, 9, "n", &out, &err), -1, "a sign alone");
	is_int(sbx_num_i64("+1", -9, 9, "n", &out, &err), -1, "plus");
	is_str(err.msg, "n: \"+1\" is not a number from -9 to 9", "the message");
}

static void
test_units(void)
{
	struct sbx_err err = { 0 };
	uint64_t out = 0;

	is_int(sbx_num_size("512MiB", 0, UINT64_MAX, "m", &out, &err), 0, "MiB");
	is_int(out, 536870912, "512 of them");
	is_int(sbx_num_size("3B", 0, 9, "m", &out, &err), 0, "B");
	is_int(sbx_num_size("3", 0, 9, "m", &out, &err), 0, "bare bytes");
	is_int(out, 3, "3 bytes");
	is_int(sbx_num_size("2TiB", 0, UINT64_MAX, "m", &out, &err), 0, "TiB");
	ok(out == UINT64_C(2199023255552), "2 TiB");
	is_int(sbx_num_size("16777216TiB", 0, UINT64_MAX, "m", &out, &err), -1,
		"product too large");
	is_int(sbx_num_size("1M", 0, UINT64_MAX, "m", &out, &err), -1, "M is no unit");
	is_int(sbx_num_size("1 MiB", 0, UINT64_MAX, "m", &out, &err), -1, "no space");
	is_int(sbx_num_size("MiB", 0, UINT64_MAX, "m", &out, &err), -1, "no number");
	is_int(sbx_num_size("1GiB", 1024, 512 << 20, "memory", &out, &err), -1, "out of range");
	is_str(err.msg, "memory: \"1GiB\" is not a size from 1KiB to 512MiB", "units in the range");
	is_int(err.code, SBX_E_BAD_REQUEST, "as a bad request");

	is_int(sbx_num_duration_ms("90s", 0, UINT64_MAX, "t", &out, &err), 0, "s");
	is_int(out, 90000, "90 s");
	is_int(sbx_num_duration_ms("250ms", 0, UINT64_MAX, "t", &out, &err), 0, "ms");
	is_int(out, 250, "250 ms");
	is_int(sbx_num_duration_ms("2", 0, UINT64_MAX, "t", &out, &err), 0, "bare seconds");
	is_int(out, 2000, "2 s");
	is_int(sbx_num_duration_ms("3m", 0, UINT64_MAX, "t", &out, &err), 0, "m");
	is_int(out, 180000, "3 min");
	is_int(sbx_num_duration_ms("2h", 0, UINT64_MAX, "t", &out, &err), 0, "h");
	is_int(out, 7200000, "2 h");
	is_int(sbx_num_duration_ms("1d", 0, UINT64_MAX, "t", &out, &err), 0, "d");
	is_int(out, 86400000, "1 d");
	is_int(sbx_num_duration_ms("1w", 0, 1000, "t", &out, &err), -1, "w is no unit");
	is_int(sbx_num_duration_ms("5h", 1500, 7200000, "wait", &out, &err), -1, "too long");
	is_str(err.msg, "wait: \"5h\" is not a duration from 1500ms to 2h", "the message");
}

static void
test_mode_and_format(void)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} shown[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 1048575, "1023.9 KiB" },
		{ UINT64_C(1610612736), "1.5 GiB" },
		{ UINT64_MAX, "15.9 EiB" },
	};
	struct sbx_err err = { 0 };
	unsigned mode = 0;
	char out[16];
	size_t i;

	is_int(sbx_num_mode("0644", "mode", &mode, &err), 0, "mode");
	is_int(mode, 0644, "is octal");
	is_int(sbx_num_mode("7777", "mode", &mode, &err), 0, "all bits");
	is_int(sbx_num_mode("10000", "mode", &mode, &err), -1, "too many bits");
	is_int(sbx_num_mode("0o644", "mode", &mode, &err), -1, "no prefix");
	is_int(sbx_num_mode("0689", "mode", &mode, &err), -1, "not octal");
	is_str(err.msg, "mode: \"0689\" is not an octal mode from 0 to 07777", "the message");
	for (i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		sbx_num_format_size(shown[i].bytes, out);
		is_str(out, shown[i].text, "format %s", shown[i].text);
	}
}

int
main(void)
{
	test_u64();
	test_i64();
	test_units();
	test_mode_and_format();
	return done();
}
