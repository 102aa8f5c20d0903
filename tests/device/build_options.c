/* Which compiler options are refused: each by name with its reason, wherever it stands. */
#include <stdio.h>
#include <string.h>

#include "program/build_options.h"
#include "base/error.h"
#include "support/fixture.h"

static void refused(const char *options, const char *option, const char *reason)
{
    char words[160];
    sbn__error_clear();
    snprintf(words, sizeof words, "build_options: \"%s\" is refused: |%s", option, reason);
    expect(sbn__build_options_check(options), SBN_INVALID_ARGUMENT, words, options);
}

static void accepted(const char *options)
{
    sbn__error_clear();
    expect(sbn__build_options_check(options), SBN_SUCCESS, "", options);
}

int main(void)
{
    static const char *const each[][2] = {
        {"-cl-fast-relaxed-math", "re-associate"},
        {"-cl-unsafe-math-optimizations", "re-associate"},
        {"-cl-mad-enable", "contract a * b + c"},
        {"-cl-finite-math-only", "NaN and infinities"},
        {"-cl-no-signed-zeros", "sign of zero"},
        {"-Ofast", "re-associate"},
        {"-ffast-math", "re-associate"},
        {"-ffp-model=fast", "re-associate"},
        {"-ffp-model=aggressive", "re-associate"},
        {"-funsafe-math-optimizations", "re-associate"},
        {"-fassociative-math", "re-associate"},
        {"-menable-unsafe-fp-math", "re-associate"},
        {"-ffp-contract=fast", "contract a * b + c"},
        {"-ffinite-math-only", "NaN and infinities"},
        {"-fno-honor-nans", "NaN and infinities"},
        {"-fno-honor-infinities", "NaN and infinities"},
        {"-fno-signed-zeros", "sign of zero"},
    };
    for (size_t i = 0; i < sizeof each / sizeof *each; ++i)
        refused(each[i][0], each[i][0], each[i][1]);
    refused("-D A=1 -cl-mad-enable -D B", "-cl-mad-enable", "contract");
    refused("-D A=1\t-cl-mad-enable\n", "-cl-mad-enable", "contract");
    refused("   -cl-mad-enable   ", "-cl-mad-enable", "contract");
    refused("\"-cl-mad-enable\"", "-cl-mad-enable", "contract");
    refused("'-cl-mad-enable' -w", "-cl-mad-enable", "contract");
    refused("-Xclang -ffast-math", "-ffast-math", "re-associate");
    refused("-Werror --cl-mad-enable", "-cl-mad-enable", "contract");
    refused("-D -cl-mad-enable", "-cl-mad-enable", "contract");
    /* Drivers differ in whether quotes hold options together. */
    refused("-I \"a -cl-mad-enable b\"", "-cl-mad-enable", "contract");
    refused("-cl-fast-relaxed-math -cl-mad-enable", "-cl-fast-relaxed-math", "re-associate");

    accepted("");
    accepted("  ");
    accepted("\"");
    accepted("\" \"");
    accepted("-");
    accepted("--");
    accepted("-D -cl-mad-enable-not");
    accepted("-D MODE=-cl-mad-enable -D cl-mad-enable -Dcl_fast_relaxed_math");
    accepted("-DOPTIONS=\"-cl-mad-enable\"");
    accepted("-cl-denorms-are-zero");
    accepted(
        "-cl-fp32-correctly-rounded-divide-sqrt -cl-opt-disable -cl-single-precision-constant");
    accepted("-cl-std=CL2.0 -w -Werror -I include -I/usr/-ffast-math");
    accepted("-cl-nv-verbose -cl-nv-maxrregcount=64 -cl-intel-greater-than-4GB-buffer-required");
    accepted("-ffp-contract=off -fno-fast-math -O3");

    char long_one[SBN_MAX_BUILD_OPTIONS + 2] = "";
    memset(long_one, ' ', SBN_MAX_BUILD_OPTIONS);
    accepted(long_one);
    strcpy(long_one + SBN_MAX_BUILD_OPTIONS, "w");
    expect(sbn__build_options_check(long_one), SBN_INVALID_ARGUMENT,
           "build_options: expected at most 1000 characters, got 1001", "too long");
    return tap_done();
}
