/* Advice on drivers. The same packages are in INSTALL.md. */
#include "syncbn/driver_advice.h"

#include <string.h>

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
