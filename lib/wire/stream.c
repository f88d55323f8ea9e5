// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Bytes and file descriptors over a socket. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <maple/wire.h>

#define FDS_AT_ONCE 16
#define ROOM	    CMSG_SPACE(FDS_AT_ONCE * sizeof(int))

ssize_t maple_wire_send(int sock, const void *data, size_t size, const int *fds,
			unsigned int nfds)
{
	_Alignas(struct cmsghdr) char control[ROOM];
	struct iovec iov = { (void *)data, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	if (nfds) {
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static void take_fds(const struct cmsghdr *c, int *fds, unsigned int *nfds)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	memcpy(fds + *nfds, CMSG_DATA(c), n * sizeof(int));
	*nfds += n;
}

/*
 * There is room for as many as are wanted, so that the kernel gives up those
 * beyond: for us to close one might take for ever.
 */
ssize_t maple_wire_receive(int sock, void *data, size_t size, int *fds,
			   unsigned int *nfds, unsigned int most)
{
	_Alignas(struct cmsghdr) char control[ROOM];
	struct iovec iov = { data, size };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen =
				      CMSG_LEN((most - *nfds) * sizeof(int)) };
	struct cmsghdr *c;
	ssize_t n;

	assert(most - *nfds <= FDS_AT_ONCE);
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			take_fds(c, fds, nfds);
	return !(msg.msg_flags & MSG_CTRUNC) ? n : -EPROTO;
}

pid_t maple_wire_process(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };
	char path[64], line[128];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Pid: %d", &pid) == 1)
			break;
	if (file)
		fclose(file);
	/* It is readable once the process has ended. */
	return pid > 0 && poll(&pfd, 1, 0) == 0 ? pid : 0;
}
