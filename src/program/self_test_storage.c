#include "program/self_test_storage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "program/kernel_constants.h"
#include "program/self_test_run.h"

enum { CASES = SBN_SELF_TEST_CASES };

/* Of a type: elements and their values; values and the elements nearest to them. */
typedef struct rules {
    struct {
        uint16_t element;
        float value;
    } widened[CASES];
    struct {
        float value;
        uint16_t element;
    } rounded[CASES];
} rules;

/* Subnormal halves among them; of bfloat16s none, as of floats: devices may flush those. */
static const rules of_f16 = {
    {{0x0001, 0x1p-24f},
     {0x8001, -0x1p-24f},
     {0x03ff, 0x1.ff8p-15f},
     {0x8200, -0x1p-15f},
     {0x0400, 0x1p-14f},
     {0x3c00, 1.0f},
     {0xbc01, -0x1.004p0f},
     {0x3555, 0x1.554p-2f},
     {0x5bff, 0x1.ffcp7f},
     {0x7bff, 65504.0f},
     {0xfbff, -65504.0f},
     {0x7c00, INFINITY},
     {0xfc00, -INFINITY},
     {0x7e00, NAN},
     {0x0000, 0.0f},
     {0x8000, -0.0f}},
    {{0x1p-25f, 0x0000},
     {0x1.000002p-25f, 0x0001},
     {-0x1.8p-24f, 0x8002},
     {0x1p-24f, 0x0001},
     {0x1.ffcp-15f, 0x0400},
     {-0x1.ffbffep-15f, 0x83ff},
     {0x1p-100f, 0x0000},
     {0x1.002p0f, 0x3c00},
     {-0x1.006p0f, 0xbc02},
     {0x1.002002p0f, 0x3c01},
     {65519.996f, 0x7bff},
     {65520.0f, 0x7c00},
     {-0x1p127f, 0xfc00},
     {INFINITY, 0x7c00},
     {NAN, 0x7e00},
     {-0.0f, 0x8000}},
};
static const rules of_bf16 = {
    {{0x3f80, 1.0f},
     {0xbf81, -0x1.02p0f},
     {0x0080, 0x1p-126f},
     {0x80ff, -0x1.fep-126f},
     {0x7f7f, 0x1.fep127f},
     {0xff7f, -0x1.fep127f},
     {0x7f80, INFINITY},
     {0xff80, -INFINITY},
     {0x7fc0, NAN},
     {0x0000, 0.0f},
     {0x8000, -0.0f},
     {0x4049, 0x1.92p1f},
     {0x3eab, 0x1.56p-2f},
     {0xc2f7, -0x1.eep6f},
     {0x2000, 0x1p-63f},
     {0x5f01, 0x1.02p63f}},
    {{0x1.01p0f, 0x3f80},
     {-0x1.03p0f, 0xbf82},
     {0x1.010002p0f, 0x3f81},
     {0x1.00fffep0f, 0x3f80},
     {0x1.fefffep127f, 0x7f7f},
     {0x1.ffp127f, 0x7f80},
     {-0x1.fffffep127f, 0xff80},
     {INFINITY, 0x7f80},
     {-INFINITY, 0xff80},
     {NAN, 0x7fc0},
     {0x1.ffp-1f, 0x3f80},
     {0x1p-126f, 0x0080},
     {-0x1.01p-126f, 0x8080},
     {0.0f, 0x0000},
     {-0.0f, 0x8000},
     {0x1.fffffep-10f, 0x3b00}},
};

/* The kernel's arguments on the host; results twice, of vectors and one by one. */
typedef struct data {
    uint16_t elements[CASES];
    float values[CASES], widened[2 * CASES];
    uint16_t rounded[2 * CASES];
} data;

/* The bits of a NaN may be any. */
static int judge(const data *t, const rules *r, sbn_type type, char *text, size_t size)
{
    const uint16_t infinity = type == SBN_F16 ? 0x7c00 : 0x7f80;
    for (size_t i = 0; i < 2 * CASES; ++i) {
        const float value = r->widened[i % CASES].value;
        if (isnan(value) ? !isnan(t->widened[i])
                         : memcmp(&t->widened[i], &value, sizeof value) != 0) {
            snprintf(text, size, "an element is widened exactly: 0x%04x: expected %a, got %a",
                     r->widened[i % CASES].element, (double)value, (double)t->widened[i]);
            return 0;
        }
        const uint16_t element = r->rounded[i % CASES].element;
        if ((element & 0x7fff) > infinity ? (t->rounded[i] & 0x7fff) <= infinity
                                          : t->rounded[i] != element) {
            snprintf(text, size,
                     "a result is rounded to the nearest element, ties to even: %a: expected "
                     "0x%04x, got 0x%04x",
                     (double)r->rounded[i % CASES].value, element, t->rounded[i]);
            return 0;
        }
    }
    return 1;
}

int sbn__self_test_storage(const sbn_program *program)
{
    const rules *r = program->type == SBN_F16 ? &of_f16 : &of_bf16;
    data t;
    char broken[160];
    memset(&t, 0xa5, sizeof t); /* a result that is never written is wrong */
    for (size_t i = 0; i < CASES; ++i) {
        t.elements[i] = r->widened[i].element;
        t.values[i] = r->rounded[i].value;
    }
    const int status = sbn__self_test_run(program, &(sbn_self_test_launch){
                                                       .kernel = "self_test_storage",
                                                       .items = 1,
                                                       .groups = {1, 1},
                                                       .count = 4,
                                                       .buffers = {{t.elements, sizeof t.elements},
                                                                   {t.values, sizeof t.values},
                                                                   {t.widened, sizeof t.widened},
                                                                   {t.rounded, sizeof t.rounded}},
                                                   });
    if (status || judge(&t, r, program->type, broken, sizeof broken))
        return status;
    return sbn__self_test_broken(program, "storage", broken);
}
