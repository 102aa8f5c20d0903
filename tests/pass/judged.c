/* Problems that every run judges: of tests/inputs it has a sample, and no recorded bits are of these. On PoCL. */
#include "support/tap.h"
#include "support/trial.h"

static const char *const lines[] = {
    /* Backward from the output, where y is 0 or does not give x back. */
    "mb8ic16ih9iw9,leaky,output,data=zero,plain",
    "mb8ic16ih9iw9,leaky,output,last,data=zero,plain,form=gpu",
    "mb4ic6ih9iw9,leaky,output,r4,data=huge",
    "mb4ic6ih9iw9,leaky,output,last,data=huge,inplace,form=gpu",
    /* Sums that overflow. */
    "mb4ic6ih9iw9,data=infs,grad=infs", "mb4ic9ih28iw28,data=largest,passes=fer",
    "mb4ic9ih28iw28,last,data=largest,passes=fer,form=gpu", "mb8ic8,data=infs,grad=infs",
    "mb200ic64il2,data=infs,grad=infs,form=gpu",
    /* A batch without values, and a replica beside a NaN. */
    "mb0ic4ih3iw3", "mb3ic4ih0iw3,r2,last,accumulate,form=gpu", "mb8ic3,plain,split7-1",
    "mb8ic3,split8-0,data=nan", "mb8ic3,relu,last,split8-0,data=nan,byhost",
    "mb8ic1,relu,add,split7-1,stored", "mb8ic135il2,split8-0,data=nan,grad=nan,byhost,form=gpu",
    "mb8ic8,relu,last,split0-8,data=infs,grad=infs,accumulate,form=gpu",
    /* Clamped variances, of another momentum and of a cumulative average. */
    "mb8ic16ih9iw9,r2,clamp,eps=16,momentum=0.3",
    "mb8ic16ih9iw9,leaky=0.25,add,off4,last,clamp,eps=0.25,cumulative",
    /* Frozen layers, whose count is a process's own, so that the lists, which ranks share, have none. */
    "mb8ic16ih9iw9,leaky,output,inplace,frozen", "mb8ic16ih9iw9,f16,output,last,global,frozen",
    "mb1ic16,frozen", "mb8ic16ih9iw9,frozen,stored", "mb8ic16ih9iw9,last,r3,global,frozen",
    "mb8ic16ih9iw9,plain,accumulate,frozen", "mb64ic16,bf16,frozen",
    "mb8ic16ih40iw40,grad=inf,form=gpu,frozen", "mb8ic16ih9iw9,data=nan,frozen",
    "mb8ic16ih9iw9,xpitch3,dpitch11,frozen", "mb8ic16,data=nan,grad=zero,frozen,form=gpu",
    /* In the GPU form large planes with a residual and without alignment. */
    "mb2ic3ih130iw130,relu,add,grad=huge,form=gpu", "mb2ic3ih86iw86,add,nograd,form=gpu",
    "mb2ic3ih72iw72,add,nodx,form=gpu", "mb2ic3ih72iw72,add,form=gpu,frozen",
    "mb2ic3ih65iw65,relu,off3,pitch5,form=gpu", "mb2ic3ih129iw131,relu,add,form=gpu",
    "mb8ic16ih9iw9,relu,add,last,off3,form=gpu",
    /* A backward pass in one launch that stores no dx. */
    "mb8ic16ih9iw9,last,nodx", "mb8ic16ih9iw9,leaky=0.25,add,last,nodx", "mb8ic16ih40iw40,nodx",
    /* Many rows of one element, with gaps, and many channels. */
    "mb4ic2063", "mb4ic2063,r2", "mb400ic64,r2,pitch1", "mb400ic40,data=wide,grad=wide,form=gpu",
    /* Gradients at z = 0. */
    "mb8ic16ih9iw9,relu,add,last,r2", "mb8ic16ih9iw9,relu,data=zero,plain",
    "mb8ic16ih9iw9,leaky,data=zero,plain", "mb8ic16ih40iw40,add,grad=zeros,inplace,form=gpu",
    /* Stores that leave the caches alone. */
    "mb2ic3ih600iw600,r1", "mb2ic3ih600iw600,r1,off1", "mb20ic64ih30iw30,r1,last"};

int main(void)
{
    char error[RUNNER_ERROR];
    queues *r = trial_pocl(NULL, error);
    if (!r)
        return tap_missing("%s", error);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        comparison result = {.ok = 0};
        trial t;
        trial_make(&t, lines[i], 1);
        const int failed = trial_run(&t, r, error) || compare(&t.p, &t.g, &t.in, &t.out, &result);
        tap_ok(!failed && result.ok, "%s: %s", lines[i], failed ? error : "as the reference says");
        trial_free(&t);
    }
    queues_close(r);
    return tap_done();
}
