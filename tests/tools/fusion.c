/*
 * The checker's judgement of what follows a batch norm: a model with activations and residuals is
 * accepted, the same with one fault is not. tests/tools/tolerance.c is about the sums.
 */
#include <stdlib.h>

#include "check/compare.h"
#include "support/tap.h"
#include "tools/fusion_model.h"

static const struct {
    fusion_fault fault;
    const char *name, *problem;
} faults[] = {
    {NO_ACTIVATION, "y without the ReLU", "mb8ic4ih14iw14,relu"},
    {NO_ACTIVATION, "y without the leaky ReLU", "mb8ic4ih14iw14,leaky"},
    {NO_RESIDUAL, "y without the residual", "mb8ic4ih14iw14,add"},
    {NO_RESIDUAL, "y without the residual, ReLU", "mb8ic4ih14iw14,bf16,relu,add"},
    {ACTIVATION_FIRST, "the residual behind the ReLU", "mb8ic4ih14iw14,relu,add"},
    {STORED_BETWEEN, "a half before the addition", "mb8ic4ih14iw14,f16,add"},
    {STORED_BETWEEN, "a bfloat before the addition", "mb8ic4ih14iw14,bf16,relu,add"},
    {SLOPE_OFF, "the slope a unit off", "mb8ic4ih14iw14,leaky"},
    {NAN_IS_ZERO, "ReLU of NaN is 0", "mb8ic4ih14iw14,relu,data=nan"},
    {EVALUATED_PLAIN, "evaluation without the ReLU", "mb8ic4ih14iw14,relu"},
    {EVALUATED_ALONE, "evaluation without the residual", "mb8ic4ih14iw14,f16,add"},
    {DY_WHOLE, "dx of all of dy, ReLU", "mb8ic4ih14iw14,relu"},
    {DY_WHOLE, "dx of all of dy, leaky ReLU", "mb8ic4ih14iw14,bf16,leaky=0.9"},
    {SUMS_WHOLE, "sums of all of dy", "mb8ic4ih14iw14,f16,relu,add"},
    {ZERO_PASSES, "ReLU passes dy at 0", "mb8ic4ih14iw14,relu,data=zero,plain"},
    {ZERO_PASSES, "leaky ReLU passes dy at 0", "mb8ic4ih14iw14,leaky,data=zero,plain"},
    {SIGN_OF_NORM, "the sign before the residual", "mb8ic4ih14iw14,relu,add"},
    {SIGN_OF_STORED, "the sign of what is stored",
     "mb8ic4ih14iw14,f16,relu,data=denormal,plain,eps=100"},
    {SIGN_FLIPPED, "one sign", "mb8ic4ih14iw14,relu"},
    {SIGN_FLIPPED, "one sign, with a residual", "mb8ic4ih14iw14,relu,add"},
    {SIGN_FLIPPED, "one sign, bfloat", "mb8ic4ih14iw14,bf16,leaky"},
    {GRADIENT_WHOLE, "the residual's gradient is dy", "mb8ic4ih14iw14,f16,relu,add"},
    {GRADIENT_IS_DX, "the residual's gradient is dx", "mb8ic4ih14iw14,add"},
};

/* Runs the model on a problem and judges it. */
static int accepted(const char *line, fusion_fault fault)
{
    problem p;
    placement g;
    inputs in;
    outputs out;
    comparison result;
    char why[256];
    if (problem_parse(line, &p, why, sizeof why) || placement_make(&p, 1, &g) ||
        inputs_make(&p, &g, &in))
        abort();
    fusion_model_run(&p, &g, &in, fault, &out);
    if (compare(&p, &g, &in, &out, &result))
        abort();
    for (int id = 0; id < OUTPUTS; ++id)
        if (result.of[id].failures)
            tap_note("%s: %zu values", output_names[id], result.of[id].failures);
    outputs_free(&out);
    inputs_free(&in);
    placement_free(&g);
    return result.ok;
}

int main(void)
{
    static const char *const right[] = {
        "mb8ic4ih14iw14,relu",
        "mb8ic4ih14iw14,leaky",
        "mb8ic4ih14iw14,leaky=-3",
        "mb8ic4ih14iw14,leaky=0",
        "mb8ic4ih14iw14,add",
        "mb8ic4ih14iw14,relu,add",
        "mb8ic4ih14iw14,leaky,add,plain",
        "mb8ic4ih14iw14,relu,data=large_mean,grad=one",
        "mb8ic4ih14iw14,relu,add,data=tiny_var,grad=step",
        "mb8ic4ih14iw14,leaky,data=outlier,grad=outlier",
        "mb8ic4ih14iw14,relu,data=constant,grad=constant,plain",
        "mb8ic4ih14iw14,leaky,add,data=wide,grad=wide",
        "mb8ic4ih16iw16,relu,data=exact,grad=exact",
        "mb8ic4ih14iw14,relu,data=nan",
        "mb8ic4ih14iw14,leaky,add,data=inf,grad=nan",
        "mb8ic4ih14iw14,relu,grad=inf",
        "mb8ic4ih14iw14,f16,relu",
        "mb8ic4ih14iw14,f16,leaky,add",
        "mb8ic4ih14iw14,f16,relu,add,data=denormal,grad=denormal",
        "mb8ic4ih14iw14,f16,relu,data=denormal,plain,eps=100",
        "mb8ic4ih14iw14,f16,leaky,data=tiny_var,grad=huge",
        "mb8ic4ih14iw14,bf16,relu,add",
        "mb8ic4ih14iw14,bf16,leaky=0.2",
        "mb8ic4ih14iw14,bf16,relu,add,data=wide,grad=wide",
    };
    int seen[FAULTS] = {1};
    for (size_t i = 0; i < sizeof right / sizeof *right; ++i)
        tap_ok(accepted(right[i], NONE), "the model is accepted: %s", right[i]);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) {
        seen[faults[i].fault] = 1;
        tap_ok(!accepted(faults[i].problem, faults[i].fault), "refused: %s: %s", faults[i].name,
               faults[i].problem);
    }
    for (int fault = 0; fault < FAULTS; ++fault)
        if (!seen[fault])
            tap_ok(0, "fault %d has a problem", fault);
    return tap_done();
}
