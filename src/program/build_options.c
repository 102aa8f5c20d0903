/*
 * Options of OpenCL compilers that are refused because they allow results other than IEEE's:
 * OpenCL's own, Clang's, which drivers built on it accept, and GCC's spelling of them. Vendors may
 * have others; the self-test finds what those change.
 */
#include "program/build_options.h"

#include <string.h>

#include "base/error.h"

typedef struct refused_option {
    const char *option, *reason;
} refused_option;

static const char all[] = "it lets the compiler re-associate additions, contract products and "
                          "ignore NaN, infinities and the sign of zero";
static const char order[] = "it lets the compiler re-associate additions and contract products";
static const char contract[] = "it lets the compiler contract a * b + c, with fewer roundings";
static const char no_nans[] = "it lets the compiler ignore NaN and infinities";
static const char zeros[] = "it lets the compiler ignore the sign of zero";

static const refused_option refused[] = {
    {"-cl-fast-relaxed-math", all},
    {"-cl-unsafe-math-optimizations", order},
    {"-cl-mad-enable", contract},
    {"-cl-finite-math-only", no_nans},
    {"-cl-no-signed-zeros", zeros},
    {"-Ofast", all},
    {"-ffast-math", all},
    {"-ffp-model=fast", all},
    {"-ffp-model=aggressive", all},
    {"-funsafe-math-optimizations", order},
    {"-fassociative-math", order},
    {"-freassociate", order},
    {"-mreassociate", order},
    {"-menable-unsafe-fp-math", order},
    {"-enable-unsafe-fp-math", order},
    {"-ffp-contract=fast", contract},
    {"-ffp-contract=fast-honor-pragmas", contract},
    {"-fp-contract=fast", contract},
    {"-ffinite-math-only", no_nans},
    {"-fno-honor-nans", no_nans},
    {"-fno-honor-infinities", no_nans},
    {"-menable-no-nans", no_nans},
    {"-menable-no-infs", no_nans},
    {"-enable-no-nans-fp-math", no_nans},
    {"-enable-no-infs-fp-math", no_nans},
    {"-fno-signed-zeros", zeros},
    {"-enable-no-signed-zeros-fp-math", zeros},
};

/* Separators of options. Quotes do not protect them: drivers differ in their meaning. */
static const char blanks[] = " \t\n\v\f\r";
static const char quotes[] = "\"'", ends[] = " \t\n\v\f\r\"'";

static const refused_option *find(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
        if (strlen(refused[i].option) == length && memcmp(refused[i].option, word, length) == 0)
            return &refused[i];
    return NULL;
}

int sbn__build_options_check(const char *options)
{
    const size_t length_of_all = strlen(options);
    if (length_of_all > SBN_MAX_BUILD_OPTIONS)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "build_options: expected at most %d characters, got %zu",
                         SBN_MAX_BUILD_OPTIONS, length_of_all);
    for (const char *at = options; *at; at += strcspn(at, blanks)) {
        at += strspn(at, blanks);
        const char *word = at + strspn(at, quotes);
        const size_t length = strcspn(word, ends);
        /* Clang takes many of its options with one more dash too. */
        const size_t dashes = strncmp(word, "--", 2) == 0;
        const refused_option *found = find(word + dashes, length - dashes);
        if (found)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "build_options: \"%s\" is refused: %s, and results would no longer be "
                             "those of every device",
                             found->option, found->reason);
    }
    return SBN_SUCCESS;
}
