#include "service/redaction.h"

#include "base/cleanup.h"
#include "t.h"

#define KEY20 "abcdefghij0123456789"

static const char *redacted(const char *text)
{
	static char out[65536];
	AUTO_BUF b = BUF_INIT(3 * strlen(text) + 1);

	redaction_write(str_of(text), &b);
	T_TRUE(!buf_failed(&b));
	snprintf(out, sizeof(out), "%s", buf_str(&b));
	return out;
}

static void harmless_texts_stay(void)
{
	static const char *const texts[] = {
		"",
		"a",
		"the sandbox does not come up",
		"workspace quota exceeded before execution: used=2097152 bytes limit=1048576 bytes",
		"Box session s already exists with cpus=1.0",
		"http://127.0.0.1:5410/rpc/ws?limit=5&offset=6",
		"ws://host:5410 cannot be reached",
		"sk-short and risk-free-and-long-enough words",
		"AUTHOR: me, TOKENS: 5, a + 1234567 b, +0123456789",
		"\"monkey\": \"banana\", 'name': 'x'",
		"-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----",
		"12345678:short <@123> é \xf0\x9f\x98\x80",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		T_STR(redacted(texts[i]), texts[i]);
}

/* Secrets of fewer than 18 characters are hidden whole. Longer secrets keep their first 6 and last
 * 4 characters. */
static void the_length_decides_what_is_kept(void)
{
	T_STR(redacted("TOKEN=x"), "TOKEN=***");
	T_STR(redacted("TOKEN=12345678901234567"), "TOKEN=***");
	T_STR(redacted("TOKEN=123456789012345678"), "TOKEN=123456...5678");
	T_STR(redacted("TOKEN=ééééééééééééééééé"), "TOKEN=***");
	T_STR(redacted("TOKEN=éééééééééééééééééé"), "TOKEN=éééééé...éééé");
}

static void keys_of_providers(void)
{
	static const char *const prefixes[] = {
		"sk-",   "ghp_",     "github_pat_", "gho_",  "ghu_",     "ghs_",     "ghr_",
		"xoxb-", "xoxa-",    "xoxp-",       "xoxr-", "xoxs-",    "pplx-",    "fal_",
		"fc-",   "bb_live_", "gAAAA",       "AKIA",  "sk_live_", "sk_test_", "rk_live_",
		"SG.",   "hf_",      "r8_",         "npm_",  "pypi-",    "dop_v1_",  "doo_v1_",
		"am_",   "sk_",      "tvly-",       "exa_",  "gsk_",     "syt_",     "retaindb_",
		"hsk-",  "mem0_",    "brv_",        "fw_",   "ntn_",     "xai-",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		AUTO_FREE char *text = xasprintf("got (%s" KEY20 ") from it", prefixes[i]);
		AUTO_FREE char *all = xasprintf("%s" KEY20, prefixes[i]);
		AUTO_FREE char *want = xasprintf("got (%.6s...6789) from it", all);

		T_STR(redacted(text), want);
	}
	T_STR(redacted("AIza" KEY20 KEY20), "AIzaab...6789");
	T_STR(redacted("AIza" KEY20), "AIza" KEY20);
	T_STR(redacted("SG.abcdefghij.0123456789klmnop"), "SG.abc...mnop");
	T_STR(redacted("xsk-" KEY20), "xsk-" KEY20); /* "sk-" is not at the beginning of a word */
}

static void tokens(void)
{
	T_STR(redacted("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJl."),
	      "jwt eyJhbG...dXJl.");
	T_STR(redacted("bot12345678:" KEY20 "0123456789"), "bot12345678:***");
	T_STR(redacted("Authorization: Bearer " KEY20), "Authorization: Bearer abcdef...6789");
	T_STR(redacted("authorization:Basic abc"), "authorization:Basic ***");
	T_STR(redacted("AUTHORIZATION: abc"), "AUTHORIZATION: ***");
	T_STR(redacted("Authorization: sk-" KEY20 " more\nx"), "Authorization: sk-abc...more\nx");
	T_STR(redacted("Authorization: Digest a=b, c=d\nx"), "Authorization: ***\nx");
}

static void names_tell_secrets(void)
{
	T_STR(redacted("OPENAI_API_KEY=abc x"), "OPENAI_API_KEY=*** x");
	T_STR(redacted("export DB_PASSWORD='a b' x"), "export DB_PASSWORD='***' x");
	T_STR(redacted("MY_AUTH_X=\"a\""), "MY_AUTH_X=\"***\"");
	T_STR(redacted("A_SECRET= x"), "A_SECRET= x");
	T_STR(redacted("{\"apiKey\": \"abc\", \"access_token\":\"d\\\"e\", \"n\": \"f\"}"),
	      "{\"apiKey\": \"***\", \"access_token\":\"***\", \"n\": \"f\"}");
	T_STR(redacted("{'password': 'abc'"), "{'password': '***'");
	T_STR(redacted("\"token\": \"cut off"), "\"token\": \"***");
	T_STR(redacted("\"auth\" : \"a\", \"token\": 5, \"token\""),
	      "\"auth\" : \"***\", \"token\": 5, \"token\"");
}

static void private_keys(void)
{
	T_STR(redacted(
		      "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb"),
	      "a\n[REDACTED PRIVATE KEY]\nb");
	T_STR(redacted("-----BEGIN PRIVATE KEY-----\nMIIE and no end"), "[REDACTED PRIVATE KEY]");
	T_STR(redacted("-----BEGIN PRIVATE KEY-----\nMIIE-----END PRIV"), "[REDACTED PRIVATE KEY]");
}

static void addresses_and_forms(void)
{
	T_STR(redacted("postgres://me:p@ss@db/x"), "postgres://me:***@db/x");
	T_STR(redacted("ws://u:p@h:1/"), "ws://u:***@h:1/");
	T_STR(redacted("https://me@host and https://h:1/a@b"),
	      "https://me@host and https://h:1/a@b");
	T_STR(redacted("https://h/a?code=1&x=2&access_token=abc#f"),
	      "https://h/a?code=***&x=2&access_token=***#f");
	T_STR(redacted("password=abc&user=me"), "password=***&user=me");
	/* only two or more `name=value` with '&' between them count as a web form */
	T_STR(redacted("password=abc"), "password=abc");
}

static void people(void)
{
	T_STR(redacted("<@123456789012345678> <@!123456789012345678>"), "<@***> <@!***>");
	T_STR(redacted("call +491701234567 now"), "call +*** now");
	T_STR(redacted("+1234567890123456 +123456"), "+1234567890123456 +123456");
}

/* Wherever a text is cut, nothing may be read beyond the cut. */
static void every_beginning_of_a_text(void)
{
	static const char all[] = "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"
				  "A_TOKEN='a\\' \"token\" : \"b\\\"\" Authorization: Bearer c "
				  "x://u:p@h?key=v&code=w <@!123456789012345678> +491701234567 "
				  "eyJhbGciOiJIUzI1NiJ9.. 12345678:" KEY20 "0123456789 sk-" KEY20;

	for (size_t n = 0; n < sizeof(all); n++) {
		AUTO_FREE char *text = xstrndup(all, n);

		T_TRUE(strlen(redacted(text)) <= 3 * n);
	}
}

int main(void)
{
	T_RUN(harmless_texts_stay);
	T_RUN(the_length_decides_what_is_kept);
	T_RUN(keys_of_providers);
	T_RUN(tokens);
	T_RUN(names_tell_secrets);
	T_RUN(private_keys);
	T_RUN(addresses_and_forms);
	T_RUN(people);
	T_RUN(every_beginning_of_a_text);
	return t_end();
}
