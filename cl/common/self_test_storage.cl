/*
 * Loads and stores of halves or bfloat16s (storage.cl), tried once on a device before other kernels
 * rely on them, as self_test.cl tries the arithmetic. One work-item: CASES elements widened, and as
 * many floats rounded, in vectors; then the same one by one, behind them.
 */
#if STORES_F16 || STORES_BF16
kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void self_test_storage(global const stored *restrict elements, global const float *restrict values,
                       global float *restrict widened_elements,
                       global stored *restrict rounded_values)
{
#if CPU_FORM
    for (uint i = 0; i < CASES; i += WIDTH) {
        store_vector(load_elements(elements + i), widened_elements + i);
        store_elements(LOAD(values + i), rounded_values + i);
    }
#else
    for (uint i = 0; i < CASES; i += 4) {
        vstore4(load_four(elements, i), 0, widened_elements + i);
        store_four(vload4(0, values + i), rounded_values, i);
    }
#endif
    for (uint i = 0; i < CASES; ++i) {
        widened_elements[CASES + i] = load_element(elements, i);
        store_element(values[i], rounded_values, CASES + i);
    }
}
#endif
