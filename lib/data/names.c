/* A word out of a fixed list: how every enumeration in a record or a configuration is read. */
#include "data/names.h"

#include <string.h>

#include "base/buf.h"

#define LIST_BYTES_MAX 200 /* what fits in an error */

int
sbx_names_parse(const char *text, const char *const *names, const char *what, int *out,
	struct sbx_err *err)
{
	SBX_AUTO_BUF list = SBX_BUF_INIT(LIST_BYTES_MAX);

	for (int i = 0; names[i] != NULL; i++) {
		if (strcmp(text, names[i]) == 0) {
			*out = i;
			return 0;
		}
		(void)sbx_buf_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
	}
	return sbx_fail(err, SBX_E_BAD_REQUEST, "%s: must be one of %s", what, sbx_buf_str(&list));
}
