/*
 * CPU form, step 1, channels last: what reduce_rows_of_one.cl and reduce_nhwc.cl need. Neighbouring elements of a
 * block are a row apart, so that a vector holds neighbouring channels: component j of a result belongs to channel j. A
 * work-item has a strip of up to NHWC_STRIP channels, in vectors of WIDTH.
 */
#define VECTORS (NHWC_STRIP >> LOG2_LANES) /* LANES is WIDTH */

/* Folds the lanes of WIDTH channels to two halves. */
static void fold_to_halves(private const real *s, private real *halves)
{
    real a[4];
#pragma unroll
    for (uint l = 0; l < 4; ++l)
        a[l] = (s[l] + s[l + 8]) + (s[l + 4] + s[l + 12]);
    halves[0] = a[0] + a[2];
    halves[1] = a[1] + a[3];
}

/* Folds the lanes of WIDTH channels. */
static real fold_column(private const real *s)
{
    real halves[2];
    fold_to_halves(s, halves);
    return halves[0] + halves[1];
}

/* The cache lines of a tile, `width` elements of each row, in the order of memory. */
typedef struct tile_lines {
    ulong row;  /* where the row begins, without gaps */
    ulong rows; /* before it, each with a gap: from the tensor's or a block's first on */
    uint column, width, stride;
} tile_lines;

/* Where the next `count` lines begin; some of them may be past the row's end. */
static ulong next_lines(private tile_lines *lines, uint count)
{
    const ulong place = lines->row + lines->column;
    lines->column += count * WIDTH;
    if (lines->column >= lines->width) {
        lines->column = 0;
        lines->row += lines->stride;
        ++lines->rows;
    }
    return place;
}

/* The lines of block `number` of the strip at channel c. */
static tile_lines lines_of(uint number, uint blocks, uint plane, uint c, uint width, uint stride)
{
    const uint sample = quotient(number, blocks), start = (number - sample * blocks) * BLOCK;
    const ulong row = (ulong)sample * plane + start;
    return (tile_lines){row * stride + c, row, 0, width, stride};
}

/* Which of the WIDTH channels of vector v exist. */
static ints existing(uint v, uint width)
{
    return EACH < (uints)(width - v * WIDTH);
}

/* Writes the accumulators of WIDTH channels, of which `count` exist. */
static void store_rows(private wides *limbs, ints flags, uint count, global long *out)
{
    carry_sums(limbs);
    for (int k = 0; k < PASS_LENGTH; ++k) {
        long each[WIDTH];
        vstore16(k < PASS_LIMBS ? limbs[k] : convert_long16(flags), 0, each);
        for (uint j = 0; j < WIDTH && j < count; ++j)
            out[j * PASS_LENGTH + k] = each[j];
    }
}
