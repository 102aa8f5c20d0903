#include "group/group.h"
#include "pass/types.h"

void setup_open(setup *on, const device_info *info)
{
    cl_int code;
    cl_device_id device = info->id;
    cl_device_fp_config floats;
    *on = (setup){.device = info->name, .has_cpu_form = info->form == SBN_FORM_CPU};
    must(clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, NULL),
         "clGetDeviceInfo");
    on->flushes = !(floats & CL_FP_DENORM);
    on->context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    on->queue = clCreateCommandQueue(on->context, device, 0, &code);
    must(code, "clCreateCommandQueue");
}

void setup_close(setup *on)
{
    clReleaseCommandQueue(on->queue);
    clReleaseContext(on->context);
}

void setup_open_group(setup *on, size_t replicas)
{
    on->group = fixture_group(on->queue, replicas, on->form);
    on->group->combines = on->group->combines && !on->on_host;
}

void setup_each(const device_info *info, void (*check)(setup *on, size_t replicas))
{
    setup on;
    setup_open(&on, info);
    if (on.has_cpu_form) {
        on.form = SBN_FORM_CPU;
        check(&on, 1);
        check(&on, TYPES_REPLICAS);
        on.on_host = 1;
        check(&on, 1);
        check(&on, TYPES_REPLICAS);
        on.on_host = 0;
    }
    on.form = SBN_FORM_GPU;
    check(&on, 1);
    setup_close(&on);
}
