/*
 * Doubles in integers (cl/common/soft_doubles.cl) against the host's: sums, products, quotients,
 * roots, comparisons and conversions of random bits, numbers close to each other, those with few
 * digits, which make ties, and of special values, each with each. All NaN are equal.
 */
#include <math.h>
#include <string.h>

#include "base/float_bits.h"
#include "program/program_text.h"
#include "support/main.h"
#include "support/random.h"
#include "support/trial.h"

enum { PAIRS = 1 << 17, ROUNDS = 64, ROUNDS_OF_SAMPLE = 4 };
enum { SUM, PRODUCT, QUOTIENT, ROOT, EXCEEDS, AS_FLOAT, OF_FLOAT, OF_COUNT, RESULTS };

static const char *const names[RESULTS] = {"a + b", "a x b",        "a / b",        "root a",
                                           "a > b", "a as a float", "a float of a", "a count"};

static const char kernel_text[] =
    "kernel void soft(global const ulong *pairs, global ulong *results, ulong count) {\n"
    "    const ulong i = get_global_id(0), a = pairs[2 * i], b = pairs[2 * i + 1];\n"
    "    results[i] = soft_sum(a, b);\n"
    "    results[count + i] = soft_product(a, b);\n"
    "    results[2 * count + i] = soft_quotient(a, b);\n"
    "    results[3 * count + i] = soft_root(a);\n"
    "    results[4 * count + i] = soft_exceeds(a, b);\n"
    "    results[5 * count + i] = as_uint(soft_to_float(a));\n"
    "    results[6 * count + i] = soft_of_float(as_float((uint)a));\n"
    "    results[7 * count + i] = OF_COUNT(a);\n"
    "}\n";

static uint64_t bits_of(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static double number_of(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Each with its neighbours, of both signs. */
static const uint64_t specials[] = {
    /* The least doubles; infinity as a float; the least normal double. */
    0x1, 0x3, 0x7f800000, 0x0010000000000000,
    /* Half of the least float, and it; the least normal float. */
    0x3690000000000000, 0x36a0000000000000, 0x380fffffe0000000, 0x380ffffff0000000,
    0x3810000000000000,
    /* 1, and ties of floats above it. */
    0x3ff0000000000000, 0x3ff0000010000000, 0x3ff0000030000000, 0x4000000000000000,
    0x4008000000000000,
    /* The largest float, and what rounds to infinity; infinity, before NaN. */
    0x47efffffe0000000, 0x47effffff0000000, 0x7fe0000000000000, 0x7ff0000000000000,
    0x7ff8000000000000};
enum { SPECIALS = 6 * (sizeof specials / sizeof *specials) };

static uint64_t special(uint64_t i)
{
    return (specials[i % SPECIALS / 6] + i / 2 % 3 - 1) | (i & 1) << 63;
}

static uint64_t random_number(void)
{
    const uint64_t bits = next(), kind = next() % 8;
    const uint64_t low = (UINT64_C(1) << next() % 52) - 1;
    if (kind == 0)
        return special(next() % SPECIALS);
    if (kind == 1) /* few digits */
        return bits & ~low;
    if (kind == 2)
        return bits | low;
    if (kind < 6) /* near 1 */
        return (bits & ~(UINT64_C(0x7ff) << 52)) | (1023 - 60 + next() % 120) << 52;
    return bits;
}

static void fill(uint64_t *pairs, int round)
{
    for (uint64_t i = 0; i < PAIRS; ++i) {
        uint64_t *pair = pairs + 2 * i;
        pair[0] = random_number();
        pair[1] = i % 4 ? random_number() : (pair[0] + next() % 5 - 2) ^ next() << 63;
        if (round == 0 && i < SPECIALS * SPECIALS) {
            pair[0] = special(i % SPECIALS);
            pair[1] = special(i / SPECIALS);
        }
    }
}

static uint64_t expected(int result, uint64_t a, uint64_t b)
{
    const double x = number_of(a), y = number_of(b);
    switch (result) {
    case SUM: return bits_of(x + y);
    case PRODUCT: return bits_of(x * y);
    case QUOTIENT: return bits_of(x / y);
    case ROOT: return bits_of(sqrt(x));
    case EXCEEDS: return x > y;
    case AS_FLOAT: return isnan(x) ? 0x7fc00000 : sbn__float_bits((float)x);
    case OF_FLOAT: return bits_of((double)sbn__float_of_bits((uint32_t)a));
    default: return bits_of((double)a);
    }
}

static int equal(int result, uint64_t got, uint64_t wanted)
{
    const int is_number = result != EXCEEDS && result != AS_FLOAT;
    return got == wanted || (is_number && isnan(number_of(got)) && isnan(number_of(wanted)));
}

/* A program of the library's files, with doubles switched off, and the kernel behind them. */
static cl_kernel build(void)
{
    sbn_program_text text;
    cl_int code;
    const sbn_program variant = {.form = SBN_FORM_GPU, .options = "-D NO_DOUBLES"};
    sbn__program_text(&text, &variant, SBN_PROGRAM_APPLY);
    sbn_sources *of = &text.sources;
    must(of->count == SBN_MAX_SOURCES, "room for a text");
    of->texts[of->count] = kernel_text;
    of->lengths[of->count] = strlen(kernel_text);
    cl_program program = clCreateProgramWithSource(device.context, of->count + 1, of->texts,
                                                   of->lengths, &code);
    must(code, "clCreateProgramWithSource");
    must(clBuildProgram(program, 1, &device.device, text.options, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "soft", &code);
    must(code, "clCreateKernel");
    clReleaseProgram(program);
    return kernel;
}

void checks(void)
{
    static uint64_t pairs[2 * PAIRS], results[RESULTS][PAIRS];
    const int rounds = sample_only() ? ROUNDS_OF_SAMPLE : ROUNDS;
    const cl_ulong count = PAIRS;
    const size_t items = PAIRS;
    long differ[RESULTS] = {0};
    cl_kernel kernel = build();
    cl_mem from = fixture_buffer(&device, sizeof pairs, NULL);
    cl_mem to = fixture_buffer(&device, sizeof results, NULL);
    must(clSetKernelArg(kernel, 0, sizeof from, &from), "argument");
    must(clSetKernelArg(kernel, 1, sizeof to, &to), "argument");
    must(clSetKernelArg(kernel, 2, sizeof count, &count), "argument");
    for (int round = 0; round < rounds; ++round) {
        fill(pairs, round);
        must(clEnqueueWriteBuffer(queue, from, CL_TRUE, 0, sizeof pairs, pairs, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
        must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL), "launch");
        must(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof results, results, 0, NULL, NULL),
             "clEnqueueReadBuffer");
        for (int r = 0; r < RESULTS; ++r)
            for (size_t i = 0; i < PAIRS; ++i) {
                const uint64_t a = pairs[2 * i], b = pairs[2 * i + 1];
                const uint64_t wanted = expected(r, a, b);
                if (!equal(r, results[r][i], wanted) && differ[r]++ == 0)
                    tap_note("%s: a 0x%llx, b 0x%llx: expected 0x%llx, got 0x%llx", names[r],
                             (unsigned long long)a, (unsigned long long)b,
                             (unsigned long long)wanted, (unsigned long long)results[r][i]);
            }
    }
    for (int r = 0; r < RESULTS; ++r)
        tap_ok(differ[r] == 0, "%s: %d operands, of which %ld differ", names[r], rounds * PAIRS,
               differ[r]);
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    clReleaseKernel(kernel);
}
