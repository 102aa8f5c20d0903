/*
 * How the apply kernels walk a tensor: groups of TILE_ITEMS items, WIDTH
 * elements at a time.
 *
 * Channels first: group (`channels_per_group` channels, chunk of a plane,
 * every num_groups-th sample). An item takes every TILE_ITEMS-th vector of the
 * chunk.
 *
 * Channels last: group (tile of rows); a row is one position of one sample. An
 * item takes every TILE_ITEMS-th vector of channels, down the tile's rows.
 */
#if CPU_FORM
#define TILE_ITEMS 1
#else
#define TILE_ITEMS 64
#endif
#define TILE_STEP (TILE_ITEMS * WIDTH)
