/* Writes the gradients of weight and bias to the caller's buffers. One work-item per channel. */
kernel __attribute__((reqd_work_group_size(ELEMENTWISE_ITEMS, 1, 1)))
void store_gradients(PARAMETERS(STORE_GRADIENTS_ARGUMENTS), PARAMETERS(STORE_ARGUMENTS))
{
    const uint c = get_global_id(0);
    if (c < channels)
        store_gradients_of(c, c + 1, channels, gradients, NAMES(STORE_ARGUMENTS));
}
