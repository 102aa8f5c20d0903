#include "pass/bits.h"

#include <string.h>

#include "support/sample.h"

#define POCL "Portable Computing Language"
#define RUSTICL "rusticl"

const machine machines[] = {
    {"pocl", "pthread", {{POCL, ""}}, 0},
    {"basic", "basic", {{POCL, "basic"}}, 0},
    {"pocl+basic", "pthread basic", {{POCL, ""}, {POCL, "basic"}}, 0},
    {"rusticl", "pthread", {{RUSTICL, "llvmpipe"}}, 0},
    {"pocl+rusticl", "pthread", {{POCL, ""}, {RUSTICL, "llvmpipe"}}, 0},
    {"oclgrind", "pthread", {{"Oclgrind", ""}}, 1},
};
const size_t machine_count = sizeof machines / sizeof *machines;

/* The first is what all others must equal. */
const configuration configurations[] = {
    {"pocl", "r1,form=cpu"},
    {"pocl", "r2,form=cpu"},
    {"pocl", "r3,form=cpu"},
    {"pocl", "r5,form=cpu"},
    {"pocl", "r8,form=cpu"},
    {"pocl", "r1,form=cpu,last"},
    {"pocl", "r2,form=cpu,last"},
    {"pocl", "r3,form=cpu,last"},
    {"pocl", "r5,form=cpu,last"},
    {"pocl", "r8,form=cpu,last"},
    {"pocl", "r1,form=gpu"},
    {"pocl", "r2,form=gpu"},
    {"pocl", "r3,form=gpu"},
    {"pocl", "r5,form=gpu"},
    {"pocl", "r8,form=gpu"},
    {"pocl", "r1,form=gpu,last"},
    {"pocl", "r2,form=gpu,last"},
    {"pocl", "r3,form=gpu,last"},
    {"pocl", "r5,form=gpu,last"},
    {"pocl", "r8,form=gpu,last"},
    {"pocl", "split7-1,form=cpu"},
    {"pocl", "split5-0-3,form=cpu"},
    {"pocl", "split0-0-8,form=cpu,last"},
    {"pocl", "split0-8,form=gpu"},
    {"pocl", "split1-0-7,form=gpu,last"},
    {"pocl", "r1,shuffle3,form=cpu"},
    {"pocl", "r2,shuffle4,form=cpu,last"},
    {"pocl", "r5,shuffle5,form=gpu"},
    {"pocl", "split5-0-3,shuffle6,form=gpu,last"},
    {"pocl", "r3,off3,form=cpu"},
    {"pocl", "r2,off5,form=cpu,last"},
    {"pocl", "r3,pitch3,form=cpu"},
    {"pocl", "r1,off4,pitch64,form=cpu,last"},
    {"pocl", "split5-0-3,pitch5,shuffle6,form=gpu,last"},
    {"pocl", "r2,ooo,form=cpu"},
    {"basic", "r1,form=cpu"},
    {"basic", "r3,form=cpu,last"},
    {"basic", "r5,form=gpu"},
    {"basic", "split5-0-3,shuffle6,form=gpu,last"},
    {"pocl+basic", "r2,form=cpu"},
    {"pocl+basic", "split1-0-7,shuffle3,form=gpu,last"},
    {"rusticl", "r1,form=gpu"},
    {"rusticl", "r3,form=gpu,last"},
    {"rusticl", "split5-3,shuffle6,form=gpu"},
    {"rusticl", "r2,form=gpu,last"},
    {"rusticl", "r2,off4,pitch64,form=gpu"},
    {"pocl+rusticl", "r2,form=gpu"},
    {"pocl+rusticl", "split0-8,form=gpu,last"},
    {"pocl+rusticl", "split5-0-3,shuffle6,form=gpu,last"},
    {"pocl+rusticl", "r3"},
    {"pocl+rusticl", "split2-1-5,shuffle4,last"},
    {"pocl+rusticl", "split2-1-5,pitch3,shuffle4"},
    {"oclgrind", "r1,form=cpu"},
    {"oclgrind", "r2,form=cpu,last"},
    {"oclgrind", "r3,form=gpu"},
    {"oclgrind", "split1-0-7,shuffle3,form=gpu,last"},
    {"oclgrind", "r2,pitch3,form=cpu"},
    {"oclgrind", "r2,pitch4,form=gpu,last"},
};
const size_t configuration_count = sizeof configurations / sizeof *configurations;

/*
 * Eight samples each, for the configurations' splits. No denormals: llvmpipe flushes them, as
 * devices may (tests/pass/bits_controls.c).
 */
const subject subjects[] = {
    {"mb8ic37,global", 1, 0},
    {"mb8ic19ih7iw7,global", 0, 0},
    {"mb8ic2ih7iw7,global,data=large_mean,grad=one", 1, 0},
    {"mb8ic17ih14iw14,global", 0, 0},
    {"mb8ic5ih13iw17,global,clamp,cumulative", 0, 0},
    {"mb8ic3il1023,global", 0, 0},
    {"mb8ic3ih32iw32,global", 0, 0},
    {"mb8ic1il1025,global,grad=outlier", 1, 0},
    {"mb8ic3il1025,global,data=large_mean,grad=one", 0, 0},
    {"mb8ic5ih56iw56,global", 0, 0},
    {"mb8ic3ih56iw56,global,data=large_mean", 0, 0},
    {"mb8ic3ih56iw56,global,data=outlier,grad=outlier", 0, 1},
    {"mb8ic3il1025,global,data=step,grad=border", 0, 0},
    {"mb8ic5ih5iw7,global,data=border,grad=step", 1, 0},
    {"mb8ic7id3ih5iw11,global", 0, 0},
    {"mb8ic23ih7iw7,global,data=wide,grad=wide", 0, 1},
    {"mb8ic2il31,global,data=wide,grad=wide,seed3", 1, 1},
    {"mb8ic5ih31iw37,global,data=wide,eps=0", 0, 1},
    {"mb8ic3ih14iw14,global,data=huge,grad=huge", 0, 1},
    {"mb8ic3ih14iw14,global,data=nan,grad=inf", 0, 0},
    /* Gradients that are zero, whose signs compilers see differently. */
    {"mb8ic5ih31iw31,global,data=constant,grad=constant", 0, 0},
    {"mb8ic5ih7iw7,global,grad=zero", 0, 0},
    {"mb8ic3il5,global,data=zero,grad=zero", 1, 0},
    /* Storage in f16 and bf16; subnormal halves, which are ordinary numbers to all arithmetic. */
    {"mb8ic37,f16,global", 1, 0},
    {"mb8ic5ih7iw7,bf16,global", 1, 0},
    {"mb8ic17ih14iw14,bf16,global", 0, 0},
    {"mb8ic5ih31iw37,f16,global,data=large_mean,grad=one", 0, 0},
    {"mb8ic3ih32iw32,f16,global,data=denormal,grad=denormal", 0, 0},
    {"mb8ic3ih32iw32,f16,global,data=tiny_var,grad=huge", 0, 0},
    {"mb8ic23ih7iw7,bf16,global,data=wide,grad=wide", 0, 1},
    {"mb8ic3ih14iw14,bf16,global,data=nan,grad=inf", 0, 0},
    /*
     * Activations and residuals; masks of both not under Oclgrind, which lacks the reduction of a
     * vector (llvm.vector.reduce.or) that clang makes of them.
     */
    {"mb8ic5ih31iw31,relu,add,global", 0, 0},
    {"mb8ic17ih7iw7,bf16,leaky,add,global", 0, 0},
    {"mb8ic37,relu,global", 1, 0},
    {"mb8ic17ih7iw7,leaky,output,inplace,global", 0, 0},
};
const size_t subject_count = sizeof subjects / sizeof *subjects;

static int has(const char *line, const char *word)
{
    return strstr(line, word) != NULL;
}

/*
 * Whether a sample compiles the kernels that this needs, which takes far longer than running them:
 * storage in 16 bits and fusions on the first machine, without views in the GPU form, whose sums
 * have kernels of their own; on the second kind of PoCL's devices, which has the first one's
 * compiler, one problem in the GPU form.
 */
static int sample_compiles(const machine *m, size_t c, size_t s)
{
    const char *line = subjects[s].line;
    const int on_gpu = has(configurations[c].settings, "form=gpu");
    const int has_views = has(configurations[c].settings, "pitch");
    if (m == machines && !(on_gpu && has_views))
        return !on_gpu || sample_has_gpu_form(line);
    return !has(line, "f16") && !has(line, "relu") && !has(line, "leaky") &&
           (!on_gpu || !has(m->pocl_devices, "basic") || s == 0);
}

/*
 * A sample is all problems in the first configuration, which all others must equal, and a quarter of
 * them, in turn, in each other one; an eighth where llvmpipe takes part, on which a problem takes longest.
 */
int bits_runs(const machine *m, size_t c, size_t s)
{
    if (strcmp(configurations[c].machine, m->name) || (m->under_oclgrind && !subjects[s].tiny))
        return 0;
    if (!sample_only() || c == 0)
        return 1;
    const size_t every = strstr(m->name, RUSTICL) ? 8 : 4;
    return sample_compiles(m, c, s) && ((c + s) % every == 0 || s == 0);
}
