#include "policy/addr.h"
#include "t.h"

static void texts_round_trip(void)
{
	static const char *const same[] = { "0.0.0.0",
					    "255.255.255.255",
					    "::",
					    "::1",
					    "2001:db8::1",
					    "fe80::1:0:0:1",
					    "1:2:3:4:5:6:7:8",
					    "1:0:2:0:3:0:4:0",
					    "::2:3:4:5:6:7:8",
					    "fd00:ec2::254" };
	static const char *const pair[][2] = {
		{ "2001:DB8:0:0:0:0:0:1", "2001:db8::1" },
		{ "::ffff:1.2.3.4", "1.2.3.4" },
		{ "::ffff:102:304", "1.2.3.4" },
		{ "64:ff9b::10.0.0.1", "64:ff9b::a00:1" },
		{ "0::0", "::" },
		{ "1::0:8", "1::8" },
		{ "0:0:2:3:4:5:6:7", "::2:3:4:5:6:7" },
	};
	char text[ADDR_TEXT_BYTES];
	struct addr a;

	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		T_INT(addr_parse(str_of(same[i]), &a), 0);
		addr_format(&a, text);
		T_STR(text, i == 8 ? "0:2:3:4:5:6:7:8" : same[i]);
	}
	for (size_t i = 0; i < sizeof(pair) / sizeof(*pair); i++) {
		T_INT(addr_parse(str_of(pair[i][0]), &a), 0);
		addr_format(&a, text);
		T_STR(text, pair[i][1]);
	}
}

static void wrong_texts_are_refused(void)
{
	static const char *const wrong[] = {
		"",
		"1.2.3",
		"1.2.3.4.5",
		"01.2.3.4",
		"1.2.3.256",
		"0x7f.1",
		"1.2.3.4 ",
		"127.1",
		"1..2.3",
		":",
		":::",
		"1::2::3",
		"1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9",
		"12345::",
		"g::",
		"::1%eth0",
		"1:2:3:4:5:6:7::8:9",
		"1.2.3.4::",
		"::1.2.3",
		"::1.2.3.4:5",
		"1:2:3:4:5:6:7:1.2.3.4",
		"[::1]",
		"1:2:3:4:5:6:7:8:",
		":1:2:3:4:5:6:7:8",
		"1:2:3:4::5:6:7:8",
	};
	struct addr a;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (addr_parse(str_of(wrong[i]), &a) == 0)
			T_FAIL("accepted '%s'", wrong[i]);
}

static void prefixes(void)
{
	static const struct {
		const char *cidr, *in, *out, *text;
	} c[] = {
		{ "10.0.0.0/8", "10.255.0.1", "11.0.0.0", "10.0.0.0/8" },
		{ "10.1.2.3/9", "10.127.0.1", "10.128.0.0", "10.0.0.0/9" },
		{ "1.2.3.4", "1.2.3.4", "1.2.3.5", "1.2.3.4" },
		{ "0.0.0.0/0", "9.9.9.9", "::1", "0.0.0.0/0" },
		{ "::/0", "2001:db8::1", "1.2.3.4", "::/0" },
		{ "2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1", "2001:db8::/33" },
		{ "::ffff:10.0.0.0/104", "10.9.9.9", "11.0.0.1", "10.0.0.0/8" },
	};
	static const char *const wrong[] = { "10.0.0.0/33",  "10.0.0.0/",         "10.0.0.0/-1",
					     "::/129",       "10.0.0.0/8/8",      "/8",
					     "10.0.0.0/08x", "::ffff:10.0.0.0/80" };
	char text[CIDR_TEXT_BYTES];
	struct cidr cidr;
	struct addr a;

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		T_INT(cidr_parse(str_of(c[i].cidr), &cidr), 0);
		cidr_format(&cidr, text);
		T_STR(text, c[i].text);
		T_INT(addr_parse(str_of(c[i].in), &a), 0);
		if (!cidr_has(&cidr, &a))
			T_FAIL("%s is not in %s", c[i].in, c[i].cidr);
		T_INT(addr_parse(str_of(c[i].out), &a), 0);
		if (cidr_has(&cidr, &a))
			T_FAIL("%s is in %s", c[i].out, c[i].cidr);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (cidr_parse(str_of(wrong[i]), &cidr) == 0)
			T_FAIL("accepted '%s'", wrong[i]);
}

static void groups(void)
{
	static const struct {
		const char *addr;
		enum addr_group group;
	} c[] = {
		{ "0.0.0.0", GROUP_NONE },
		{ "::", GROUP_NONE },
		{ "172.16.0.1", GROUP_HOST },
		{ "fd42::1", GROUP_HOST },
		{ "172.16.0.2", GROUP_PRIVATE },
		{ "169.254.169.254", GROUP_META },
		{ "::ffff:169.254.169.254", GROUP_META },
		{ "64:ff9b::169.254.169.254", GROUP_META },
		{ "2002:a9fe:a9fe::1", GROUP_META },
		{ "169.254.170.2", GROUP_META },
		{ "fd00:ec2::254", GROUP_META },
		{ "100.100.100.200", GROUP_META },
		{ "168.63.129.16", GROUP_META },
		{ "168.63.129.17", GROUP_PUBLIC },
		{ "127.0.0.53", GROUP_LOOPBACK },
		{ "::1", GROUP_LOOPBACK },
		{ "10.0.0.1", GROUP_PRIVATE },
		{ "172.31.255.255", GROUP_PRIVATE },
		{ "172.32.0.0", GROUP_PUBLIC },
		{ "192.168.1.1", GROUP_PRIVATE },
		{ "100.64.0.1", GROUP_PRIVATE },
		{ "100.128.0.1", GROUP_PUBLIC },
		{ "192.0.0.192", GROUP_META },
		{ "192.0.0.1", GROUP_PRIVATE },
		{ "192.0.1.0", GROUP_PUBLIC },
		{ "fec0::1", GROUP_PRIVATE },
		{ "feff:ffff::1", GROUP_PRIVATE },
		{ "64:ff9b:1::1", GROUP_PRIVATE },
		{ "64:ff9b:2::1", GROUP_PUBLIC },
		{ "fc00::1", GROUP_PRIVATE },
		{ "fdff::1", GROUP_PRIVATE },
		{ "169.254.1.1", GROUP_LINK_LOCAL },
		{ "fe80::1", GROUP_LINK_LOCAL },
		{ "febf::1", GROUP_LINK_LOCAL },
		{ "224.0.0.1", GROUP_MULTICAST },
		{ "ff02::1", GROUP_MULTICAST },
		{ "8.8.8.8", GROUP_PUBLIC },
		{ "2001:4860::8888", GROUP_PUBLIC },
		{ "64:ff9b::8.8.8.8", GROUP_PUBLIC },
		{ "64:ff9b::10.0.0.1", GROUP_PRIVATE },
	};
	struct addr_host host = { .has_v4 = true, .has_v6 = true };

	T_INT(addr_parse(str_of("172.16.0.1"), &host.v4), 0);
	T_INT(addr_parse(str_of("fd42::1"), &host.v6), 0);
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct addr a;

		T_INT(addr_parse(str_of(c[i].addr), &a), 0);
		if (addr_group_of(&a, &host) != c[i].group)
			T_FAIL("%s: group %d, want %d", c[i].addr, addr_group_of(&a, &host),
			       c[i].group);
	}
}

static void carried_addresses(void)
{
	static const char *const c[][2] = {
		{ "64:ff9b::203.0.113.1", "203.0.113.1" },
		{ "2002:cb00:7101::7", "203.0.113.1" },
		{ "2001:db8::1", NULL },
		{ "203.0.113.1", NULL },
	};
	char text[ADDR_TEXT_BYTES];
	struct addr a, in;

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		T_INT(addr_parse(str_of(c[i][0]), &a), 0);
		T_INT(addr_carried(&a, &in), c[i][1] != NULL);
		if (!c[i][1])
			continue;
		addr_format(&in, text);
		T_STR(text, c[i][1]);
	}
}

int main(void)
{
	T_RUN(texts_round_trip);
	T_RUN(wrong_texts_are_refused);
	T_RUN(prefixes);
	T_RUN(groups);
	T_RUN(carried_addresses);
	return t_end();
}
