/* Step 3, of both passes and forms: tables of coefficients, and what is stored. */

/*
 * A zero is stored as +0: what sign it has depends on how a compiler spells a
 * negation (Mesa's gives others than IEEE's). Adding +0 does it where the compiler
 * is known not to leave that out, with one instruction less.
 */
static real plus_zero(real v)
{
#if NATIVE
    return v + 0.0f;
#else
    return select(v, (real)0.0f, MASK(v == 0.0f));
#endif
}

static ulong quotient_long(ulong a, ulong b)
{
    return a / b;
}
