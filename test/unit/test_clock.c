/* base/clock: clocks go forward; RFC 3339 there and back against libc's calendar. */
#include "base/clock.h"

#include <time.h>

#include "tap.h"

static void
test_against_libc(void)
{
	char got[32], want[64];
	int64_t second, back = 0, ms;
	unsigned wrong = 0, broken = 0;
	struct tm tm;
	time_t t;

	/* from year 0 to 9999 in steps of about 11 days, at odd times of day */
	for (second = INT64_C(-62167219200); second <= INT64_C(253402300799); second += 987654) {
		t = second;
		gmtime_r(&t, &tm);
		snprintf(want, sizeof(want), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
			tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
			tm.tm_sec, (int)(second & 511));
		ms = second * 1000 + (second & 511);
		sbx_clock_format(ms, got);
		wrong += strcmp(got, want) != 0;
		broken += sbx_clock_parse(got, &back) < 0 || back != ms;
	}
	is_int(wrong, 0, "format agrees with gmtime");
	is_int(broken, 0, "parse takes it back");
}

static void
test_parse(void)
{
	static const char *const wrong[] = { "", "2026-12-01", "2026-12-01T02:24:25",
		"2026-12-01T02:24:25.123", "2026-12-01T02:24:25.12Z", "2026-12-01T02:24:25.1234Z",
		"2026-12-01T02:24:25+00:00", "2026-12-01 02:24:25Z", "2026-13-01T02:24:25Z",
		"2026-00-01T02:24:25Z", "2026-02-29T02:24:25Z", "2026-04-31T00:00:00Z",
		"2026-12-00T02:24:25Z", "2026-12-01T24:00:00Z", "2026-12-01T02:60:00Z",
		"2026-12-01T02:24:60Z", "2026-12-01T02:24:25Zx", " 2026-12-01T02:24:25Z",
		"-026-12-01T02:24:25Z", "2026-12-01t02:24:25z", "1900-02-29T00:00:00Z",
		"2026-1-01T02:24:25Z" };
	int64_t ms = 0;
	char out[32];
	size_t i;

	is_int(sbx_clock_parse("2026-12-01T02:24:25.123Z", &ms), 0, "with a fraction");
	ok(ms == INT64_C(1796091865123), "is the right time");
	is_int(sbx_clock_parse("2026-12-01T02:24:25Z", &ms), 0, "without");
	ok(ms == INT64_C(1796091865000), "is the right time");
	is_int(sbx_clock_parse("2000-02-29T00:00:00Z", &ms), 0, "2000 was a leap year");
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		is_int(sbx_clock_parse(wrong[i], &ms), -1, "refused: \"%s\"", wrong[i]);
	sbx_clock_format(-1, out);
	is_str(out, "1969-12-31T23:59:59.999Z", "before 1970");
	sbx_clock_format(INT64_MAX, out);
	is_str(out, "292278994-08-17T07:12:55.807Z", "the last moment fits");
	sbx_clock_format(INT64_MIN, out);
	is_str(out, "-292275055-05-16T16:47:04.192Z", "the first one too");
}

int
main(void)
{
	int64_t mono = sbx_clock_mono_us(), boot = sbx_clock_boot_ms();
	int64_t wall = sbx_clock_wall_ms();
	struct timespec ms = { 0, 2000000 };

	nanosleep(&ms, NULL);
	ok(sbx_clock_mono_us() - mono >= 2000, "monotonic goes on");
	ok(sbx_clock_boot_ms() >= boot + 1, "so does boottime");
	ok(sbx_clock_mono_ms() <= sbx_clock_boot_ms(), "boottime counts suspend too");
	ok(wall / 1000 - (int64_t)time(NULL) <= 1 && (int64_t)time(NULL) - wall / 1000 <= 1,
		"wall time is time(2)");
	is_int(strlen(sbx_clock_boot_id()), 36, "the boot id");
	ok(sbx_clock_boot_id() == sbx_clock_boot_id(), "is read once");
	test_against_libc();
	test_parse();
	return done();
}
