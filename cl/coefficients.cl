/* Step 3, both passes, both forms: how a result is stored. */

/*
 * A zero is stored as +0: its sign depends on how the compiler implements negation, and Mesa's
 * differs from IEEE 754.
 */
static real plus_zero(real v)
{
    return select(v, (real)0.0f, MASK(v == 0.0f));
}

static ulong quotient_long(ulong a, ulong b)
{
    return a / b;
}

static void put(real v, global float *p)
{
#if CPU_FORM
    store_vector(v, p);
#else
    *p = v;
#endif
}
