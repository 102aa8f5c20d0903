/* How many words ranks that agree expect in the next call. */
#include <string.h>

#include "collective/agreement.h"
#include "support/must.h"
#include "support/tap.h"

/* A call of a group of one rank: 1 if its words were not expected. */
static int surprises(sbn_communicator *c, size_t words, int at_once)
{
    int64_t header[SBN_HEADER_WORDS];
    const int surprised = c->forecast.words != words;
    ++c->calls;
    sbn__header_fill(header, 0, at_once, 0, (uint32_t)words, 0);
    must(!sbn__header_agrees(c, header, words), "sbn__header_agrees");
    return surprised;
}

/* As many calls are not expected when they come for the first, the second and the third time. */
static void forecast(const size_t *words, size_t calls, int first, int second, int third,
                     const char *what)
{
    sbn_communicator c = {.transport = {.world_size = 1}};
    int expected[] = {first, second, third}, surprised[3] = {0};
    for (int step = 0; step < 3; ++step)
        for (size_t i = 0; i < calls; ++i)
            surprised[step] += surprises(&c, words[i], 1);
    tap_ok(!memcmp(surprised, expected, sizeof expected),
           "%s: expected %d, %d, %d surprises; got %d, %d, %d", what, first, second, third,
           surprised[0], surprised[1], surprised[2]);
}

int main(void)
{
    size_t words[SBN_CALLS_KEPT], layers = 0;
    const size_t blocks[] = {3, 4, 6, 3}, alike[] = {2, 2, 2, 2, 2, 2, 3};
    words[layers++] = 64;
    for (size_t stage = 0; stage < 4; ++stage)
        for (size_t i = 0; i <= 3 * blocks[stage]; ++i)
            words[layers++] = (size_t)((i > 2 ? i - 1 : i) % 3 == 2 ? 256 : 64) << stage;
    for (size_t i = 0; i < layers; ++i) {
        words[2 * layers - 1 - i] = 2 + 9 * words[i];
        words[i] = 2 + 8 * words[i];
    }
    forecast(words, 2 * layers, 53, 3, 0, "ResNet-50");
    forecast(alike, 7, 3, 6, 0, "six calls alike and another");
    forecast(alike, 1, 1, 1, 0, "one call");
    for (size_t i = 0; i < SBN_CALLS_KEPT; ++i)
        words[i] = 7 * i + 3;
    forecast(words, SBN_CALLS_KEPT - 1, SBN_CALLS_KEPT - 1, 1, 0, "as many calls as are kept");
    forecast(words, SBN_CALLS_KEPT, SBN_CALLS_KEPT, SBN_CALLS_KEPT, SBN_CALLS_KEPT, "one more");

    /* A step of a call, one that is not ended at once, and a third. */
    sbn_communicator c = {.transport = {.world_size = 1}};
    int surprised[3] = {0};
    for (int step = 0; step < 3; ++step) {
        surprised[0] = surprises(&c, 5, 1);
        surprised[1] += surprises(&c, 0, 0);
        surprised[2] = surprises(&c, 6, 1);
    }
    tap_ok(!surprised[0], "what follows the last call is expected");
    tap_ok(!surprised[1] && surprised[2], "nothing is, where calls are not ended at once");
    for (int i = 0; i < 1100; ++i)
        surprises(&c, (size_t)(5 + i % 2), 1);
    tap_ok(surprises(&c, 9, 1) && surprises(&c, 5, 1) && !surprises(&c, 6, 1),
           "an odd call behind more calls than are kept");
    for (int i = 0; i < 10; ++i)
        surprises(&c, (size_t)(5 + i % 2), 1);
    tap_ok(!surprises(&c, 5, 0) && !surprises(&c, 5, 1) && !surprises(&c, 6, 1),
           "a call that for once is not ended at once is not learnt");
    return tap_done();
}
