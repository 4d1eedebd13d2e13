#include "process/host_secret.h"

#include "base/cleanup.h"
#include "t.h"

static void test_secrets_are_found(void)
{
	static const char *const secrets[] = {
		"http_password=x",
		"a = 1\nproxy_password = x\n",
		"  proxy-passwd\t=\tx\n",
		"http_proxy = http://me:word@proxy:3128/\n",
		"<server>\n <password>x</password>\n",
		"<!-- a comment --><password>x</password>",
		"<!-- two\nlines -->\n<passphrase>{x}</passphrase>",
		"\"access_token\": \"x\"",
		"_authToken=x",
		"systemProp.http.proxyPassword=x",
		"mysqli.default_pw = x",
		"GITHUB_TOKEN=x",
		"'secret' => 'x'",
		"# a comment\nPASSWORD: x",
		"<!-- no end\n<password>x</password>",
		"x <!-- y\npassword=x\n",
		"x <!-- y\npassword=x\nz --> a\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++)
		T_TRUE(host_secret_found(str_of(secrets[i])));
}

static void test_ordinary_files_hold_none(void)
{
	static const char *const files[] = {
		"",
		"\n\n",
		"# http_password=x\n; password = x\n! password=x\n% password=x\n// password = x\n",
		"<!-- <password>x</password>\n<password>y</password> -->",
		" \n<a/><!-- <password>x</password> -->\n<b/>",
		"http_proxy = http://proxy:3128/\nurl = https://host/a:b@c\nmail = user@host\n",
		"<password></password>\n<password>${env.WORD}</password>\npassword =\n",
		"password.file=/etc/x\npassword-cache\nPASS_MAX_DAYS 99999\n",
		"tokens=1\nsecretary: x\n",
		"<add type=\"System.Web, PublicKeyToken=b03f5f7f11d50a3a\"/>",
		"<map Token=\"b77a5c561934e089\"/>",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		T_TRUE(!host_secret_found(str_of(files[i])));
	T_TRUE(!host_secret_found((struct str){ "a\0password=x", 12 }));
}

int main(void)
{
	T_RUN(test_secrets_are_found);
	T_RUN(test_ordinary_files_hold_none);
	return t_end();
}
