#define _XOPEN_SOURCE 700 /* realpath */
#include "curves.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

const char *norm_label(enum norm_kind kind)
{
    return kind == NORM_PER_REPLICA ? "per-replica" : "synchronised";
}

void curves_add(struct curves *curves, const struct point *point)
{
    if (curves->count == curves->room) {
        struct point *more = must_alloc(2 * curves->room + 64, sizeof *more);

        if (curves->count)
            memcpy(more, curves->point, curves->count * sizeof *more);
        free(curves->point);
        curves->point = more;
        curves->room = 2 * curves->room + 64;
    }
    curves->point[curves->count++] = *point;
}

void curves_free(struct curves *curves)
{
    free(curves->point);
    *curves = (struct curves){.count = 0};
}

static FILE *open_csv(const char *name, const char *mode, char *path, size_t size)
{
    FILE *file;

    if (snprintf(path, size, "%s.csv", name) >= (int)size)
        fail("--out is too long: %s", name);
    file = fopen(path, mode);
    if (!file)
        fail("--out cannot write %s: %s", path, strerror(errno));
    return file;
}

void curves_try(const char *name)
{
    char path[4096];

    /* Appending leaves what an earlier run wrote until there is something better. */
    fclose(open_csv(name, "a", path, sizeof path));
}

static void write_csv(const struct curves *curves, const char *name, char *path, size_t size)
{
    FILE *file = open_csv(name, "w", path, size);

    fputs("seed,norm,step,images,train_loss,train_accuracy,test_accuracy\n", file);
    for (size_t i = 0; i < curves->count; ++i) {
        const struct point *p = &curves->point[i];

        fprintf(file, "%llu,%s,%zu,%zu,%.6f,%.6f,", (unsigned long long)p->seed,
                norm_label(p->kind), p->step, p->images, p->loss, p->accuracy);
        if (p->test_accuracy >= 0)
            fprintf(file, "%.6f", p->test_accuracy);
        fputc('\n', file);
    }
    const int incomplete = ferror(file);
    if (fclose(file) || incomplete)
        fail("--out cannot write %s: the disk is full or gone", path);
}

/* A block of gnuplot data, with an empty line between seeds so that lines break there. */
static void write_data(FILE *gnuplot, const struct curves *curves, enum norm_kind kind, int test)
{
    size_t before = 0;

    fprintf(gnuplot, "$%s_%d << END\n", test ? "test" : "loss", (int)kind);
    for (size_t i = 0; i < curves->count; ++i) {
        const struct point *p = &curves->point[i];

        if (p->kind != kind || (test && p->test_accuracy < 0))
            continue;
        if (p->images < before)
            fputc('\n', gnuplot);
        before = p->images;
        fprintf(gnuplot, "%zu %.6f\n", p->images, test ? 100 * p->test_accuracy : p->loss);
    }
    fputs("END\n", gnuplot);
}

/* A name between gnuplot's single quotes, where a quote is written twice. */
static void write_name(FILE *gnuplot, const char *name)
{
    for (; *name; ++name) {
        if (*name == '\'')
            fputc('\'', gnuplot);
        fputc(*name, gnuplot);
    }
}

static int draw(const struct curves *curves, const char *path, size_t replicas, size_t batch)
{
    const enum norm_kind kinds[] = {NORM_PER_REPLICA, NORM_SYNCHRONISED};
    FILE *gnuplot = popen("exec gnuplot >/dev/null 2>&1", "w");
    void (*before)(int);
    int status;

    if (!gnuplot)
        return -1;
    /* One that ends early is not to end the demo. */
    before = signal(SIGPIPE, SIG_IGN);
    for (int k = 0; k < 2; ++k)
        for (int test = 0; test < 2; ++test)
            write_data(gnuplot, curves, kinds[k], test);
    fputs("set terminal pngcairo size 1000,450 font 'sans,11'\nset output '", gnuplot);
    write_name(gnuplot, path);
    fprintf(gnuplot,
            "'\n"
            "set multiplot layout 1,2 title "
            "'Fashion-MNIST, %zu replicas with %zu image%s each'\n"
            "set xlabel 'images seen' offset 0,0.3 ; set format x '%%.0s%%c' ; set grid ; set "
            "border 3\n"
            "set tics nomirror ; set style data lines ; set key outside bottom center horizontal "
            "height 1\n"
            "set style line 1 lc rgb '#c0392b' lw 2 ; set style line 2 lc rgb '#1f618d' lw 2\n"
            "set ylabel 'training loss' ; set yrange [0:*]\n"
            "plot $loss_0 ls 1 title '%s statistics', $loss_1 ls 2 title '%s'\n"
            "set yrange [0:100] ; set ylabel 'accuracy on %zu test images, %%'\n"
            "plot $test_0 with linespoints ls 1 pt 7 ps 0.6 title '%s statistics',"
            " $test_1 with linespoints ls 2 pt 7 ps 0.6 title '%s'\n"
            "unset multiplot\n",
            replicas, batch, batch == 1 ? "" : "s", norm_label(NORM_PER_REPLICA),
            norm_label(NORM_SYNCHRONISED), curves->tests, norm_label(NORM_PER_REPLICA),
            norm_label(NORM_SYNCHRONISED));
    status = pclose(gnuplot);
    signal(SIGPIPE, before);
    return status;
}

/* With its folder: who started the demo by a script is elsewhere. */
static void print_path(const char *path)
{
    char *full = realpath(path, NULL);

    fputs(full ? full : path, stdout);
    free(full);
}

void curves_write(const struct curves *curves, const char *name, size_t replicas, size_t batch)
{
    char path[4096];

    write_csv(curves, name, path, sizeof path);
    fputs("curves: ", stdout);
    print_path(path);
    snprintf(path, sizeof path, "%s.png", name);
    if (system("command -v gnuplot >/dev/null 2>&1") != 0)
        puts(" (no picture: gnuplot is not installed)");
    else if (draw(curves, path, replicas, batch) != 0)
        puts(" (no picture: gnuplot failed)");
    else
        fputs(" and ", stdout), print_path(path), putchar('\n');
    printf("(the curves use the first %zu test images, the figures above all %zu)\n", curves->tests,
           curves->all_tests);
}
