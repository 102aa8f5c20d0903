/*
 * Elements and channels beyond 2^32 in the apply kernels, without the 16 GB that a tensor of them
 * takes: the kernels themselves on a few tiles of rows, far apart in address space that is reserved
 * and hardly touched, and the functions that locate a tile on the last of 2^21 tiles.
 *
 * The buffers name the first pages only. A driver for CPUs hands kernels the host's address, and
 * none takes buffers of such a size.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "device/kernel_constants.h"
#include "device/kernels.h"
#include "group/group.h"
#include "pass/apply.h"

#include "support/fixture.h"

enum { TILE = 2048, PAGES = 1 << 20 };

static fixture device;
static cl_command_queue queue;
static sbn_replica *replica;

/* Reserved addresses whose first bytes are a buffer. */
typedef struct field {
    float *at;
    size_t floats;
    cl_mem mem;
} field;

static int field_open(field *f, size_t floats)
{
    cl_int code;
    void *at = mmap(NULL, sizeof(float) * floats, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *f = (field){NULL, floats, NULL};
    if (at == MAP_FAILED)
        return 0;
    f->at = at;
    f->mem = clCreateBuffer(device.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, PAGES, at,
                            &code);
    must(code, "clCreateBuffer");
    return 1;
}

static void field_close(field *f)
{
    if (f->mem)
        clReleaseMemObject(f->mem);
    if (f->at)
        munmap(f->at, sizeof(float) * f->floats);
}

static void launch(sbn_kernel *kernel, const sbn_argument *arguments, size_t count, size_t rows)
{
    const size_t groups[] = {1, rows};
    const sbn_wait wait = {{NULL}, 0};
    cl_event event;
    must(sbn__launch(replica, kernel, arguments, count, 2, groups, &wait, &event), "launch");
    must(clWaitForEvents(1, &event), "clWaitForEvents");
    sbn__release_event(&event);
}

/* Two tensors and a result, and two tables, three rows of which the kernels read. */
enum { X, DY, OUT, COEFFICIENTS, GRADIENTS, FIELDS };

static field fields[FIELDS];

static int open_fields(size_t elements, size_t channels)
{
    int opened = 1;
    for (int i = 0; i < FIELDS; ++i)
        opened = field_open(&fields[i], i < COEFFICIENTS ? elements : 3 * channels) && opened;
    return opened;
}

static void close_fields(void)
{
    for (int i = 0; i < FIELDS; ++i)
        field_close(&fields[i]);
}

/* x and dy from an element on are 1, 2, ... and 3, 4, ... */
static void fill(size_t from, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        fields[X].at[from + i] = (float)(i + 1);
        fields[DY].at[from + i] = (float)(i + 3);
    }
}

/* Means 0, and an inverse deviation that differs from channel to channel; no mean gradients. */
static float invstd(size_t channel)
{
    return (float)(1 + channel % 7);
}

static void set_tables(size_t channels, size_t total)
{
    for (size_t c = 0; c < channels; ++c)
        fields[COEFFICIENTS].at[SBN_ROW_INVSTD * total + c] =
            fields[GRADIENTS].at[SBN_ROW_K * total + c] = invstd(c);
}

/* y = x invstd, dx = invstd dy - invstd invstd x: whole numbers. */
static int right(size_t from, size_t count, size_t plane, int back)
{
    for (size_t i = 0; i < count; ++i) {
        const float s = invstd(i / plane), x = fields[X].at[from + i], dy = fields[DY].at[from + i];
        if (fields[OUT].at[from + i] != (back ? s * dy - s * s * x : s * x))
            return 0;
    }
    return 1;
}

/* Both kernels of a walk; the arguments behind the tensors and tables are `walk`. */
static void apply(int which, const sbn_argument *walk, size_t count, size_t rows, int back)
{
    const cl_ulong offset = 0;
    const cl_uint affine = 0, scale_only = 0;
    sbn_argument arguments[11 + SBN_WALK_ARGUMENTS];
    size_t n = 0;
#define ADD(variable) arguments[n++] = (sbn_argument)SBN_ARG(variable)
    ADD(fields[X].mem);
    ADD(offset);
    if (back) {
        ADD(fields[DY].mem);
        ADD(offset);
    }
    ADD(fields[OUT].mem);
    ADD(offset);
    ADD(fields[COEFFICIENTS].mem);
    if (back)
        ADD(fields[GRADIENTS].mem);
    ADD(fields[COEFFICIENTS].mem); /* of weights that are not looked at */
    ADD(offset);
    if (!back) {
        ADD(fields[COEFFICIENTS].mem);
        ADD(offset);
    }
    ADD(affine);
    if (!back)
        ADD(scale_only);
    for (size_t i = 0; i < count; ++i)
        arguments[n++] = walk[i];
    sbn_kernels *kernels = &replica->kernels[SBN_F32][0];
    launch(back ? &kernels->backward_apply[which] : &kernels->forward_apply[which], arguments, n,
           rows);
}

/* Two rows of 2^29 channels in planes of 9: the second begins behind 2^32 elements. */
static void check_rows(int back)
{
    const cl_uint channels = 1u << 29, plane = 9, per_tile = 2, non_temporal = 0;
    const cl_ulong rows = 2;
    const size_t width = (size_t)channels * plane;
    const sbn_argument walk[] = {SBN_ARG(channels), SBN_ARG(plane), SBN_ARG(rows),
                                 SBN_ARG(per_tile), SBN_ARG(non_temporal)};
    const char *const name = back ? "backward" : "forward";
    if (!open_fields(2 * width, channels)) {
        tap_skip("38 GB of address space cannot be reserved");
        close_fields();
        return;
    }
    set_tables(TILE / plane + 1, channels);
    fill(0, TILE);
    fill(width, TILE);
    apply(SBN_WALK_ROWS, walk, 5, 1, back);
    tap_ok(right(0, TILE, plane, back) && right(width, TILE, plane, back),
           "%s, rows of %zu elements", name, width);
    close_fields();
}

/* Four channels of 2^31 - 1: the table's third row begins at 2^32 - 2. */
static void check_tables(int back)
{
    enum { CHANNELS = 4, PLANE = 64, COUNT = CHANNELS * PLANE };
    const cl_uint channels = CHANNELS, first = 0, total = 0x7fffffffu, plane = PLANE;
    const cl_uint range = COUNT, non_temporal = 0;
    const cl_ulong length = COUNT, ahead = 0, ahead_count = 0;
    const sbn_argument walk[] = {SBN_ARG(channels),    SBN_ARG(first),  SBN_ARG(total),
                                 SBN_ARG(plane),       SBN_ARG(length), SBN_ARG(ahead),
                                 SBN_ARG(ahead_count), SBN_ARG(range),  SBN_ARG(non_temporal)};
    const char *const name = back ? "backward" : "forward";
    if (!open_fields(PAGES, total)) {
        tap_skip("26 GB of address space cannot be reserved");
        close_fields();
        return;
    }
    set_tables(CHANNELS, total);
    fill(0, COUNT);
    apply(SBN_WALK_FLAT, walk, 9, 1, back);
    tap_ok(right(0, COUNT, PLANE, back), "%s, %u channels", name, (unsigned)total);
    close_fields();
}

static const char tile_kernel[] =
    "kernel void last_tile(uint channels, uint plane, global ulong *out)\n"
    "{\n"
    "    if (get_group_id(0) + 1 < get_num_groups(0))\n"
    "        return;\n"
    "    uint within;\n"
    "    out[0] = row_width(channels, plane);\n"
    "    out[1] = rows_tile();\n"
    "    out[2] = tile_count(out[0], rows_tile());\n"
    "    out[3] = channel_of(rows_tile(), plane, &within);\n"
    "    out[4] = within;\n"
    "}\n";

/* The last tile of such a row, as the kernels locate it. */
static void check_tile(void)
{
    const cl_uint channels = 0x10000001u, plane = 17;
    const cl_ulong width = (cl_ulong)channels * plane, tiles = (width + TILE - 1) / TILE;
    const cl_ulong expected[] = {width, (tiles - 1) * TILE, width - (tiles - 1) * TILE,
                                 (tiles - 1) * TILE / plane, (tiles - 1) * TILE % plane};
    cl_ulong found[5] = {0};
    char summation[512], sizes[768], options[2048];
    static const char *const names[] = {"common.cl", "storage.cl", "coefficients.cl",
                                        "apply_walk.cl"};
    enum { NAMES = sizeof names / sizeof *names };
    const char *texts[NAMES + 1] = {[NAMES] = tile_kernel};
    cl_int code;
    for (size_t i = 0; i < sbn_kernel_source_count; ++i)
        for (size_t n = 0; n < NAMES; ++n)
            if (strcmp(sbn_kernel_sources[i].name, names[n]) == 0)
                texts[n] = sbn_kernel_sources[i].text;
    cl_program program = clCreateProgramWithSource(device.context, NAMES + 1, texts, NULL, &code);
    must(code, "clCreateProgramWithSource");
    sbn__summation_macros(summation, sizeof summation);
    sbn__kernel_macros(SBN_FORM_CPU, sizes, sizeof sizes);
    snprintf(options, sizeof options, "-cl-std=CL1.2 -D STORES_F16=0 -D STORES_BF16=0 %s%s",
             summation, sizes);
    must(clBuildProgram(program, 1, &device.device, options, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "last_tile", &code);
    must(code, "clCreateKernel");
    cl_mem out = clCreateBuffer(device.context, CL_MEM_READ_WRITE, sizeof found, NULL, &code);
    must(code, "clCreateBuffer");
    must(clSetKernelArg(kernel, 0, sizeof channels, &channels), "clSetKernelArg");
    must(clSetKernelArg(kernel, 1, sizeof plane, &plane), "clSetKernelArg");
    must(clSetKernelArg(kernel, 2, sizeof out, &out), "clSetKernelArg");
    const size_t global = tiles, local = 1;
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "launch");
    must(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL), "read");
    tap_ok(memcmp(found, expected, sizeof found) == 0,
           "tile %llu of a row of %llu elements: at %llu, %llu elements, channel %llu",
           (unsigned long long)tiles, (unsigned long long)found[0], (unsigned long long)found[1],
           (unsigned long long)found[2], (unsigned long long)found[3]);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
}

static void checks(void)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *group;
    config.queues = &queue;
    config.replicas = 1;
    config.form = SBN_FORM_CPU;
    must(sbn_group_create(&config, &group), "sbn_group_create");
    replica = &group->replicas[0];
    for (int back = 0; back < 2; ++back) {
        check_rows(back);
        check_tables(back);
    }
    check_tile();
    must(sbn_group_destroy(group), "sbn_group_destroy");
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
