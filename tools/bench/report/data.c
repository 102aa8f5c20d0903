/* Columns. */
#include "bench/report/data.h"

#include <math.h>
#include <stdio.h>

#include "bench/report/results.h"

/* "32x64x112x112" */
static void print_shape(const json_t *problem)
{
    static const char *const keys[] = {"ic", "id", "ih", "iw", "il"};
    printf("%zu", results_extent(problem, "mb"));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
        size_t extent = results_extent(problem, keys[i]);
        if (extent)
            printf("x%zu", extent);
    }
}

void data_print(const json_t *report)
{
    static const char *const passes[] = {"forward", "backward"};
    const json_t *problems = results_problems(report);
    puts("# shape layout MB, forward: syncbn unordered onednn baseline, backward: the same");
    for (size_t index = 0; index < json_array_size(problems); ++index) {
        const json_t *problem = json_array_get(problems, index);
        if (results_bytes(problem) < 1e5 || !results_is_f32(problem) ||
            !results_is_unfused(problem) || !results_is_dense(problem))
            continue;
        print_shape(problem);
        printf(" %s %.2f", results_is_last(problem) ? "last" : "first",
               1e-6 * results_bytes(problem));
        for (size_t i = 0; i < 2; ++i) {
            const char *onednn = results_onednn(problem, passes[i]);
            printf(" %.3f %.3f %.3f %.3f", results_share_of_copy(problem, LIBRARY, passes[i]),
                   results_share_of_copy(problem, "unordered", passes[i]),
                   onednn ? results_share_of_copy(problem, onednn, passes[i]) : NAN,
                   results_share_of_copy(problem, "baseline", passes[i]));
        }
        putchar('\n');
    }
}
