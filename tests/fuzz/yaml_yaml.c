/* Converts any bytes from YAML. The result must be JSON that our strict parser accepts. */
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"
#include "yaml/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (enum yaml_scalars how = YAML_TYPED; how <= YAML_WORDS; how++) {
		AUTO_BUF out = BUF_INIT(YAML_JSON_MAX_BYTES);
		AUTO_JSON d = NULL;
		struct err e;

		if (yaml_to_json((const char *)data, size, how, &out, &e) == 0 &&
		    json_parse(buf_str(&out), out.n, &d, &e) < 0)
			abort();
	}
	return 0;
}
