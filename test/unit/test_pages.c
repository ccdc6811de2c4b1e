/* The pages of section 5: their examples validate, and they describe every key. */
#include <fcntl.h>

#include "base/io.h"
#include "data/config.h"
#include "data/limits_table.h"
#include "data/spec.h"
#include "tap.h"

static struct sbx_buf page = SBX_BUF_INIT(1 << 20);

static void
open_page(const char *path)
{
	struct sbx_err err = { .code = SBX_OK };

	sbx_buf_clear(&page);
	is_int(sbx_io_read_file(AT_FDCWD, path, &page, &err), 0, "%s is there", path);
}

/* The next literal block of EXAMPLES, with mdoc's "\e" undone. *at moves behind it. */
static int
next_example(const char **at, struct sbx_buf *out)
{
	const char *end;

	if (*at == NULL)
		*at = strstr(sbx_buf_str(&page), "\n.Sh EXAMPLES\n");
	*at = *at == NULL ? NULL : strstr(*at, "\n.Bd -literal");
	*at = *at == NULL ? NULL : strchr(*at + 1, '\n');
	end = *at == NULL ? NULL : strstr(*at, "\n.Ed\n");
	sbx_buf_clear(out);
	if (end == NULL)
		return 0;
	for (const char *p = *at; p < end; p++) {
		(void)sbx_buf_add_char(out, *p);
		if (p[0] == '\\' && p[1] == 'e')
			p++;
	}
	*at = end;
	return 1;
}

static void
test_yaml(void)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(65536);
	struct sbx_config config;
	struct sbx_err err = { .code = SBX_OK };
	const char *at = NULL;

	open_page("man/sbx.yaml.5");
	sbx_config_init(&config);
	ok(next_example(&at, &text), "sbx.yaml(5) has an example");
	is_int(sbx_config_read("example", sbx_buf_str(&text), text.length, &config, &err), 0,
		"that is valid: %s", err.msg);
	is_str(config.state, "/srv/sbx", "and says what it says");
	open_page("man/limits.yaml.5");
	at = NULL;
	ok(next_example(&at, &text), "limits.yaml(5) has an example");
	is_int(sbx_profile_read("example", sbx_buf_str(&text), text.length, &config.profile, &err),
		0, "that is valid: %s", err.msg);
	sbx_config_done(&config);
}

static void
test_spec(void)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(65536);
	struct sbx_config config;
	struct sbx_spec spec;
	struct sbx_err err = { .code = SBX_OK };
	const char *at = NULL;
	int count = 0;

	open_page("man/sbx-spec.5");
	sbx_config_init(&config);
	while (next_example(&at, &text)) {
		count++;
		is_int(sbx_spec_read(sbx_buf_str(&text), text.length, &config, &spec, &err), 0,
			"example %d of sbx-spec(5) is valid: %s", count, err.msg);
		sbx_spec_done(&spec);
	}
	is_int(count, 2, "two examples");
	sbx_config_done(&config);
}

static void
test_result(void)
{
	SBX_AUTO_BUF text = SBX_BUF_INIT(65536);
	struct sbx_err err = { .code = SBX_OK };
	SBX_AUTO_JSON doc = NULL;
	const char *at = NULL;
	struct sbx_json key;
	size_t cursor = 0;

	open_page("man/sbx-result.5");
	ok(next_example(&at, &text), "sbx-result(5) has an example");
	doc = sbx_json_parse(sbx_buf_str(&text), text.length, &err);
	ok(doc != NULL, "that is JSON: %s", err.msg);
	while (doc != NULL && sbx_json_each(sbx_json_root(doc), &cursor, &key, NULL)) {
		char *name = NULL;

		if (sbx_json_string(key, "key", 64, &name, &err) == 0)
			ok(strstr(sbx_buf_str(&page), name) != NULL, "%s is described", name);
		free(name);
	}
}

static void
is_described(const char *name)
{
	char line[128];

	snprintf(line, sizeof(line), "\n.It Sy %s\n", name);
	ok(strstr(sbx_buf_str(&page), line) != NULL, "%s is described", name);
}

/* The shipped file names every key, some of them behind a '#'. */
static void
test_keys(void)
{
	static const char *const spec_keys[] = { "tenant", "run", "epoch", "mechanism", "image",
		"storage", "proc", "debug", "expires_after", "tmp_bytes", "env", "limits", "egress",
		"fake_script" };
	SBX_AUTO_BUF shipped = SBX_BUF_INIT(65536);
	struct sbx_err err = { .code = SBX_OK };
	char *next, *line;
	int count = 0;

	open_page("man/sbx.yaml.5");
	is_int(sbx_io_read_file(AT_FDCWD, "etc/sbx.yaml", &shipped, &err), 0, "etc/sbx.yaml");
	next = shipped.data;
	while ((line = strsep(&next, "\n")) != NULL) {
		line += line[0] == '#';
		if (line[0] < 'a' || line[0] > 'z' || strchr(line, ':') == NULL)
			continue;
		*strchr(line, ':') = '\0';
		is_described(line);
		count++;
	}
	ok(count >= 14, "%d keys", count);
	open_page("man/limits.yaml.5");
	for (size_t i = 0; i < SBX_LIMITS_FIELDS; i++)
		is_described(sbx_limits_fields[i].name);
	open_page("man/sbx-spec.5");
	for (size_t i = 0; i < SBX_LIMITS_FIELDS; i++)
		if (sbx_limits_fields[i].in_spec)
			is_described(sbx_limits_fields[i].name);
	for (size_t i = 0; i < sizeof(spec_keys) / sizeof(spec_keys[0]); i++)
		is_described(spec_keys[i]);
}

int
main(void)
{
	test_yaml();
	test_spec();
	test_result();
	test_keys();
	sbx_buf_done(&page);
	return done();
}
