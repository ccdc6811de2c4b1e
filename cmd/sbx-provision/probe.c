/*
 * --probe: what each mechanism could do here, each primitive tried by doing it, as a record or for
 * people. Builds nothing that lasts and changes nothing.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scoped.h"
#include "data/json_out.h"
#include "provision.h"

/* One mechanism's turn. */
struct view {
	const char *name;
	int configured, works;
	struct sbx_err why; /* not: a rule, or what is missing */
	struct sbx_probe probe;
};

static void
look(const struct sbx_tool *tool, const char *name, struct view *view)
{
	const struct sbx_mech *mech;
	const char *warning;

	*view = (struct view){ .name = name };
	view->configured = strcmp(name, tool->config.mechanism) == 0;
	mech = sbx_mech_find(name, &view->why);
	if (mech == NULL)
		return;
	view->works = sbx_mech_rules(mech, &tool->config, 0, &warning, &view->why) == 0;
	mech->probe(&tool->host, &view->probe);
	for (size_t i = 0; i < view->probe.count; i++) {
		const struct sbx_probe_item *item = &view->probe.items[i];

		if (item->works || !item->required)
			continue;
		if (view->works)
			sbx_fail(&view->why, SBX_E_UNAVAILABLE, "%s does not work", item->name);
		view->works = 0;
	}
}

static void
out_record(const struct view *view, struct sbx_json_out *json)
{
	sbx_json_out_object(json, NULL);
	sbx_json_out_string(json, "mechanism", view->name);
	sbx_json_out_bool(json, "configured", view->configured);
	sbx_json_out_bool(json, "works", view->works);
	if (!view->works) {
		sbx_json_out_string(json, "reason", view->why.msg);
		if (view->why.hint[0] != '\0')
			sbx_json_out_string(json, "hint", view->why.hint);
	}
	sbx_json_out_array(json, "items");
	for (size_t i = 0; i < view->probe.count; i++) {
		const struct sbx_probe_item *item = &view->probe.items[i];

		sbx_json_out_object(json, NULL);
		sbx_json_out_string(json, "name", item->name);
		sbx_json_out_bool(json, "works", item->works);
		sbx_json_out_bool(json, "required", item->required);
		sbx_json_out_string(json, "detail", item->detail);
		if (!item->works)
			sbx_json_out_string(json, "fix", item->fix);
		sbx_json_out_end(json);
	}
	sbx_json_out_end(json);
	sbx_json_out_end(json);
}

static void
out_table(const struct view *view, struct sbx_buf *out)
{
	sbx_buf_printf(out, "%s%s: %s", view->name, view->configured ? " (configured)" : "",
		view->works ? "works" : view->why.msg);
	if (!view->works && view->why.hint[0] != '\0')
		sbx_buf_printf(out, " (%s)", view->why.hint);
	sbx_buf_add_char(out, '\n');
	for (size_t i = 0; i < view->probe.count; i++) {
		const struct sbx_probe_item *item = &view->probe.items[i];

		sbx_buf_printf(out, "  %-8s %-24s %s\n",
			item->works ? "ok" : (item->required ? "MISSING" : "absent"), item->name,
			item->detail);
		if (!item->works && item->fix[0] != '\0')
			sbx_buf_printf(out, "  %-8s %-24s fix: %s\n", "", "", item->fix);
	}
}

int
provision_probe(const struct sbx_tool *tool, int table, int *works, struct sbx_err *err)
{
	SBX_AUTO_BUF out = SBX_BUF_INIT(SBX_JSON_LINE_MAX);
	struct sbx_json_out json;
	struct view view;
	const char *name;

	table = table || isatty(STDOUT_FILENO);
	sbx_json_out_init(&json, &out);
	if (!table) {
		sbx_json_out_object(&json, NULL);
		sbx_json_out_string(&json, "type", "probe");
		sbx_json_out_string(&json, "deployment",
			sbx_deployment_names[tool->config.deployment]);
		sbx_json_out_array(&json, "mechanisms");
	}
	for (size_t i = 0; (name = sbx_mech_name(i)) != NULL; i++) {
		look(tool, name, &view);
		if (view.configured)
			*works = view.works;
		if (table)
			out_table(&view, &out);
		else
			out_record(&view, &json);
	}
	if (!table) {
		sbx_json_out_end(&json);
		sbx_json_out_bool(&json, "works", *works);
		sbx_json_out_end(&json);
		if (sbx_json_out_line(&json, "probe record", err) < 0)
			return -1;
	}
	if (sbx_buf_check(&out, "probe", err) < 0)
		return -1;
	return sbx_tool_print(&out, err);
}
