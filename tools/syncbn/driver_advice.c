/* Advice on drivers. The same packages are in INSTALL.md. */
#include "syncbn/driver_advice.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define VENDORS "/etc/OpenCL/vendors"

/* Says why a library does not load that `named` names; 1 if it does not. */
static int library_fault(const char *library, const char *named)
{
    void *loaded = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!loaded) {
        printf("%s names a driver that does not load: %s\n", named, dlerror());
        return 1;
    }
    dlclose(loaded);
    return 0;
}

/* Of a file whose first line names a driver. */
static int file_fault(const char *path)
{
    char line[1024] = "";
    FILE *file = fopen(path, "r");
    if (!file || !fgets(line, sizeof line, file)) {
        printf("%s names no driver: %s\n", path, file ? "it is empty" : strerror(errno));
        if (file)
            fclose(file);
        return 1;
    }
    fclose(file);
    line[strcspn(line, " \t\r\n")] = '\0';
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

/* As loaders read it: a folder, a file that names a driver, or the driver itself. */
int driver_faults(void)
{
    const char *vendors = getenv("OCL_ICD_VENDORS");
    struct stat is;
    if (!vendors)
        return folder_faults(VENDORS);
    const int found = stat(vendors, &is) == 0;
    if (found && S_ISDIR(is.st_mode))
        return folder_faults(vendors);
    if (!found && strchr(vendors, '/')) {
        printf("OCL_ICD_VENDORS is %s: %s\n", vendors, strerror(errno));
        return 1;
    }
    return ends_with_icd(vendors) ? file_fault(vendors) : library_fault(vendors, "OCL_ICD_VENDORS");
}

const char *platform_advice(const platform_info *platform)
{
    if (strstr(platform->name, "rusticl"))
        return "Mesa's rusticl shows a device only if RUSTICL_ENABLE names its driver";
    if (strstr(platform->name, "Portable Computing Language"))
        return "PoCL needs a home directory that it can write to, or POCL_CACHE_DIR";
    return "";
}

const char driver_advice[] =
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
