/* Step 3, both passes, both forms: how a result is stored. */

/*
 * A zero is stored as +0: its sign depends on how the compiler implements negation, and Mesa's differs from IEEE 754.
 * Adding +0 does it, with one instruction less, where the compiler is known not to leave that out.
 */
static real plus_zero(real v)
{
#if NATIVE
    return v + 0.0f;
#else
    return select(v, (real)0.0f, MASK(v == 0.0f));
#endif
}

#if !CPU_FORM
static float4 four_plus_zero(float4 v)
{
    return (float4)(plus_zero(v.x), plus_zero(v.y), plus_zero(v.z), plus_zero(v.w));
}
#endif
