/* reduce_planes.cl for planes of more than SMALL_PLANE elements: an item has a lane of one block. */
#define PLANES(pass) pass(reduce_large_planes)
#define STEPS (BLOCK / LANES)
