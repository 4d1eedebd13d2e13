/* The numbers of the descriptors with which the process engine starts pid 1. */
#pragma once

enum guest_fd {
	GUEST_CHANNEL_FD = 3, /* frames to and from the supervisor */
	GUEST_GROUP_FD,       /* the cgroup of the commands; see boot_message.born_with_cgroup */
};
