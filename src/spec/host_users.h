/* The users and groups of the image `host`. They replace the host's own users and groups. */
#pragma once

#define HOST_IMAGE_PASSWD                                        \
	"root:x:0:0:root:/root:/bin/bash\n"                      \
	"daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"      \
	"bin:x:2:2:bin:/bin:/usr/sbin/nologin\n"                 \
	"mail:x:8:8:mail:/var/mail:/usr/sbin/nologin\n"          \
	"www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n" \
	"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
#define HOST_IMAGE_GROUP                                                               \
	"root:x:0:\ndaemon:x:1:\nbin:x:2:\nadm:x:4:\ntty:x:5:\ndisk:x:6:\nmail:x:8:\n" \
	"www-data:x:33:\nutmp:x:43:\nstaff:x:50:\nusers:x:100:\nnogroup:x:65534:\n"
