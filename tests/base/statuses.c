/*
 * sbn_status_name and sbn_strerror: a status has its identifier and a phrase that holds it; every
 * other number is shown. Which number has which identifier: status_table.sh.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <syncbn.h>

#include "support/tap.h"

enum { NVIDIA = -9999, LOWEST = -20100 };

/* Of all numbers: a name, and a phrase that ends with it; or the number in place of both. */
static void check_phrases(void)
{
    int named = 0, wrong = 0;
    for (int status = LOWEST; status < 10; ++status) {
        char number[16], unknown[32], tail[96];
        const char *name = sbn_status_name(status), *phrase = sbn_strerror(status);
        snprintf(number, sizeof number, "%d", status);
        snprintf(unknown, sizeof unknown, "unknown status %d", status);
        snprintf(tail, sizeof tail, " (%s)", name);
        const size_t length = strlen(phrase), of_tail = strlen(tail);
        if (strcmp(name, number) == 0) {
            wrong += status != NVIDIA && strcmp(phrase, unknown) != 0;
            continue;
        }
        ++named;
        wrong += length <= of_tail || strcmp(phrase + length - of_tail, tail) != 0;
    }
    tap_ok(!wrong && named == 15 + 80, "statuses from %d on: %d have a name, %d a wrong phrase",
           LOWEST, named, wrong);
    tap_ok(strcmp(sbn_strerror(-2147483647 - 1), "unknown status -2147483648") == 0 &&
               strcmp(sbn_status_name(2147483647), "2147483647") == 0,
           "the largest numbers");
}

static void *of_another(void *good)
{
    *(int *)good = strcmp(sbn_strerror(-7001), "unknown status -7001") == 0 &&
                   strcmp(sbn_status_name(-7001), "-7001") == 0;
    return NULL;
}

int main(void)
{
    check_phrases();
    tap_ok(strstr(sbn_strerror(-1001), "no OpenCL driver is found; install") != NULL,
           "without a driver there is a hint: %s", sbn_strerror(-1001));
    tap_ok(strstr(sbn_strerror(NVIDIA), "NVIDIA") && strstr(sbn_strerror(NVIDIA), "-9999"),
           "what only one driver returns: %s", sbn_strerror(NVIDIA));
    const char *phrase = sbn_strerror(-7000), *name = sbn_status_name(-7000);
    pthread_t thread;
    int good = 0;
    const int ran = pthread_create(&thread, NULL, of_another, &good) == 0 &&
                    pthread_join(thread, NULL) == 0;
    tap_ok(ran && good && strcmp(phrase, "unknown status -7000") == 0 && strcmp(name, "-7000") == 0,
           "another thread's unknown status leaves this one's text: %s", phrase);
    return tap_done();
}
