/*
 * The rules of arithmetic on which equal bits depend, as cases with the expected results of
 * cl/common/self_test.cl.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    SBN_SELF_TEST_CASES = 16,
    SBN_SELF_TEST_REALS = 7,
    SBN_SELF_TEST_INTEGERS = 13,
    SBN_SELF_TEST_SUMMING = 4,   /* of doubles: where sums use them */
    SBN_SELF_TEST_COMBINING = 5, /* of doubles: where devices combine */
    SBN_SELF_TEST_DOUBLES = SBN_SELF_TEST_SUMMING + SBN_SELF_TEST_COMBINING,
    SBN_SELF_TEST_TERMS = 8 /* of a sum, after the first */
};

/*
 * The kernel's arguments on the host. After the last row of integer results the kernel writes whether
 * the kernels sum with doubles, and whether they combine: 1 or 0.
 */
typedef struct sbn_self_test_data {
    float reals[SBN_SELF_TEST_REALS + SBN_SELF_TEST_DOUBLES][3][SBN_SELF_TEST_CASES];
    uint64_t integers[SBN_SELF_TEST_INTEGERS][2][SBN_SELF_TEST_CASES];
    uint32_t terms;
    float real_results[SBN_SELF_TEST_REALS][SBN_SELF_TEST_CASES];
    uint64_t integer_results[SBN_SELF_TEST_INTEGERS + SBN_SELF_TEST_DOUBLES + 1]
                            [SBN_SELF_TEST_CASES];
} sbn_self_test_data;

/* Writes operands, and results that are wrong unless the kernel overwrites them. */
void sbn__self_test_fill(sbn_self_test_data *data);

/* 1 if every result is right; else 0 and in `text` the first rule broken and the case. */
int sbn__self_test_judge(const sbn_self_test_data *data, char *text, size_t size);
