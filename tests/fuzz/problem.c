/*
 * Any line as a problem: what is read, printed and read again is the same, an error has a sentence,
 * and samples of a small one are laid out without loss.
 */
#include <stdlib.h>
#include <string.h>

#include "check/digests.h"
#include "check/placement.h"
#include "check/problem.h"
#include "fuzz/fuzz.h"

enum { SMALL = 4096 };

static int is_small(const problem *p)
{
    size_t elements = p->channels;
    if (p->samples > SMALL || p->channels > SMALL || p->has_sizes)
        return 0;
    elements *= p->samples;
    for (int i = 0; i < p->space_dims; ++i) {
        if (p->space[i] > SMALL || elements > SMALL)
            return 0;
        elements *= p->space[i];
    }
    return elements <= SMALL;
}

static void check_placement(const problem *p)
{
    placement g;
    float from[SMALL], shard[SMALL], to[SMALL] = {0};
    if (placement_make(p, p->replicas ? p->replicas : 3, &g))
        return;
    fuzz_must(g.elements <= SMALL);
    for (size_t i = 0; i < g.elements; ++i)
        from[i] = (float)i;
    size_t elements = 0;
    for (size_t r = 0; r < g.replicas; ++r) {
        elements += placement_shard_elements(&g, r);
        placement_scatter(&g, p->layout, r, from, shard);
        placement_gather(&g, p->layout, r, shard, to);
    }
    fuzz_must(elements == g.elements && memcmp(from, to, sizeof *from * elements) == 0);
    placement_free(&g);
}

static void check_problem(const char *text)
{
    char error[256] = "", line[PROBLEM_LINE], again[PROBLEM_LINE];
    problem p, q;
    if (problem_parse(text, &p, error, sizeof error)) {
        fuzz_must(*error && strlen(error) < sizeof error);
        return;
    }
    problem_print(&p, line, sizeof line);
    fuzz_must(!problem_parse(line, &q, error, sizeof error) && problem_equal(&p, &q));
    problem_print(&q, again, sizeof again);
    fuzz_must(strcmp(line, again) == 0);
    if (is_small(&p))
        check_placement(&p);
    problem_set_replicas(&q, strlen(text) % PROBLEM_MAX_REPLICAS + 1);
    problem_print(&q, again, sizeof again);
    fuzz_must(!problem_parse(again, &p, error, sizeof error) && problem_equal(&p, &q));
}

/* The words behind a problem, as in a file. */
static void check_digests(const char *words)
{
    char error[256] = "", line[DIGESTS_TEXT];
    digests d, again;
    if (digests_parse(words, &d, error, sizeof error)) {
        fuzz_must(*error != '\0');
        return;
    }
    digests_print(&d, line, sizeof line);
    fuzz_must(!digests_parse(line, &again, error, sizeof error));
    fuzz_must(!digests_differ(&d, &again, error, sizeof error));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    fuzz_must(text != NULL);
    memcpy(text, bytes, size);
    text[size] = '\0';
    char *words = strchr(text, ' ');
    if (words)
        *words++ = '\0';
    check_problem(text);
    check_digests(words ? words : "");
    free(text);
    return 0;
}
