/*
 * Clocks, and RFC 3339 without libc's time zone machinery, which would open /etc/localtime at a
 * moment when we have confined ourselves. Never steps or sets a clock.
 */
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/io.h"

#define DAY_MS (INT64_C(86400) * 1000)

static int64_t
read_us(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts); /* cannot fail: these clocks exist and ts is ours */
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
sbx_clock_mono_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t
sbx_clock_mono_ms(void)
{
	return read_us(CLOCK_MONOTONIC) / 1000;
}

int64_t
sbx_clock_boot_ms(void)
{
	return read_us(CLOCK_BOOTTIME) / 1000;
}

int64_t
sbx_clock_wall_ms(void)
{
	return read_us(CLOCK_REALTIME) / 1000;
}

/*
 * The civil calendar by Howard Hinnant's days_from_civil: years begin in March, so that the leap
 * day is their last, and 400 of them (an era) have 146,097 days.
 */
static int64_t
days_of_date(int64_t year, int month, int day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t year_of_era = y - era * 400;
	int64_t day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
		day_of_year - 719468;
}

static void
date_of_days(int64_t days, int64_t *year, int *month, int *day)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t shifted = (5 * doy + 2) / 153;

	*day = (int)(doy - (153 * shifted + 2) / 5 + 1);
	*month = (int)(shifted < 10 ? shifted + 3 : shifted - 9);
	*year = yoe + era * 400 + (*month <= 2);
}

void
sbx_clock_format(int64_t wall_ms, char out[32])
{
	int64_t days = wall_ms / DAY_MS, rest = wall_ms % DAY_MS, year;
	int month, day;

	if (rest < 0) {
		rest += DAY_MS;
		days--;
	}
	date_of_days(days, &year, &month, &day);
	snprintf(out, 32, "%04jd-%02d-%02dT%02d:%02d:%02d.%03dZ", (intmax_t)year, month, day,
		(int)(rest / 3600000), (int)(rest / 60000 % 60), (int)(rest / 1000 % 60),
		(int)(rest % 1000));
}

/* The digits that `form` has at this place, then whatever else stands there; *p moves along. */
static int
take_field(const char **p, int digits, const char *form, int *out)
{
	int value = 0;

	for (; digits > 0; digits--, (*p)++) {
		if (**p < '0' || **p > '9')
			return -1;
		value = value * 10 + (**p - '0');
	}
	if (strncmp(*p, form, strlen(form)) != 0)
		return -1;
	*p += strlen(form);
	*out = value;
	return 0;
}

static int
is_date(int year, int month, int day)
{
	static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	if (month < 1 || month > 12 || day < 1)
		return 0;
	return day <= lengths[month - 1] + (month == 2 && leap);
}

int
sbx_clock_parse(const char *text, int64_t *wall_ms)
{
	int year, month, day, hour, minute, second, ms = 0;
	const char *p = text;

	if (take_field(&p, 4, "-", &year) < 0 || take_field(&p, 2, "-", &month) < 0 ||
		take_field(&p, 2, "T", &day) < 0 || take_field(&p, 2, ":", &hour) < 0 ||
		take_field(&p, 2, ":", &minute) < 0 || take_field(&p, 2, "", &second) < 0)
		return -1;
	if (*p == '.') {
		p++;
		if (take_field(&p, 3, "", &ms) < 0)
			return -1;
	}
	if (strcmp(p, "Z") != 0 || !is_date(year, month, day))
		return -1;
	if (hour > 23 || minute > 59 || second > 59) /* 60: our clocks have no leap seconds */
		return -1;
	*wall_ms = days_of_date(year, month, day) * DAY_MS +
		(((int64_t)hour * 60 + minute) * 60 + second) * 1000 + ms;
	return 0;
}

const char *
sbx_clock_boot_id(void)
{
	static char id[64];

	if (id[0] == '\0' &&
		sbx_io_read_attr(AT_FDCWD, "/proc/sys/kernel/random/boot_id", id, sizeof(id)) != 36)
		id[0] = '\0';
	return id;
}
