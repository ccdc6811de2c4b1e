/* Time: monotonic for deadlines, BOOTTIME for leases, wall time only for people and after a reboot. */
#ifndef SBX_BASE_CLOCK_H
#define SBX_BASE_CLOCK_H

#include <stdint.h>

int64_t sbx_clock_mono_us(void);
int64_t sbx_clock_mono_ms(void);
int64_t sbx_clock_boot_ms(void); /* CLOCK_BOOTTIME: goes on in suspend, never steps */
int64_t sbx_clock_wall_ms(void); /* since 1970, may step */

/* RFC 3339 with milliseconds and Z, "2026-12-01T02:24:25.123Z". */
void sbx_clock_format(int64_t wall_ms, char out[32]);
/* The reverse, only of that form (fraction optional): 0, or -1 without an error text. */
int sbx_clock_parse(const char *text, int64_t *wall_ms) __attribute__((warn_unused_result));

/* The boot's id (/proc/sys/kernel/random/boot_id), 36 characters; read once. "" if unreadable. */
const char *sbx_clock_boot_id(void);

#endif
