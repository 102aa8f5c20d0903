/* syncbn devices */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "syncbn/options.h"

static const char help[] =
    "usage: syncbn devices [--json FILE]\n"
    "\n"
    "Every OpenCL platform and device: the number that syncbn check --devices takes,\n"
    "what the device is, and whether syncbn can use it. \"form\" is the form of the\n"
    "kernels that is chosen for it. A driver that does not load is named, with the\n"
    "loader's words. Where no device can be used it says what to install, and the exit\n"
    "status is 1.\n"
    "\n"
    "  --json FILE  also writes the list to FILE, or, if it is -, to standard output and\n"
    "               nothing else there\n"
    "\n"
    "Examples:\n"
    "  syncbn devices                a list for people\n"
    "  syncbn devices --json - | jq  one for programs\n";

/* --- drivers that do not load, and what to install --------------------------------------------- */

#define VENDORS "/etc/OpenCL/vendors"

/* Says why a library does not load that `named` names; 1 if it does not. */
static int library_fault(const char *library, const char *named)
{
    void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!loaded) {
        printf("%s names a driver that does not load: ", named);
        safe_print(stdout, dlerror());
        putchar('\n');
        return 1;
    }
    dlclose(loaded);
    return 0;
}

/* Of a file whose first line names a driver, with its blanks. */
static int file_fault(const char *path)
{
    char line[1024] = "";
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) {
        printf("%s names no driver: %s\n", path,
               file && !ferror(file) ? "it is empty" : strerror(errno));
        if (file)
            fclose(file);
        return 1;
    }
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return library_fault(line, path);
}

static int ends_with_icd(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

static int folder_faults(const char *folder)
{
    int faults = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[1024];
        if (ends_with_icd(entry->d_name) &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            faults += file_fault(path);
    }
    if (dir)
        closedir(dir);
    return faults;
}

/*
 * Prints a line for each driver that the loader is told of and that does not load; how many. As ocl-icd reads
 * OCL_ICD_VENDORS: a folder, a file that names a driver, here or in the usual folder, or the driver itself.
 */
static int driver_faults(void)
{
    const char *vendors = getenv("OCL_ICD_VENDORS"), *usual = getenv("OPENCL_VENDOR_PATH");
    char path[1024];
    struct stat is;
    usual = usual && *usual ? usual : VENDORS;
    if (!vendors || !*vendors)
        return folder_faults(usual);
    if (!strchr(vendors, '/') && ends_with_icd(vendors) &&
        snprintf(path, sizeof path, "%s/%s", usual, vendors) < (int)sizeof path &&
        stat(path, &is) == 0)
        vendors = path;
    const int found = stat(vendors, &is) == 0;
    if (found && S_ISDIR(is.st_mode))
        return folder_faults(vendors);
    if (!found && strchr(vendors, '/')) {
        printf("OCL_ICD_VENDORS is %s: %s\n", vendors, strerror(errno));
        return 1;
    }
    return ends_with_icd(vendors) ? file_fault(vendors) : library_fault(vendors, "OCL_ICD_VENDORS");
}

/* Why a platform may show no devices: one line without its end, or "" where nothing is known. */
static const char *platform_advice(const platform_info *platform)
{
    if (strstr(platform->name, "rusticl"))
        return "Mesa's rusticl shows a device only if RUSTICL_ENABLE names its driver";
    if (strstr(platform->name, "Portable Computing Language"))
        return "PoCL needs a home directory that it can write to, or POCL_CACHE_DIR";
    return "";
}

/* Printed below a list without usable devices. */
static const char driver_advice[] =
    "\n"
    "There is no OpenCL device that syncbn can use. A device needs a driver:\n"
    "\n"
    "  Debian, Ubuntu  apt install pocl-opencl-icd   the CPU\n"
    "                  apt install intel-opencl-icd  Intel GPUs\n"
    "                  apt install mesa-opencl-icd   AMD, Intel and other GPUs, by rusticl\n"
    "                  apt install nvidia-opencl-icd NVIDIA GPUs (non-free; Ubuntu: with the "
    "driver)\n"
    "  Fedora          dnf install pocl              the CPU\n"
    "                  dnf install intel-opencl      Intel GPUs\n"
    "                  dnf install mesa-libOpenCL    AMD, Intel and other GPUs, by rusticl\n"
    "  Arch            pacman -S pocl                the CPU\n"
    "                  pacman -S intel-compute-runtime, opencl-mesa, opencl-nvidia   GPUs\n"
    "  openSUSE        zypper install pocl           the CPU\n"
    "  macOS           brew install pocl             the CPU\n"
    "\n"
    "The loader looks for drivers in /etc/OpenCL/vendors, or where OCL_ICD_VENDORS says.\n"
    "\n"
    "rusticl: Mesa shows no device by itself, as its drivers do not all pass the tests of OpenCL.\n"
    "  RUSTICL_ENABLE names the drivers to show: RUSTICL_ENABLE=radeonsi (AMD), iris (Intel),\n"
    "  nouveau (NVIDIA) or llvmpipe (the CPU); several with commas.\n"
    "PoCL: it keeps compiled kernels in ~/.cache/pocl, and shows no device where it cannot write\n"
    "  there. POCL_CACHE_DIR names another folder.\n";

/* --- the list ---------------------------------------------------------------------------------- */

static void print_device(const device_list *list, size_t i)
{
    const device_info *d = &list->device[i];
    printf("  %zu  %s\n", i, d->name);
    printf("     %s, %s, driver %s\n", d->vendor, d->version, d->driver);
    printf("     %s, %u compute units, %.1f GiB, form %s\n", d->type, (unsigned)d->compute_units,
           (double)d->memory / (1024.0 * 1024 * 1024), form_names[d->form]);
    printf("     %s%s\n", d->usable ? "usable" : "not usable: ", d->reason);
}

static int any_usable(const device_list *list)
{
    for (size_t i = 0; i < list->devices; ++i)
        if (list->device[i].usable)
            return 1;
    return 0;
}

static void print_list(const device_list *list)
{
    for (size_t p = 0; p < list->platforms; ++p) {
        const platform_info *platform = &list->platform[p];
        printf("%s (%s, %s)\n", platform->name, platform->vendor, platform->version);
        if (platform->devices == 0) {
            const char *advice = platform_advice(platform);
            printf("     no devices%s%s\n", *advice ? ": " : "", advice);
        }
        for (size_t i = 0; i < list->devices; ++i)
            if (list->device[i].platform == p)
                print_device(list, i);
    }
}

static json_t *device_json(const device_info *d, size_t index)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:i, s:I, s:s, s:b, s:o*}", "index",
                     (json_int_t)index, "name", json_text(d->name), "vendor", json_text(d->vendor),
                     "driver", json_text(d->driver), "version", json_text(d->version), "type",
                     d->type, "compute_units", (int)d->compute_units, "memory",
                     (json_int_t)d->memory, "form", form_names[d->form], "usable", d->usable,
                     "reason", d->usable ? NULL : json_text(d->reason));
}

static json_t *list_json(const device_list *list)
{
    json_t *platforms = json_array();
    for (size_t p = 0; p < list->platforms; ++p) {
        const platform_info *platform = &list->platform[p];
        json_t *devices = json_array();
        for (size_t i = 0; i < list->devices; ++i)
            if (list->device[i].platform == p)
                json_array_append_new(devices, device_json(&list->device[i], i));
        json_array_append_new(platforms,
                              json_pack("{s:o, s:o, s:o, s:o}", "name", json_text(platform->name),
                                        "vendor", json_text(platform->vendor), "version",
                                        json_text(platform->version), "devices", devices));
    }
    return json_pack("{s:o}", "platforms", platforms);
}

static int run(const device_list *list, const command_options *o, json_output *json)
{
    (void)o;
    const int failed = !any_usable(list);
    if (!json_output_is_stdout(json)) {
        print_list(list);
        const int faults = driver_faults();
        if (list->platforms == 0 && faults == 0)
            puts("no OpenCL platform is installed");
        /* Where drivers are installed and none loads, others are no help. */
        if (failed && (list->platforms > 0 || faults == 0))
            fputs(driver_advice, stdout);
    }
    return json_output_write(json, list_json(list)) | failed;
}

static int settle(command_options *o)
{
    return *o->operands ? usage_error("devices takes no argument \"%s\"; see syncbn devices --help",
                                      *o->operands)
                        : 0;
}

const command devices_command = {.name = "devices",
                                 .takes = "",
                                 .help = help,
                                 .settle = settle,
                                 .run = run};
