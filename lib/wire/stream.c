// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Bytes and file descriptors over a socket. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <maple/wire.h>

#define ROOM CMSG_SPACE(16 * sizeof(int))

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

/* Keeps what there is room for; whether that was all. */
static bool take_fds(const struct cmsghdr *c, int *fds, unsigned int *nfds,
		     unsigned int most)
{
	size_t i, n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	bool all = true;
	int fd;

	for (i = 0; i < n; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		if (*nfds < most) {
			fds[(*nfds)++] = fd;
		} else {
			close(fd);
			all = false;
		}
	}
	return all;
}

ssize_t maple_wire_receive(int sock, void *data, size_t size, int *fds,
			   unsigned int *nfds, unsigned int most)
{
	_Alignas(struct cmsghdr) char control[ROOM];
	struct iovec iov = { data, size };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	bool all = true;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			all &= take_fds(c, fds, nfds, most);
	return all && !(msg.msg_flags & MSG_CTRUNC) ? n : -EPROTO;
}
