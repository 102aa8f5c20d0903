#include "check/outputs.h"

#include <stdlib.h>
#include <string.h>

#include <syncbn.h>

const char *const output_names[OUTPUTS] = {
    [OUT_MEAN] = "mean",
    [OUT_VAR] = "var",
    [OUT_Y] = "y",
    [OUT_AGAIN] = "recomputed",
    [OUT_EVAL] = "evaluated",
    [OUT_DX] = "dx",
    [OUT_RESIDUAL_GRAD] = "residual_grad",
    [OUT_WEIGHT_GRAD] = "weight_grad",
    [OUT_BIAS_GRAD] = "bias_grad",
    [OUT_RUNNING_MEAN] = "running_mean",
    [OUT_RUNNING_VAR] = "running_var",
};

int output_make(outputs *out, output_id id, size_t count)
{
    output *o = &out->of[id];
    o->count = count;
    o->data = calloc(count + 1, sizeof *o->data);
    return o->data ? SBN_SUCCESS : SBN_OUT_OF_MEMORY;
}

void outputs_free(outputs *out)
{
    for (int id = 0; id < OUTPUTS; ++id)
        free(out->of[id].data);
    free(out->preactivation);
    if (out->apart)
        outputs_free(out->apart);
    free(out->apart);
    memset(out, 0, sizeof *out);
}

uint64_t digest_floats(const float *data, size_t count)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; ++i) {
        uint32_t bits;
        memcpy(&bits, &data[i], sizeof bits);
        if ((bits & 0x7fffffff) > 0x7f800000)
            bits = 0x7fc00000;
        for (int byte = 0; byte < 4; ++byte)
            digest = (digest ^ (bits >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
    }
    return digest;
}

void outputs_digest(outputs *out, int global_gradients, size_t channels)
{
    for (int id = 0; id < OUTPUTS; ++id) {
        output *o = &out->of[id];
        int shared = global_gradients && (id == OUT_WEIGHT_GRAD || id == OUT_BIAS_GRAD);
        o->digest = o->data ? digest_floats(o->data, shared ? channels : o->count) : 0;
    }
}
