/*
 * ATTACKS 37, 55 to 58: reach a service of the host by the network. No route leads out, no name
 * resolves, no other socket family exists, the interface cannot be changed, and a port that is
 * bound here is bound nowhere else. The service of the host is act `host` of sockets.c.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <net/route.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "guest.h"

static void
families(void)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} rows[] = { { "packet", AF_PACKET, SOCK_RAW, 0 },
		{ "packet datagram", AF_PACKET, SOCK_DGRAM, 0 }, { "vsock", 40, SOCK_STREAM, 0 },
		{ "alg", 38, SOCK_SEQPACKET, 0 }, { "key", 15, SOCK_RAW, 2 },
		{ "bluetooth", 31, SOCK_RAW, 1 }, { "can", 29, SOCK_RAW, 1 },
		{ "tipc", 30, SOCK_STREAM, 0 }, { "rds", 21, SOCK_SEQPACKET, 0 },
		{ "xdp", 44, SOCK_RAW, 0 }, { "smc", 43, SOCK_STREAM, 0 },
		{ "qrtr", 42, SOCK_DGRAM, 0 }, { "ax25", 3, SOCK_DGRAM, 0 },
		{ "x25", 9, SOCK_SEQPACKET, 0 }, { "netlink audit", AF_NETLINK, SOCK_RAW, 9 },
		{ "netlink uevent", AF_NETLINK, SOCK_RAW, 15 },
		{ "netlink netfilter", AF_NETLINK, SOCK_RAW, 12 },
		{ "netlink xfrm", AF_NETLINK, SOCK_RAW, 6 },
		{ "netlink generic", AF_NETLINK, SOCK_RAW, 16 },
		{ "raw", AF_INET, SOCK_RAW, IPPROTO_RAW },
		{ "raw icmp", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "raw 6", AF_INET6, SOCK_RAW, IPPROTO_ICMPV6 },
		{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "mptcp", AF_INET, SOCK_STREAM, 262 }, { "sctp", AF_INET, SOCK_STREAM, 132 },
		{ "sctp 6", AF_INET6, SOCK_SEQPACKET, 132 }, { "dccp", AF_INET, 6, 33 },
		{ "udplite", AF_INET, SOCK_DGRAM, 136 }, { "old packet", AF_INET, 10, 0 } };
	char name[64];

	for (size_t i = 0; i < GUEST_COUNT(rows); i++) {
		guest_refused(rows[i].name, socket(rows[i].family, rows[i].type, rows[i].protocol),
			0);
		snprintf(name, sizeof(name), "%s with high bits", rows[i].name);
		guest_refused(name,
			syscall(SYS_socket, rows[i].family | 1L << 32, rows[i].type | 1L << 33,
				rows[i].protocol | 1L << 34),
			0);
	}
	guest_refused("a pair of packet sockets", socketpair(AF_PACKET, SOCK_RAW, 0, (int[2]){ 0 }),
		0);
}

static void
try_address(int family, const char *text, in_port_t port)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	int is_four = family == AF_INET;
	struct sockaddr *to = is_four ? (struct sockaddr *)&four : (struct sockaddr *)&six;
	socklen_t length = is_four ? sizeof(four) : sizeof(six);
	int tcp = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fast = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int udp = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char name[96];
	long rc;

	inet_pton(family, text, is_four ? (void *)&four.sin_addr : (void *)&six.sin6_addr);
	snprintf(name, sizeof(name), "tcp to %s", text);
	guest_refused(name, tcp < 0 ? -1 : connect(tcp, to, length), 0);
	snprintf(name, sizeof(name), "fast open to %s", text);
	guest_refused(name, fast < 0 ? -1 : sendto(fast, "x", 1, MSG_FASTOPEN, to, length), 0);
	/* A datagram to a loopback without listener is sent and refused afterwards. */
	rc = udp < 0 ? -1 : connect(udp, to, length);
	if (rc == 0)
		(void)!send(udp, "x", 1, 0);
	snprintf(name, sizeof(name), "udp to %s", text);
	guest_refused(name, rc != 0 ? -1 : send(udp, "x", 1, 0), 0);
	close(tcp);
	close(fast);
	close(udp);
}

/* argv[2] is the port of the host's service and, after a comma, an address of the host. */
static void
network(void)
{
	static const char *const four[] = { "127.0.0.1", "127.1.2.3", "0.0.0.0" };
	static const char *const six[] = { "::1", "::ffff:127.0.0.1", "::" };
	static const char *const away4[] = { "169.254.169.254", "10.0.0.1", "172.17.0.1",
		"192.168.0.1", "224.0.0.1", "255.255.255.255", "192.0.2.1" };
	static const char *const away6[] = { "2001:db8::1", "fe80::1", "ff02::1",
		"::ffff:169.254.169.254", "fd00:ec2::254" };
	char *rest;
	in_port_t port = (in_port_t)strtol(guest_argument, &rest, 10);
	struct addrinfo *found = NULL;
	int rc;

	for (size_t i = 0; i < GUEST_COUNT(four); i++)
		try_address(AF_INET, four[i], port);
	for (size_t i = 0; i < GUEST_COUNT(six); i++)
		try_address(AF_INET6, six[i], port);
	for (size_t i = 0; i < GUEST_COUNT(away4); i++)
		try_address(AF_INET, away4[i], 80);
	for (size_t i = 0; i < GUEST_COUNT(away6); i++)
		try_address(AF_INET6, away6[i], 80);
	if (*rest == ',')
		try_address(AF_INET, rest + 1, port);
	rc = getaddrinfo("example.com", "80", NULL, &found);
	guest_must(rc != 0, "a name resolves", "it does");
}

/* The interface is ours to look at, not to change. */
static void
interface(void)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq request = { .ifr_name = "lo" };
	struct sockaddr_in own = { .sin_family = AF_INET };
	struct rtentry route = { .rt_flags = RTF_UP };
	struct if_nameindex *list = if_nameindex();
	int count = 0;

	for (; list != NULL && list[count].if_index != 0; count++)
		;
	guest_must(count == 1, "there is one interface", "%d", count);
	memcpy(&request.ifr_addr, &own, sizeof(own));
	guest_refused("set an address", ioctl(sock, SIOCSIFADDR, &request), EPERM);
	guest_refused("set flags", ioctl(sock, SIOCSIFFLAGS, &request), EPERM);
	guest_refused("add a route", ioctl(sock, SIOCADDRT, &route), EPERM);
	guest_refused("make a bridge", ioctl(sock, 0x89a0, "br0"), 0);
	guest_refused("mark packets", setsockopt(sock, SOL_SOCKET, SO_MARK, &(int){ 1 }, 4), EPERM);
	guest_refused("transparent proxy", setsockopt(sock, IPPROTO_IP, 19, &(int){ 1 }, 4), EPERM);
	guest_no_open("/dev/net/tun", O_RDWR);
}

/* Binding works, which is why it must be in a namespace of our own; the host looks from outside. */
static void
ports(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	address.sin_port = htons((in_port_t)strtol(guest_argument, NULL, 10));
	guest_must(bind(sock, (struct sockaddr *)&address, sizeof(address)) == 0 &&
			listen(sock, 8) == 0,
		"the same port is free here", "errno %d", errno);
	sleep(1);
	guest_must(accept(sock, NULL, NULL) < 0, "and nobody came", "somebody did");
}

int
main(int argc, char **argv)
{
	static const struct guest_act acts[] = { { "families", families }, { "network", network },
		{ "interface", interface }, { "ports", ports }, { NULL, NULL } };

	return guest_main(argc, argv, acts);
}
