/*
 * The sort by bytes (src/model/radix_sort.h): the order is right, and the work grows with the bytes and
 * the number of keys, whatever the keys are. Calls are counted, and no time is measured.
 */
#include "model/radix_sort.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/tap.h"

enum { MOST = 40000 };

typedef struct element {
    const char *key;
    char rest[40]; /* moves with it */
} element;

static char text[1 << 23];
static size_t used;
static element elements[MOST];
static long bytes, compared;

static int byte_of(const void *context, const void *e, size_t i)
{
    ++bytes;
    (void)context;
    return (unsigned char)((const element *)e)->key[i];
}

static int compare(const void *context, const void *a, const void *b)
{
    ++compared;
    (void)context;
    return strcmp(((const element *)a)->key, ((const element *)b)->key);
}

static uint32_t state = 1;

static uint32_t next_random(void)
{
    return state = state * 1664525u + 1013904223u;
}

static void add(size_t i, size_t shared, const char *end)
{
    elements[i].key = text + used;
    memset(text + used, 'a', shared);
    strcpy(text + used + shared, end);
    used += shared + strlen(end) + 1;
    snprintf(elements[i].rest, sizeof elements[i].rest, "%.*s", 39, elements[i].key);
}

static size_t random_keys(void)
{
    for (size_t i = 0; i < MOST; ++i) {
        char key[16];
        snprintf(key, sizeof key, "%x", next_random() >> next_random() % 28);
        add(i, 0, key);
    }
    return MOST;
}

static size_t odd_bytes(void)
{
    for (size_t i = 0; i < MOST; ++i) {
        char key[4] = {(char)(1 + next_random() % 255), (char)(1 + next_random() % 255)};
        add(i, 0, key);
    }
    return MOST;
}

static size_t shared_beginnings(void)
{
    for (size_t i = 0; i < 4000; ++i) {
        char key[16];
        snprintf(key, sizeof key, "%x", next_random());
        add(i, 1000, key);
    }
    return 4000;
}

/* One less at each byte: as deep as there are keys. */
static size_t stairs(void)
{
    for (size_t i = 0; i < 3000; ++i)
        add(i, (i * 7 + 1) % 3000, "b");
    return 3000;
}

static size_t reversed(void)
{
    for (size_t i = 0; i < MOST; ++i) {
        char key[16];
        snprintf(key, sizeof key, "%08zu", MOST - i);
        add(i, 0, key);
    }
    return MOST;
}

static size_t equal_keys(void)
{
    for (size_t i = 0; i < MOST; ++i)
        add(i, i % 3, "");
    return MOST;
}

static size_t one_key(void)
{
    add(0, 3, "");
    return 1;
}

static size_t no_key(void)
{
    return 0;
}

static const struct {
    const char *what;
    size_t (*make)(void);
} cases[] = {{"random keys", random_keys},
             {"two bytes of any value", odd_bytes},
             {"shared beginnings", shared_beginnings},
             {"keys that end one after the other", stairs},
             {"in reverse", reversed},
             {"three keys, many times", equal_keys},
             {"one", one_key},
             {"none", no_key}};

int main(void)
{
    const sbn_sort_order order = {NULL, byte_of, compare};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        used = 0;
        const size_t count = cases[c].make();
        bytes = compared = 0;
        sbn__radix_sort(elements, count, sizeof *elements, &order);
        const long work_bytes = bytes, work_compared = compared;
        int wrong = 0;
        for (size_t i = 0; i < count; ++i)
            wrong += (i > 0 && strcmp(elements[i - 1].key, elements[i].key) > 0) ||
                     strncmp(elements[i].key, elements[i].rest, 39) != 0;
        const double per_byte = (double)work_bytes / (double)(used + 1);
        const double per_key = (double)work_compared / (double)(count + 1);
        tap_ok(
            !wrong && per_byte <= 4 && per_key <= 26,
            "%s: %d of %zu misplaced, each byte looked at %.2f times, each key compared %.2f times",
            cases[c].what, wrong, count, per_byte, per_key);
        /* In order now: a look at each. */
        bytes = compared = 0;
        sbn__radix_sort(elements, count, sizeof *elements, &order);
        tap_ok(bytes == 0 && compared <= (long)count, "sorted already: %ld comparisons", compared);
    }
    return tap_done();
}
