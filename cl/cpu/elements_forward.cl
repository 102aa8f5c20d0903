/* CPU form, step 1 of the forward pass: the elements that are summed. */
typedef struct forward_tensors {
    global const stored *summed, *summed_end; /* x */
    ulong summed_gap;
    ulong row; /* elements of a row if it has gaps, else 0 */
} forward_tensors;

/* Moves pointers past the gaps behind `rows` rows: places count the elements of rows alone. */
static void forward_skip(private forward_tensors *tensors, ulong rows)
{
    tensors->summed += rows * tensors->summed_gap;
}

/* `rows` rows further, in an inner loop: the place takes the gaps along. */
static void forward_advance(private forward_tensors *tensors, private ulong *at, ulong rows,
                            uint stride)
{
    *at += rows * (stride + tensors->summed_gap);
}

/*
 * What a channel's elements are summed with, besides pivots, or WIDTH channels' each: in the
 * backward pass.
 */
typedef real forward_line;

/* That of a channel, and those of WIDTH channels from c on. The forward pass reads no means. */
static void forward_line_of(private const forward_tensors *tensors, uint c,
                            private forward_line *line)
{
    *line = 0.0f;
}

static void forward_lines_of(private const forward_tensors *tensors, uint c, uint channels,
                             private forward_line *line)
{
    *line = 0.0f;
}

/* That of channel j of WIDTH, in all components. */
static void forward_line_at(private forward_line *line, uint j)
{
}

static real forward_mean(forward_line line)
{
    return line;
}

/* WIDTH elements that are summed; a block's, from i of n on, and `fill`; a row's; and one. */
static real forward_summed(private const forward_tensors *tensors, ulong place, forward_line line)
{
    return load_elements(tensors->summed + place);
}

static real forward_summed_edge(private const forward_tensors *tensors, ulong place, uint i, uint n,
                                float fill, forward_line line)
{
    return load_edge(tensors->summed + place, i, n, tensors->summed_end, fill);
}

static real forward_summed_row(private const forward_tensors *tensors, ulong place,
                               forward_line line)
{
    return load_row(tensors->summed + place, tensors->summed_end);
}

static float forward_summed_one(private const forward_tensors *tensors, ulong place,
                                forward_line line)
{
    return load_element(tensors->summed, place);
}
