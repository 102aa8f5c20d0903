/* The line that names a problem: what is read is what is printed, and errors say what is wrong. */
#include <string.h>

#include "check/problem.h"
#include "support/tap.h"

/* Lines, and as what they are printed, which reads as itself; NULL: as they are. */
static const char *const lines[][2] = {
    {"mb32ic64"},
    {"mb1ic1il7"},
    {"mb32ic64ih112iw112"},
    {"mb2ic3id4ih5iw6,last,r3,shuffle9,off3,data=large_mean,grad=one,seed7"},
    {"mb32ic4ih7iw7,split5-0-27"},
    {"mb4ic4ih7iw7,f16,leaky,add,last,r3"},
    {"mb4ic4,bf16,leaky=-0.25,form=gpu"},
    {"mb4ic4,leaky=0,add"},
    {"mb4ic4,f16,leaky,output,last,inplace"},
    {"mb6ic4ih7iw7,split3-3,sizes7x7-14x5"},
    {"mb0ic4il0,split0-0,sizes3-0"},
    {"mb4ic4,eps=0.001,clamp,momentum=0.3,cumulative,plain,untracked,keep,accumulate,global"},
    {"mb4ic4,eps=0,passes=fe,ooo,form=gpu"},
    {"mb4ic4ih7iw7,bf16,last,r3,off3,pitch64,grad=zero"},
    {"mb4ic4,eps=0.1234567890123,momentum=0.9999999,passes=e"},
    {"mb4ic4,data=tiny_var,grad=ninf,form=cpu"},
    {"mb4ic4,r2,xpitch3,nodx,nograd,frozen,host,byhost,begin,stored,given0,branch0"},
    {"mb4ic4,dpitch64"},
    {"mb4ic4,inplace,copied,given1,branch1,form=gpu"},
    {"ic64mb32iw5ih7", "mb32ic64ih7iw5"},
    {"mb4ic4,first,r2,seed1,off0,pitch0,eps=1e-5,momentum=0.10,form=auto,passes=rebf", "mb4ic4,r2"},
    {"mb4ic4,r2,split1-3", "mb4ic4,split1-3"},
    {"mb4ic4,bf16,f32", "mb4ic4"},
    {"mb4ic4,grad=zero,data=exact,last", "mb4ic4,last,data=exact,grad=zero"},
    {"mb4ic4,last,add,leaky=0.01,f16", "mb4ic4,f16,leaky,add,last"},
    {"mb4ic4,leaky=0.5,relu", "mb4ic4,relu"},
    {"mb4ic4,leaky=0.5,leaky", "mb4ic4,leaky"},
};

/* Lines that are wrong, and a word of the sentence that says so. */
static const char *const wrong[][2] = {
    {"", "mb and ic"},
    {"mb4", "ic"},
    {"mb4ic0", "at least 1"},
    {"mb4ic4ih3", "space"},
    {"mb4ic4id3", "space"},
    {"mb4ic4il3iw3", "space"},
    {"mb4mb4ic4", "twice"},
    {"mb4ic-4", "number"},
    {"mb4ic4xx3", "expected mb"},
    {"mb4ic99999999999999999999", "number"},
    {"mb4ic4,", "no setting; syncbn check --help lists them"},
    {"mb4ic4,r", "\"r\" is no setting: did you mean r3?"},
    {"mb4ic4,lats", "\"lats\" is no setting: did you mean last?"},
    {"mb4ic4,dta=zero", "\"dta=zero\" is no setting: did you mean data=normal?"},
    {"mb4ic4,splt2-2", "did you mean split5-0-27?"},
    {"mb4ic4,abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "no setting; "},
    {"mb4ic4,r0", "replicas"},
    {"mb4ic4,r65", "replicas"},
    {"mb4ic4,r3,split1-3", "another number"},
    {"mb4ic4,split1-2", "adds up to 3"},
    {"mb4ic4,split1--3", "numbers"},
    {"mb4ic4il3,sizes3-3", "split"},
    {"mb4ic4il3,split2-2,sizes3", "split"},
    {"mb4ic4il3,split2-2,sizes3x3-3x3", "expected"},
    {"mb4ic4,split2-2,sizes3-3", "space"},
    {"mb4ic4il3,split2-2,sizes3-3,shuffle1", "shuffle"},
    {"mb4ic4,data=nonsense", "expected one of normal, large_mean"},
    {"mb4ic4,eps=-1", "eps"},
    {"mb4ic4,eps=nan", "eps"},
    {"mb4ic4,momentum=1.5", "momentum"},
    {"mb4ic4,passes=b", "need f"},
    {"mb4ic4,passes=x", "fber"},
    {"mb4ic4,form=tpu", "cpu"},
    {"mb4ic4,size=3", "did you mean sizes7x7-14x5?"},
    {"mb4ic4,f16x", "did you mean f16?"},
    {"mb4ic4,relu=0", "no setting"},
    {"mb4ic4,leaky=", "-1e+06 to 1e+06"},
    {"mb4ic4,leaky=inf", "-1e+06 to 1e+06"},
    {"mb4ic4,output,relu", "inverted"},
    {"mb4ic4,leaky,add,output", "inverted"},
    {"mb4ic4,output,leaky=0", "expected a slope of 2^-14 to 2^14, got 0"},
    {"mb4ic4,pitch=3", "did you mean pitch3?"},
    {"mb4ic4,pitch3x", "number"},
    {"mb4ic4,copied,xpitch3", "memory is copied"},
    {"mb4ic4,frozen,untracked", "no running statistics"},
    {"mb4ic4,given0,untracked", "no running statistics"},
    {"mb4ic4,given", "did you mean given0?"},
    {"mb4ic4,branch2", "two places"},
    {"mb4ic4,inplace,nodx", "not asked for"},
    {"mb2000ic4,pitch400000", "2^31"},
    {"mb2ic4ih50iw50,last,pitch200000", "2^31"},
    {"mb100000ic100000", "2^31"},
    {"mb8ic2ih5iw1234567895,split5-3,sizes7x7-4x5", "2^31"},
};

static void reads_as(const char *line, const char *expected)
{
    problem p;
    char error[256] = "", printed[PROBLEM_LINE] = "";
    if (problem_parse(line, &p, error, sizeof error) == 0)
        problem_print(&p, printed, sizeof printed);
    tap_ok(strcmp(printed, expected) == 0, "read and printed: %s -> %s%s", line, printed, error);
}

int main(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        const char *line = lines[i][0], *other = lines[i][1];
        reads_as(line, other ? other : line);
        if (other)
            reads_as(other, other);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        problem p;
        char error[256] = "";
        const int refused = problem_parse(wrong[i][0], &p, error, sizeof error) != 0;
        tap_ok(refused && strstr(error, wrong[i][1]), "refused: \"%s\": %s", wrong[i][0], error);
    }
    return tap_done();
}
