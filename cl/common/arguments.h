/*
 * What kernels take, each list once: kernels make their parameters of it (PARAMETERS), C makes a struct with a member
 * for each argument, and the arguments that it sets (src/launch/arguments.h). A list consists of BUFFER(type, name)
 * and VALUE(type, name), with AND() in between. All offsets are in elements of the buffer before them.
 */

/* A pass's mask: cl/common/fusion.cl. */
#define MASK_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global mask_word *restrict, mask) AND() VALUE(ulong, mask_row) \
    AND() VALUE(ulong, mask_reciprocal) AND() VALUE(uint, mask_padding)

/* --- step 1 ----------------------------------------------------------------------------- */
#define FORWARD_REDUCE_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const stored *restrict, x) AND() VALUE(ulong, x_offset) AND() VALUE(uint, x_gap)

#define BACKWARD_REDUCE_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const stored *restrict, x) AND() VALUE(ulong, x_offset) AND() VALUE(uint, x_gap) \
    AND() BUFFER(global const stored *restrict, dy) AND() VALUE(ulong, dy_offset) \
    AND() VALUE(uint, dy_gap) AND() BUFFER(global const float *restrict, coefficients)

/* With an activation. */
#define ACTIVATION_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const float *restrict, weights) AND() VALUE(ulong, weight_offset) \
    AND() BUFFER(global const float *restrict, biases) AND() VALUE(ulong, bias_offset) \
    AND() VALUE(uint, affine) AND() VALUE(float, slope) AND() MASK_ARGUMENTS(BUFFER, VALUE, AND)

/*
 * The slices of a tensor's blocks, and where accumulators go, narrow and wide, not restrict: others write them, too.
 * Before a form's own. `thin`: eps does not hide what the narrow format cuts.
 */
#define SLICE_ARGUMENTS(BUFFER, VALUE, AND) \
    VALUE(uint, channels) AND() VALUE(uint, plane) AND() VALUE(uint, blocks) \
    AND() VALUE(uint, per_slice) AND() VALUE(float, last_reciprocal) \
    AND() BUFFER(global long *, partial) AND() BUFFER(global long *, wide) \
    AND() VALUE(uint, thin)

#define CPU_SLICE_ARGUMENTS(BUFFER, VALUE, AND) VALUE(uint, samples) AND() VALUE(uint, strip)

#define GPU_SLICE_ARGUMENTS(BUFFER, VALUE, AND) VALUE(uint, units) AND() VALUE(uint, log2_strip)

#define ADD_SLICES_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global long *, partial) AND() VALUE(uint, slices) AND() VALUE(uint, per_channel) \
    AND() VALUE(ulong, total)

/* --- step 2, whose tables cl/common/combine.cl describes ---------------------------------- */
#define SOURCE_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const long *restrict, from0) AND() VALUE(uint, slices0) \
    AND() BUFFER(global const long *, wide0) AND() BUFFER(global const long *restrict, from1) \
    AND() VALUE(uint, slices1) AND() BUFFER(global const long *, wide1) \
    AND() BUFFER(global const long *restrict, from2) AND() VALUE(uint, slices2) \
    AND() BUFFER(global const long *, wide2) AND() BUFFER(global const long *restrict, from3) \
    AND() VALUE(uint, slices3) AND() BUFFER(global const long *, wide3)

#define OWN_WIDE_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global long *, own_wide) AND() VALUE(uint, owns) AND() VALUE(uint, channels)

#define COMBINE_ARGUMENTS(BUFFER, VALUE, AND) \
    VALUE(ulong, count) AND() VALUE(number, eps) AND() VALUE(uint, clamps)

#define FORWARD_COMBINE_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global float *restrict, coefficients) AND() BUFFER(global number *, moments)

#define TRACKING_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global float *restrict, means) AND() VALUE(ulong, means_offset) \
    AND() BUFFER(global float *restrict, vars) AND() VALUE(ulong, vars_offset) \
    AND() BUFFER(global long *, layers) AND() VALUE(uint, tracks) AND() VALUE(uint, counts) \
    AND() VALUE(number, weight) AND() VALUE(number, unbiased) AND() VALUE(long, batches)

#define BACKWARD_COMBINE_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const number *restrict, moments) AND() BUFFER(global float *restrict, gradients)

/* The replica's own accumulators, where its gradients of weight and bias are of these. */
#define OWN_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const long *restrict, own) AND() VALUE(uint, own_slices) \
    AND() VALUE(uint, is_own)

/* All of step 2, but where its sums come from. */
#define FORWARD_STEP_2_ARGUMENTS(BUFFER, VALUE, AND) \
    COMBINE_ARGUMENTS(BUFFER, VALUE, AND) AND() FORWARD_COMBINE_ARGUMENTS(BUFFER, VALUE, AND) \
    AND() TRACKING_ARGUMENTS(BUFFER, VALUE, AND)

#define BACKWARD_STEP_2_ARGUMENTS(BUFFER, VALUE, AND) \
    COMBINE_ARGUMENTS(BUFFER, VALUE, AND) AND() BACKWARD_COMBINE_ARGUMENTS(BUFFER, VALUE, AND) \
    AND() STORE_ARGUMENTS(BUFFER, VALUE, AND)

/* Behind a reduction on GPUs: nothing, 1: it adds its slices, 2: it combines its channels, too. */
#define TAIL_ARGUMENTS(BUFFER, VALUE, AND) VALUE(uint, tail)

/* --- step 3 ----------------------------------------------------------------------------- */
/* y may be x. */
#define FORWARD_TENSOR_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const stored *, x) AND() VALUE(ulong, x_offset) AND() VALUE(uint, x_gap) \
    AND() BUFFER(global stored *, y) AND() VALUE(ulong, y_offset) AND() VALUE(uint, y_gap) \
    AND() BUFFER(global const float *restrict, weights) AND() VALUE(ulong, weight_offset) \
    AND() BUFFER(global const float *restrict, biases) AND() VALUE(ulong, bias_offset) \
    AND() VALUE(uint, affine)

#define FORWARD_APPLY_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const float *restrict, coefficients) AND() VALUE(uint, scale_only)

/* With a fusion. */
#define FORWARD_FUSION_ARGUMENTS(BUFFER, VALUE, AND) \
    VALUE(float, slope) AND() BUFFER(global const stored *restrict, residual) \
    AND() VALUE(ulong, residual_offset) AND() MASK_ARGUMENTS(BUFFER, VALUE, AND) \
    AND() VALUE(uint, keeps_mask)

/* dx may be dy. */
#define BACKWARD_TENSOR_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const stored *restrict, x) AND() VALUE(ulong, x_offset) AND() VALUE(uint, x_gap) \
    AND() BUFFER(global const stored *, dy) AND() VALUE(ulong, dy_offset) AND() VALUE(uint, dy_gap) \
    AND() BUFFER(global stored *, dx) AND() VALUE(ulong, dx_offset) AND() VALUE(uint, dx_gap) \
    AND() BUFFER(global const float *restrict, weights) AND() VALUE(ulong, weight_offset) \
    AND() VALUE(uint, affine) AND() BUFFER(global const float *restrict, coefficients)

#define BACKWARD_APPLY_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const float *restrict, gradients)

/* With a fusion. */
#define BACKWARD_FUSION_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const float *restrict, biases) AND() VALUE(ulong, bias_offset) \
    AND() VALUE(float, slope) AND() BUFFER(global stored *, residual_grad) \
    AND() VALUE(ulong, residual_grad_offset) AND() VALUE(uint, has_residual_grad) \
    AND() MASK_ARGUMENTS(BUFFER, VALUE, AND) AND() VALUE(uint, is_fixed) \
    AND() VALUE(uint, only_gradient)

/*
 * The walk over a tensor. A work-group takes `share` elements of a run of `extent`, or of a plane; or
 * `share` of `extent` rows.
 */
#define WALK_ARGUMENTS(BUFFER, VALUE, AND) \
    VALUE(uint, channels) AND() VALUE(uint, plane) AND() VALUE(ulong, extent) \
    AND() VALUE(uint, share) AND() VALUE(uint, non_temporal)

/* Gradients of weight and bias, for the caller. */
#define STORE_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global float *restrict, weight_grad) AND() VALUE(ulong, weight_grad_offset) \
    AND() VALUE(uint, has_weight_grad) AND() BUFFER(global float *restrict, bias_grad) \
    AND() VALUE(ulong, bias_grad_offset) AND() VALUE(uint, has_bias_grad) \
    AND() VALUE(uint, accumulate)

#define STORE_GRADIENTS_ARGUMENTS(BUFFER, VALUE, AND) \
    BUFFER(global const float *restrict, gradients) AND() VALUE(uint, channels)

/* --- a whole pass in one launch ----------------------------------------------------------- */
#define WHOLE_ARGUMENTS(BUFFER, VALUE, AND) \
    VALUE(uint, channels) AND() VALUE(uint, samples) AND() VALUE(uint, plane) AND() VALUE(uint, blocks) \
    AND() VALUE(uint, strip) AND() VALUE(float, last_reciprocal) AND() VALUE(uint, non_temporal) \
    AND() BUFFER(global long *restrict, accumulators) AND() BUFFER(global long *, wide) \
    AND() VALUE(uint, thin)

#define BACKWARD_WHOLE_ARGUMENTS(BUFFER, VALUE, AND) VALUE(uint, has_dx)
