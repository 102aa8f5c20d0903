/*
 * switch MICROSECONDS MBITS NAMESPACE...: an Ethernet of known latency and bandwidth between
 * network namespaces, for tools/bench/scaling/run.sh. Each namespace gets an interface "wire" with
 * the MAC address 02:00:00:00:00:NN, NN counting from 0. A frame leaves its host at MBITS per
 * second, one after the other, and arrives MICROSECONDS later. Prints "ready" and runs until its
 * input ends. Linux, as root.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <linux/if_tun.h>
#include <net/if_arp.h>

enum { MOST = 64, FRAME = 2048, MAC = 6 };

typedef struct frame {
    double due;
    size_t length;
    struct frame *next;
    unsigned char bytes[FRAME];
} frame;

typedef struct port {
    int fd;
    double free;         /* when its line is idle again */
    frame *first, *last; /* sent by this host and under way, in the order of their times */
} port;

static port ports[MOST];
static int count;
static double latency, rate; /* seconds, bytes per second */

static void fail(const char *what)
{
    fprintf(stderr, "switch: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The interface is made inside the namespace; its file works from anywhere. */
static int open_tap(const char *namespace, int number)
{
    char path[256];
    struct ifreq request = {.ifr_name = "wire"};
    snprintf(path, sizeof path, "/var/run/netns/%s", namespace);
    const int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET))
        fail(path);
    close(space);
    const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (tap < 0 || ioctl(tap, TUNSETIFF, &request))
        fail("/dev/net/tun");
    request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
    memset(request.ifr_hwaddr.sa_data, 0, MAC);
    request.ifr_hwaddr.sa_data[0] = 2;
    request.ifr_hwaddr.sa_data[MAC - 1] = (char)number;
    if (ioctl(tap, SIOCSIFHWADDR, &request))
        fail("the address of an interface");
    return tap;
}

/* A frame that cannot be written is lost, as on a wire. */
static void deliver(const port *from, const frame *f)
{
    const int all = f->bytes[0] & 1, to = f->bytes[MAC - 1];
    for (int i = 0; i < count; ++i)
        if (&ports[i] != from && (all || i == to) && write(ports[i].fd, f->bytes, f->length) < 0 &&
            errno != EAGAIN && errno != EIO)
            fail("writing a frame");
}

static void take(port *from)
{
    for (;;) {
        frame *f = malloc(sizeof *f);
        if (!f)
            fail("a frame");
        const ssize_t length = read(from->fd, f->bytes, FRAME);
        if (length <= 0) {
            free(f);
            return;
        }
        const double start = now() > from->free ? now() : from->free;
        from->free = start + (double)length / rate;
        f->due = from->free + latency;
        f->length = (size_t)length;
        f->next = NULL;
        *(from->first ? &from->last->next : &from->first) = f;
        from->last = f;
    }
}

/* Delivers what is due; returns the time of the next frame, or a second from now. */
static double forward(void)
{
    double next = now() + 1.0;
    for (int i = 0; i < count; ++i) {
        port *p = &ports[i];
        while (p->first && p->first->due <= now()) {
            frame *f = p->first;
            p->first = f->next;
            deliver(p, f);
            free(f);
        }
        if (p->first && p->first->due < next)
            next = p->first->due;
    }
    return next;
}

int main(int argc, char **argv)
{
    struct pollfd polled[MOST + 1] = {{.fd = STDIN_FILENO, .events = POLLIN}};
    if (argc < 4 || argc - 3 > MOST || atof(argv[1]) < 0 || atof(argv[2]) <= 0) {
        fputs("usage: switch MICROSECONDS MBITS NAMESPACE...\n", stderr);
        return 2;
    }
    /* With priority over ranks that spin: only the latency is to delay frames. */
    const struct sched_param first = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &first))
        fputs("switch: no priority over the ranks: frames may be late\n", stderr);
    latency = 1e-6 * atof(argv[1]);
    rate = 1e6 / 8 * atof(argv[2]);
    for (; count < argc - 3; ++count) {
        ports[count].fd = open_tap(argv[count + 3], count);
        polled[count + 1] = (struct pollfd){.fd = ports[count].fd, .events = POLLIN};
    }
    puts("ready");
    fflush(stdout);
    while (!(polled[0].revents & (POLLIN | POLLHUP))) {
        double wait = forward() - now();
        wait = wait > 0 ? wait : 0;
        const struct timespec time = {(time_t)wait, (long)(1e9 * (wait - (double)(time_t)wait))};
        if (ppoll(polled, (nfds_t)count + 1, &time, NULL) < 0 && errno != EINTR)
            fail("ppoll");
        for (int i = 0; i < count; ++i)
            if (polled[i + 1].revents & POLLIN)
                take(&ports[i]);
    }
    return 0;
}
