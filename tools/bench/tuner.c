#include "bench/tuner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/timing.h"

/* The plan before, once more, and the one after it: jobs of a group each, on a scene's buffers. */
enum { BEFORE, AGAIN, AFTER, PLANS };

static int make_group(tuner *t, const sbn_tuning *tuning, sbn_group **group)
{
    char text[SBN_TUNING_TEXT];
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = &t->scenes->replica->queue;
    config.replicas = 1;
    config.form = t->form;
    sbn__tuning_print(tuning, text);
    if (setenv("SYNCBN_TUNING", text, 1))
        return job_failed_here(t->error, "setenv", SBN_OUT_OF_MEMORY);
    const int status = sbn_group_create(&config, group);
    unsetenv("SYNCBN_TUNING");
    return status ? job_failed(t->error, "sbn_group_create", status) : SBN_SUCCESS;
}

int tuner_open(tuner *t, const device_info *device, sbn_kernel_form form,
               const problem *const *problems, size_t count, char *error)
{
    const runner_config config = {.devices = &device->id, .num_devices = 1, .form = form};
    *t = (tuner){.form = form, .error = error};
    int status = queues_open(&config, &t->queues, error);
    if (!status && setenv("SYNCBN_TUNING", "", 1))
        status = job_failed_here(error, "setenv", SBN_OUT_OF_MEMORY);
    for (size_t i = 0; i < count && !status; ++i) {
        scene *s = &t->scenes[t->count];
        t->named[t->count++] = problems[i];
        status = scene_open(s, t->queues, problems[i]);
        if (status)
            memcpy(error, s->error, sizeof s->error);
    }
    unsetenv("SYNCBN_TUNING");
    if (status)
        tuner_close(t);
    return status;
}

void tuner_close(tuner *t)
{
    while (t->count)
        scene_close(&t->scenes[--t->count]);
    queues_close(t->queues);
}

static int run(void *self, bench_pass pass)
{
    return pass == BENCH_FORWARD ? job_forward(self, NULL) : job_backward(self, NULL);
}

static int finish(void *self)
{
    return job_finish(self);
}

static int enter(job *j, const scene *s)
{
    sbn_group *own = j->group;
    *j = s->job;
    return job_open_on(j, &s->job, 0, s->job.replicas, own);
}

/* The standard error of a median, from the quartiles, were the values normal. */
static double error_of(const spread *s)
{
    return 1.2533 * (s->quartile3 - s->quartile1) / 1.349 / sqrt((double)s->count);
}

static tuner_line line_of(const problem *of, const series *list, int is_backward, size_t rounds)
{
    const series *before = &list[2 * BEFORE + is_backward], *after = &list[2 * AFTER + is_backward];
    const series *again = &list[2 * AGAIN + is_backward];
    const spread q = spread_of_quotients(after->seconds, before->seconds, rounds);
    return (tuner_line){
        .of = of,
        .is_backward = is_backward,
        .before = spread_of(before->seconds, rounds).median,
        .after = spread_of(after->seconds, rounds).median,
        .quotient = q.median,
        .error = error_of(&q),
        .again = spread_of_quotients(again->seconds, before->seconds, rounds).median,
    };
}

static int compare_scene(tuner *t, job plans[PLANS], size_t which, double seconds,
                         tuner_comparison *result)
{
    static series list[2 * PLANS];
    contender of[PLANS];
    size_t entered = 0, rounds = 0;
    const timing_budget budget = {.seconds = seconds};
    int status = SBN_SUCCESS;
    for (; entered < PLANS && !status; ++entered) {
        status = enter(&plans[entered], &t->scenes[which]);
        of[entered] = (contender){.self = &plans[entered], .run = run, .finish = finish};
        for (int is_backward = 0; is_backward < 2; ++is_backward)
            list[2 * entered + (size_t)is_backward] =
                (series){.of = &of[entered], .pass = is_backward ? BENCH_BACKWARD : BENCH_FORWARD};
    }
    status = status ? status : timing_run(list, 2 * PLANS, &budget, &rounds);
    if (status)
        memcpy(t->error, t->scenes[which].error, RUNNER_ERROR);
    clFinish(t->scenes->replica->queue);
    while (entered)
        job_close(&plans[--entered]);
    for (int is_backward = 0; is_backward < 2 && !status; ++is_backward)
        result->lines[result->count++] = line_of(t->named[which], list, is_backward, rounds);
    return status;
}

/*
 * Noise is three standard errors, and what two groups with equal plans differ by. A line is slower if
 * it is so beyond its own noise.
 */
void tuner_judge(tuner_comparison *result)
{
    double sum = 0, sum_again = 0, squares = 0;
    int slower = 0;
    for (size_t i = 0; i < result->count; ++i) {
        const tuner_line *l = &result->lines[i];
        const double error = l->error / l->quotient, own = 3 * error + fabs(log(l->again));
        sum += log(l->quotient);
        sum_again += log(l->again);
        squares += error * error;
        slower |= log(l->quotient) > TUNER_LEAST + own;
    }
    const double count = (double)result->count;
    result->quotient = exp(sum / count);
    result->noise = 3 * sqrt(squares) / count + fabs(sum_again / count);
    result->gain = !slower && -sum / count > fmax(TUNER_LEAST, result->noise);
}

int tuner_compare(tuner *t, const sbn_tuning *before, const sbn_tuning *after, double seconds,
                  tuner_comparison *result)
{
    job plans[PLANS] = {{.group = NULL}};
    int status = SBN_SUCCESS;
    *result = (tuner_comparison){0};
    for (int i = 0; i < PLANS && !status; ++i)
        status = make_group(t, i == AFTER ? after : before, &plans[i].group);
    for (size_t i = 0; i < t->count && !status; ++i)
        status = compare_scene(t, plans, i, seconds, result);
    for (int i = 0; i < PLANS; ++i)
        sbn_group_destroy(plans[i].group);
    if (!status)
        tuner_judge(result);
    return status;
}
