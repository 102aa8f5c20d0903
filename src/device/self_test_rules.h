/*
 * The rules of arithmetic on which equal bits depend, as cases with the expected results of
 * cl/self_test.cl.
 */
#ifndef SBN_DEVICE_SELF_TEST_RULES_H
#define SBN_DEVICE_SELF_TEST_RULES_H

#include <stddef.h>
#include <stdint.h>

enum {
    SBN_SELF_TEST_CASES = 16,
    SBN_SELF_TEST_REALS = 7,
    SBN_SELF_TEST_INTEGERS = 11,
    SBN_SELF_TEST_DOUBLES = 4, /* where the kernels use doubles */
    SBN_SELF_TEST_TERMS = 8    /* of a sum, after the first */
};

/*
 * The kernel's arguments on the host. After the last row of integer results the kernel writes 1 if
 * it has doubles.
 */
typedef struct sbn_self_test_data {
    float reals[SBN_SELF_TEST_REALS + SBN_SELF_TEST_DOUBLES][3][SBN_SELF_TEST_CASES];
    uint64_t integers[SBN_SELF_TEST_INTEGERS][2][SBN_SELF_TEST_CASES];
    float real_results[SBN_SELF_TEST_REALS][SBN_SELF_TEST_CASES];
    uint64_t integer_results[SBN_SELF_TEST_INTEGERS + SBN_SELF_TEST_DOUBLES + 1]
                            [SBN_SELF_TEST_CASES];
} sbn_self_test_data;

/* Writes operands, and results that are wrong unless the kernel overwrites them. */
void sbn__self_test_fill(sbn_self_test_data *data);

/* 1 if every result is right; else 0 and in `text` the first rule broken and the case. */
int sbn__self_test_judge(const sbn_self_test_data *data, char *text, size_t size);

#endif
