/*
 * Loads and stores ABREAST channels (channels.cl) of a row that has one number per channel; by way of an array where
 * only `count` of them exist.
 */
#if COMBINES

#if ABREAST > 1
#define LOAD_SOME(type, row, count) \
    if (count >= ABREAST) \
        return LOAD_CHANNELS(row); \
    type each[ABREAST]; \
    for (uint j = 0; j < ABREAST; ++j) \
        each[j] = j < count ? row[j] : 1; \
    return LOAD_CHANNELS(each);
#define STORE_SOME(type, v, row, count) \
    if (count >= ABREAST) { \
        STORE_CHANNELS(v, row); \
        return; \
    } \
    type each[ABREAST]; \
    STORE_CHANNELS(v, each); \
    for (uint j = 0; j < count; ++j) \
        row[j] = each[j];
#else
#define LOAD_SOME(type, row, count) return *row;
#define STORE_SOME(type, v, row, count) *row = v;
#endif

static doubles load_doubles(global const number *row, uint count)
{
    LOAD_SOME(number, row, count)
}

static floats load_floats(global const float *row, uint count)
{
    LOAD_SOME(float, row, count)
}

static void store_doubles(doubles v, global number *row, uint count)
{
    STORE_SOME(number, v, row, count)
}

static void store_floats(floats v, global float *row, uint count)
{
    STORE_SOME(float, v, row, count)
}
#endif
