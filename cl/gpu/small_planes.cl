/* reduce_planes.cl for planes of up to SMALL_PLANE elements: an item has a lane of several blocks. */
#define PLANES(pass) pass(reduce_small_planes)
#define STEPS (SMALL_PLANE / LANES)
