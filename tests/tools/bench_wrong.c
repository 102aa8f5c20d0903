/*
 * The benchmark does not time what is wrong: every kernel of its own, every
 * copy, the library's passes and oneDNN's are in turn made to do nothing, or
 * the wrong thing, and each time the run must fail with a sentence that names
 * whose result it was.
 */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "support/fixture.h"
#include "support/sample.h"
#include "tools/bench_faults.h"

/* One run with one thing wrong; `named` begins the sentence, or is NULL where all is right. */
static void check(bench *b, const char *line, const char *what, bench_fault how, const char *named)
{
    char error[RUNNER_ERROR];
    problem p;
    static bench_result result;
    must(problem_parse(line, &p, error, sizeof error), line);
    bench_plant(how);
    bench_run(b, &p, &result);
    bench_plant((bench_fault){0});
    if (named) {
        tap_ok(!result.ok && strncmp(result.error, named, strlen(named)) == 0,
               "%s, %s: expected a sentence about %s, got \"%s\"", line, what, named, result.error);
    } else {
        tap_ok(result.ok, "%s, %s: expected no error, got \"%s\"", line, what, result.error);
    }
    bench_result_free(&result);
}

static void check_kernels(bench *b)
{
    static const struct {
        const char *line, *kernel, *named;
    } list[] = {
        {"mb4ic8ih6iw7", "copy_plain", "copy plain"},
        {"mb4ic8ih6iw7", "copy_vector", "copy vector"},
        {"mb4ic8ih6iw7", "copy_stream", "copy nontemporal"},
        {"mb4ic8ih6iw7", "planes_forward", "unordered"},
        {"mb4ic8ih6iw7", "planes_backward", "unordered: "},
        {"mb4ic8ih6iw7,last", "finish_forward", "unordered"},
        {"mb4ic8ih6iw7,last", "finish_backward", "unordered: "},
        {"mb4ic8ih6iw7,last", "rows_forward", "unordered"},
        {"mb4ic8ih6iw7,last", "rows_y", "unordered: y"},
        {"mb4ic8ih6iw7,last", "rows_backward", "unordered: "},
        {"mb4ic8ih6iw7,last", "rows_dx", "unordered: dx"},
        {"mb4ic8ih6iw7,add", "separate_add", "separate: y"},
        {"mb4ic8ih6iw7,relu", "separate_activation", "separate: y"},
        {"mb4ic8ih6iw7,relu,add", "separate_gradient", "separate: dx"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        check(b, list[i].line, list[i].kernel, (bench_fault){.kernel = list[i].kernel},
              list[i].named);
    }
}

/* Both forms of the benchmark's kernels, both layouts, sizes that no vector divides. */
static void check_right(bench *b)
{
    static const char *const lines[] = {
        "mb4ic8ih6iw7",
        "mb4ic8ih6iw7,last",
        "mb3ic70ih5iw5,last",
        "mb33ic70",
        "mb5ic20ih9iw11",
        "mb6ic3ih40iw40",
        "mb3ic5ih17iw3,plain",
        "mb5ic300ih2iw2,last",
        "mb7ic8ih6iw7,split5-1-1",
        "mb4ic8ih6iw7,bf16,last",
        "mb3ic5ih17iw3,f16,plain",
        "mb5ic20ih9iw11,relu,last",
        "mb33ic70,relu,add",
        "mb3ic5ih17iw3,bf16,leaky,add,plain",
        "mb7ic8ih6iw7,add,split5-1-1",
    };
    char line[PROBLEM_LINE];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        check(b, lines[i], "nothing wrong", (bench_fault){0}, NULL);
        if (!sample_has_gpu_form(lines[i]))
            continue;
        snprintf(line, sizeof line, "%s,form=gpu", lines[i]);
        check(b, line, "nothing wrong", (bench_fault){0}, NULL);
    }
}

static void check_all(const fixture *f)
{
    char error[RUNNER_ERROR];
    const device_info device = {.id = f->device, .type = "cpu", .form = SBN_FORM_CPU};
    const device_info *devices[] = {&device};
    const bench_config config = {.devices = devices, .num_devices = 1, .budget = {.rounds = 1}};
    bench *b;
    must(bench_open(&config, &b, error), error);
    check_right(b);
    check_kernels(b);
    check(b, "mb4ic8ih6iw7", "clEnqueueCopyBuffer", (bench_fault){.copy = 1},
          "copy clEnqueueCopyBuffer: y is not x");
    check(b, "mb4ic8ih6iw7", "sbn_evaluate", (bench_fault){.evaluate = 1}, "syncbn: evaluated");
    check(b, "mb4ic8ih6iw7", "sbn_forward of two", (bench_fault){.forward = 2}, "synchronised: ");
    check(b, "mb4ic8ih6iw7,f16", "sbn_forward in f32", (bench_fault){.other_layer = 1}, "f32: y");
    check(b, "mb4ic8ih6iw7,f16,leaky", "sbn_forward alone", (bench_fault){.halves_alone = 1},
          "norm alone: y");
    check(b, "mb4ic8ih6iw7", "sbn_forward_begin of two", (bench_fault){.begin = 2}, "apart: ");
#ifdef HAVE_DNNL
    check(b, "mb4ic8ih6iw7", "oneDNN's forward", (bench_fault){.onednn = ONEDNN_FORWARD},
          "onednn ");
    check(b, "mb4ic8ih6iw7", "oneDNN's backward", (bench_fault){.onednn = ONEDNN_BACKWARD},
          "onednn ");
#endif
    bench_close(b);
}

int main(void)
{
    fixture f;
    if (fixture_open(&f))
        return fixture_missing();
    check_all(&f);
    fixture_close(&f);
    return tap_done();
}
