/* `cordon context`: where sandboxes run. There is one answer, kept for programs that ask. */
#include "cli/commands.h"

#include "base/json.h"
#include "cli/ui.h"

int cmd_context(const struct args *a)
{
	AUTO_BUF out = BUF_INIT(4096);
	struct json_writer w;
	struct ui_table t;
	static const char *const cells[] = { "FIELD", "VALUE",  "Backend",
					     "local", "Source", "default" };

	if (args_has(a, "format")) {
		json_writer_init(&w, &out, 2);
		json_begin_object(&w);
		json_key_str(&w, "kind", "local");
		json_key_str(&w, "source", "default");
		json_end_object(&w);
		buf_add_char(&out, '\n');
		return ui_write_stdout(&out);
	}
	ui_table_init(&t, 2);
	for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		ui_table_add(&t, cells[i]);
	return ui_table_print(&t);
}
