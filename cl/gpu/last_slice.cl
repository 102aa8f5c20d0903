/*
 * GPU form: which of the work-groups that have the slices of a strip is the last to come here. It sees what the
 * others wrote, by a fence of the device's scope, which OpenCL 1.2 lacks: DEVICE_FENCE is defined where the compiler
 * has one. A device that fails the self-test of it does without (WITHOUT_FENCE, src/program/build.c), and so do CDNA
 * 3, whose fence writes back a whole cache, and NVIDIA's GPUs before Volta, to which PTX's memory model does not
 * apply: membar.gl leaves what a unit has in its own cache, a line of which may hold words of two strips.
 */
#if WITHOUT_FENCE || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
#elif defined(NO_FENCE) /* a test */
#elif defined(__NV_CL_C_VERSION) || defined(__NVPTX__)
#define DEVICE_FENCE() __asm__ volatile("membar.gl;" : : : "memory")
#elif defined(__AMDGCN__)
#define DEVICE_FENCE() __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent")
#elif defined(__x86_64__) || defined(__aarch64__)
#define DEVICE_FENCE() __atomic_thread_fence(__ATOMIC_ACQ_REL)
#endif

#ifdef DEVICE_FENCE
/*
 * `arrived` is 0 before the first work-group comes, and behind the last. The whole work-group must call
 * this, with a place in local memory as `flag`.
 */
static bool is_last_slice(volatile global uint *arrived, uint slices, local int *flag)
{
#ifdef __AMDGCN__
    /* Where a work-group shares one cache, a barrier waits for no stores, a fence only for its own wave's. */
    if (slices > 1)
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
#endif
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        bool is_last = slices == 1;
        if (!is_last) {
            DEVICE_FENCE();
            is_last = atomic_inc(arrived) + 1 == slices;
            DEVICE_FENCE();
            if (is_last)
                *arrived = 0;
        }
        *flag = is_last;
    }
    barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
    return *flag;
}
#endif
