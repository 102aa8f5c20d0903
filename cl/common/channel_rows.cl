/* Loads and stores ABREAST channels (channels.cl) of a row that has one number per channel. */
#if COMBINES

/* The values of ABREAST channels of a row, of which only `count` exist. */
static doubles load_doubles(global const double *row, uint count)
{
#if ABREAST > 1
    if (count >= ABREAST)
        return vload16(0, row);
    double each[ABREAST];
    for (uint j = 0; j < ABREAST; ++j)
        each[j] = j < count ? row[j] : 1.0;
    return vload16(0, each);
#else
    return *row;
#endif
}

static void store_doubles(doubles v, global double *row, uint count)
{
#if ABREAST > 1
    if (count >= ABREAST) {
        vstore16(v, 0, row);
        return;
    }
    double each[ABREAST];
    vstore16(v, 0, each);
    for (uint j = 0; j < count; ++j)
        row[j] = each[j];
#else
    *row = v;
#endif
}

static void store_floats(floats v, global float *row, uint count)
{
#if ABREAST > 1
    if (count >= ABREAST) {
        vstore16(v, 0, row);
        return;
    }
    float each[ABREAST];
    vstore16(v, 0, each);
    for (uint j = 0; j < count; ++j)
        row[j] = each[j];
#else
    *row = v;
#endif
}
#endif
