#include "program/identity.h"

#include <string.h>

int sbn__identity_of(cl_device_id device, sbn_identity *identity)
{
    const cl_device_info of_device[] = {CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION,
                                        CL_DRIVER_VERSION};
    const cl_platform_info of_platform[] = {CL_PLATFORM_NAME, CL_PLATFORM_VENDOR,
                                            CL_PLATFORM_VERSION};
    cl_platform_id platform;
    memset(identity, 0, sizeof *identity);
    cl_int code = clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    for (int i = 0; i < 4 && code == CL_SUCCESS; ++i)
        code = clGetDeviceInfo(device, of_device[i], SBN_IDENTITY_SIZE, identity->names[i], NULL);
    for (int i = 0; i < 3 && code == CL_SUCCESS; ++i)
        code = clGetPlatformInfo(platform, of_platform[i], SBN_IDENTITY_SIZE,
                                 identity->names[SBN_IDENTITY_PLATFORM + i], NULL);
    return code == CL_SUCCESS;
}

void sbn__device_name(cl_device_id device, char name[SBN_DEVICE_NAME])
{
    strcpy(name, "?");
    clGetDeviceInfo(device, CL_DEVICE_NAME, SBN_DEVICE_NAME, name, NULL);
}
