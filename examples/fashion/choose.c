#include "choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncbn.h>

#include "check.h"
#include "ranks.h"

static size_t find_on(cl_platform_id platform, int number, struct choice *all, size_t before)
{
    struct choice *found = all + before;
    const size_t room = MOST_DEVICES - before;
    cl_device_id ids[MOST_DEVICES];
    cl_uint count = 0;
    size_t taken = 0;

    /* A platform without devices says so with an error; it is no failure. */
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, ids, &count) != CL_SUCCESS)
        return 0;
    if (count > MOST_DEVICES)
        count = MOST_DEVICES;
    for (; taken < count && taken < room; ++taken) {
        struct choice *c = &found[taken];

        memset(c, 0, sizeof *c);
        c->id = ids[taken];
        c->platform = number;
        c->number = (int)(before + taken);
        must_cl(clGetDeviceInfo(c->id, CL_DEVICE_TYPE, sizeof c->type, &c->type, NULL),
                "asking a device for its type");
        if (clGetDeviceInfo(c->id, CL_DEVICE_NAME, sizeof c->name, c->name, NULL) != CL_SUCCESS)
            strcpy(c->name, "(a device with a long name)");
        if (clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof c->platform_name, c->platform_name,
                              NULL) != CL_SUCCESS)
            strcpy(c->platform_name, "(a platform with a long name)");
        if (sbn_device_check(c->id) != SBN_SUCCESS)
            snprintf(c->reason, sizeof c->reason, "%s", sbn_last_error());
    }
    return taken;
}

size_t devices_find(struct choice *found)
{
    enum { MOST_PLATFORMS = 32 };
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint count = 0;
    size_t total = 0;

    /* Without any driver the loader answers with an error: that is a count of 0. */
    if (clGetPlatformIDs(MOST_PLATFORMS, platforms, &count) != CL_SUCCESS)
        count = 0;
    for (cl_uint p = 0; p < count && p < MOST_PLATFORMS; ++p)
        total += find_on(platforms[p], (int)p, found, total);
    return total;
}

static int is_gpu(const struct choice *c)
{
    return (c->type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) != 0;
}

/* Mesa's software renderer runs on the same CPU as the others, only more slowly. */
static int is_slow(const struct choice *c)
{
    return strstr(c->name, "llvmpipe") != NULL;
}

static int is_cpu(const struct choice *c)
{
    return !is_gpu(c) && !is_slow(c);
}

static int is_gpu_type(const struct choice *c)
{
    return (c->type & CL_DEVICE_TYPE_GPU) != 0;
}

static int is_accelerator_type(const struct choice *c)
{
    return (c->type & CL_DEVICE_TYPE_ACCELERATOR) != 0;
}

static int is_cpu_type(const struct choice *c)
{
    return (c->type & CL_DEVICE_TYPE_CPU) != 0;
}

static int is_any(const struct choice *c)
{
    (void)c;
    return 1;
}

/* Moves the usable devices of a kind to the front. */
static size_t take(struct choice *found, size_t count, int (*kind)(const struct choice *))
{
    size_t taken = 0;

    for (size_t i = 0; i < count; ++i) {
        if (!found[i].reason[0] && kind(&found[i])) {
            struct choice one = found[i];

            memmove(&found[taken + 1], &found[taken], (i - taken) * sizeof *found);
            found[taken++] = one;
        }
    }
    return taken;
}

static size_t take_platform(struct choice *found, size_t count)
{
    size_t taken = 0;

    while (taken < count && found[taken].platform == found[0].platform)
        ++taken;
    return taken;
}

static size_t take_listed(struct choice *found, size_t count, const char *wanted)
{
    struct choice chosen[MOST_DEVICES];
    size_t taken = 0;

    for (const char *at = wanted;; ++at) {
        char *end;
        const unsigned long number = strtoul(at, &end, 10);
        size_t i = 0;

        if (*at < '0' || *at > '9' || (*end && *end != ','))
            refuse(
                "--devices takes auto, all, cpu, gpu, accelerator or numbers as in 0,1, not '%s'",
                wanted);
        while (i < count && (unsigned long)found[i].number != number)
            ++i;
        /* Another host may have more: what one rank finds wrong is no refusal by all. */
        if (i == count && ranks_in_all() > 1)
            fail("--devices names %lu; this host has only %zu, numbered from 0", number, count);
        if (i == count)
            refuse(
                "--devices names %lu, but there are only %zu, numbered from 0; --list shows them",
                number, count);
        if (found[i].reason[0])
            fail("--devices names %lu, which cannot be used: %s", number, found[i].reason);
        for (size_t k = 0; k < taken; ++k)
            if (chosen[k].id == found[i].id)
                refuse("--devices names %lu twice", number);
        chosen[taken++] = found[i];
        at = end;
        if (!*at)
            break;
    }
    memcpy(found, chosen, taken * sizeof *found);
    return taken;
}

size_t devices_choose(struct choice *found, size_t count, const char *wanted, const char **why)
{
    static const struct {
        const char *name;
        int (*kind)(const struct choice *);
    } kinds[] = {{"all", is_any},
                 {"cpu", is_cpu_type},
                 {"gpu", is_gpu_type},
                 {"accelerator", is_accelerator_type}};
    size_t taken;

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
        if (!strcmp(wanted, kinds[k].name)) {
            *why = "all usable ones, as asked";
            taken = take(found, count, kinds[k].kind);
            if (!taken)
                fail("no usable OpenCL device for --devices %s; --list shows what is there",
                     wanted);
            return taken;
        }
    }
    if (strcmp(wanted, "auto") != 0) {
        *why = "as asked";
        return take_listed(found, count, wanted);
    } else if ((taken = take(found, count, is_gpu)) > 0) {
        *why = "all usable GPUs";
    } else if ((taken = take(found, count, is_cpu)) > 0) {
        /* A second platform's CPU devices would be the same cores again. */
        taken = take_platform(found, taken);
        *why = "no GPU found: using the CPU";
    } else {
        *why = "nothing else found";
        taken = take(found, count, is_any);
    }
    if (!taken)
        fail("no usable OpenCL device: syncbn devices says what to install; --list shows what is "
             "there");
    return taken;
}
