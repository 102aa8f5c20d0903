/* CPU form, step 1 of the forward pass: the elements that are summed. */
typedef struct pass_tensors {
    global const stored *summed, *summed_end; /* x */
    ulong summed_gap;
    ulong row; /* elements of a row if it has gaps, else 0 */
} pass_tensors;

/* A kernel's arguments for its tensors, and pass_tensors of them: `rows` rows of `row` elements. */
#define TENSOR_PARAMETERS PARAMETERS(FORWARD_REDUCE_ARGUMENTS)
#define PASS_TENSORS(row, rows) \
    {x + x_offset, tensor_end(x + x_offset, x_gap, row, rows), x_gap, x_gap != 0 ? (row) : 0}

/* Moves pointers past the gaps behind `rows` rows: places count the elements of rows alone. */
static void pass_skip(private pass_tensors *tensors, ulong rows)
{
    tensors->summed += rows * tensors->summed_gap;
}

/* `rows` rows further, in an inner loop: the place takes the gaps along. */
static void pass_advance(private pass_tensors *tensors, private ulong *at, ulong rows, uint stride)
{
    *at += rows * (stride + tensors->summed_gap);
}

/* Whether WIDTH elements of each of `rows` rows lie within the tensors. */
static bool pass_inside(private const pass_tensors *tensors, ulong at, uint rows, uint stride)
{
    return tensors->summed + at + (rows - 1) * (stride + tensors->summed_gap) + WIDTH <=
           tensors->summed_end;
}

/* What a channel's elements are summed with, besides pivots, or WIDTH channels' each: in the backward pass. */
typedef real pass_line;
#define pass_mean(line) (line)

/* That of a channel, and those of WIDTH channels from c on. The forward pass reads no means. */
static void pass_line_of(private const pass_tensors *tensors, uint c, private pass_line *line)
{
    *line = 0.0f;
}

static void pass_lines_of(private const pass_tensors *tensors, uint c, uint channels,
                          private pass_line *line)
{
    *line = 0.0f;
}

/* WIDTH elements that are summed; a block's, from i of n on, and `fill`; a row's. */
static real pass_summed(private const pass_tensors *tensors, ulong place, pass_line line)
{
    return load_elements(tensors->summed + place);
}

static real pass_summed_edge(private const pass_tensors *tensors, ulong place, uint i, uint n,
                             float fill, pass_line line)
{
    return load_edge(tensors->summed + place, i, n, tensors->summed_end, fill);
}

static real pass_summed_row(private const pass_tensors *tensors, ulong place, pass_line line)
{
    return load_row(tensors->summed + place, tensors->summed_end);
}
