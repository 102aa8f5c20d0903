/*
 * CPU form, step 1, channels last: sums x, or x and dy, into accumulators. The kernels are in reduce.cl; batches.cl
 * lists what the pass's files give.
 *
 * Work-group (strip of `strip` <= NHWC_STRIP channels; slice of `per_slice` blocks). Wide strips are faster: they
 * read enough of a row for the hardware to prefetch the next line. Accumulators are written as in reduce_nchw.cl.
 *
 * A block is read in tiles of PASS_TILE_STEPS rows per lane, so that a tile and the lanes' sums stay in the core's L2
 * cache whatever the stride of the rows. A tile is summed vector by vector and lane by lane, while the lines of the
 * next tile are prefetched in the order of memory.
 */
#define TILE_ROWS (LANES * PASS_TILE_STEPS)
#if VECTORS > 32
#error "a mask has a bit for each vector of a strip"
#endif

/*
 * Adds n < TILE_ROWS + LANES rows from `place` on to the lanes' sums of WIDTH channels; `sums` has
 * what is not kept per lane. `inside`: all rows can be read as whole vectors. `first` is the tile's
 * first row in its block, as the rows of the lines `ahead` are the block's.
 */
static void sum_tile(private const pass_tensors *tensors, ulong place, uint n, uint stride,
                     real pivot, pass_line line, uint inside, uint first,
                     private real *lanes, private pass_sums *sums,
                     private tile_lines *ahead)
{
    const uint size = VECTORS * LANES;
    for (uint l = 0; l < LANES; ++l) {
        if (first > 0)
            pass_take_lanes(lanes, size, l, sums);
        else
            pass_clear_lanes(sums);
        const ulong rows_ahead = ahead->rows;
        ulong next = next_lines(ahead, PASS_TILE_STEPS), at = place + (ulong)l * stride;
        pass_tensors own = *tensors;
        pass_skip(&own, l);
        /* Here, so that dense tensors have no pointers more in the loop, which then asks again. */
        if (own.row != 0) {
            pass_tensors of_next = own;
            pass_skip(&of_next, rows_ahead - (first + l));
            for (uint k = 0; k < PASS_TILE_STEPS; ++k)
                pass_prefetch(&of_next, next + k * WIDTH);
            next = at;
        }
        uint i = l;
        if (n >= TILE_ROWS && inside)
#pragma unroll
            for (uint k = 0; k < PASS_TILE_STEPS; ++k, i += LANES) {
                pass_prefetch(&own, next + k * WIDTH);
                pass_add(sums, &own, at, pivot, line);
                pass_advance(&own, &at, LANES, stride);
            }
        for (; i < n; i += LANES) {
            pass_prefetch(&own, next + (i >> LOG2_LANES) * WIDTH);
            pass_add_row(sums, &own, at, pivot, line);
            pass_advance(&own, &at, LANES, stride);
        }
        pass_keep_sums(lanes, size, l, sums);
    }
}

/*
 * Sums the vectors under `mask`, one bit each, of a block of n rows. Where a pivot was poor, it is
 * moved: gives a mask of these vectors. `again`: pivots are known, and good.
 */
static uint sum_vectors(private const pass_tensors *tensors, ulong place, uint n,
                        uint stride, uint width, float last_reciprocal,
                        private const pass_line *lines, private tile_lines *ahead,
                        uint mask, uint again, private real *lanes, private real *pivots,
                        private pass_sums *sums)
{
    uint poor = 0;
    for (uint r = 0, rows; r < n; r += rows) {
        rows = n - r < TILE_ROWS + LANES ? n - r : TILE_ROWS;
        tile_lines own = {place + (ulong)(r + rows) * stride, r + rows, 0, width, stride};
        private tile_lines *next = r + rows < n ? &own : ahead;
        pass_tensors of_tile = *tensors;
        pass_skip(&of_tile, r);
        for (uint v = 0; v * WIDTH < width; ++v) {
            if (!(mask >> v & 1))
                continue;
            const ulong at = place + (ulong)r * stride + v * WIDTH;
            const uint inside = pass_inside(&of_tile, at, rows, stride);
            if (r == 0) {
                if (!again)
                    pivots[v] = pivot_of_rows(&of_tile, at, n, stride, last_reciprocal, lines[v]);
                pass_clear(&sums[v]);
            }
            pass_sums own_sums = sums[v];
            sum_tile(&of_tile, at, rows, stride, pivots[v], lines[v], inside, r, lanes + v * LANES,
                     &own_sums, next);
            sums[v] = own_sums;
        }
    }
    for (uint v = 0; v * WIDTH < width; ++v) {
        if (!(mask >> v & 1))
            continue;
        pass_fold_lanes(lanes + v * LANES, VECTORS * LANES, &sums[v]);
        const ints moves = pass_is_poor(n, &sums[v]);
        if (!again && ANY(moves)) {
            const real mean = moved_pivot(pivots[v], pass_sum(&sums[v]),
                                          reciprocal(n, last_reciprocal));
            pivots[v] = select(pivots[v], mean, moves);
            poor |= 1u << v;
        }
    }
    return poor;
}

/* Sums a block of n rows and adds it to the accumulators of its `width` channels from c on. */
static void sum_block(private const pass_tensors *tensors, ulong place, uint n, uint stride,
                      uint c, uint width, float last_reciprocal, private const pass_line *lines,
                      private tile_lines *ahead, private wides *limbs, private ints *flags,
                      global long *wide, uint thin)
{
    real lanes[PASS_LANE_SUMS * VECTORS * LANES], pivots[VECTORS];
    pass_sums sums[VECTORS];
    uint mask = ~0u;
    for (uint again = 0; mask != 0; again = 1)
        mask = sum_vectors(tensors, place, n, stride, width, last_reciprocal, lines, ahead,
                           mask, again, lanes, pivots, sums);
    for (uint v = 0; v * WIDTH < width; ++v) {
        const uint first = c + v * WIDTH;
        const real faint = thin ? faints_of(tensors, first, 0, 1, stride) : (real)PASS_CLEAR;
        const real means = pass_mean(lines[v]);
        const ints out = pass_add_block(limbs + v * PASS_LIMBS, n, pivots[v], means, thin, faint,
                                        &sums[v]) &
                         existing(v, width);
        if (!ANY(out))
            continue;
        pivots[v] = mean_of_rows(tensors, place + v * WIDTH, n, stride,
                                 reciprocal(n, last_reciprocal), lines[v]);
        (void)sum_vectors(tensors, place, n, stride, width, last_reciprocal, lines, ahead, 1u << v,
                          1, lanes, pivots, sums);
        flags[v] |= add_blocks_wide(out, n, pivots[v], &sums[v], first, 0, 1, wide);
    }
}

/*
 * Sums the blocks from `begin` to before `stop` of `width` channels from c on, and writes their accumulators to `out`.
 */
static void sum_strip(private const pass_tensors *tensors, uint channels, uint plane,
                      uint blocks, uint c, uint width, uint begin, uint stop,
                      float last_reciprocal, global long *out, global long *wide, uint thin)
{
    pass_line lines[VECTORS];
    wides limbs[VECTORS * PASS_LIMBS];
    ints flags[VECTORS];
    for (uint v = 0; v * WIDTH < width; ++v) {
        zero_limbs(limbs + v * PASS_LIMBS, PASS_LIMBS);
        flags[v] = 0;
        pass_lines_of(tensors, c + v * WIDTH, channels, &lines[v]);
    }
    if (plane == 1)
        sum_rows_of_one(limbs, flags, tensors, lines, begin, stop, c, width, channels, wide, thin);
    for (uint number = begin, added = 0; plane > 1 && number < stop; ++number) {
        const uint sample = quotient(number, blocks), start = (number - sample * blocks) * BLOCK;
        const uint n = min((uint)BLOCK, plane - start);
        const ulong row = (ulong)sample * plane + start, place = row * channels + c;
        pass_tensors own = *tensors;
        pass_skip(&own, row);
        /* Behind the last block its own lines once more, which can be read. */
        tile_lines ahead = lines_of(min(number + 1, stop - 1), blocks, plane, c, width, channels);
        ahead.rows -= row;
        sum_block(&own, place, n, channels, c, width, last_reciprocal, lines, &ahead, limbs, flags,
                  wide, thin);
        if (++added == BATCHES_TO_CARRY) {
            for (uint v = 0; v * WIDTH < width; ++v)
                carry_sums(limbs + v * PASS_LIMBS);
            added = 0;
        }
    }
    for (uint v = 0; v * WIDTH < width; ++v)
        store_rows(limbs + v * PASS_LIMBS, flags[v], width - v * WIDTH,
                   out + v * WIDTH * PASS_LENGTH);
}

/* The body of a kernel. */
static void reduce_nhwc(private const pass_tensors *tensors, SLICE_PARAMETERS)
{
    const uint c = get_group_id(0) * strip, width = min(strip, channels - c);
    const uint slice = get_group_id(1), begin = slice * per_slice;
    const uint stop = min(samples * blocks, begin + per_slice);
    sum_strip(tensors, channels, plane, blocks, c, width, begin, stop, last_reciprocal,
              partial + ((ulong)slice * channels + c) * PASS_LENGTH, wide, thin);
}
