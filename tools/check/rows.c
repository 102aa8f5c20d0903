#include "check/rows.h"

#include <string.h>

#include "check/elements.h"

row_layout rows_of_shard(const problem *p, const placement *g, size_t r, size_t gap)
{
    const size_t elements = placement_shard_elements(g, r);
    const size_t length = p->layout == SBN_LAYOUT_NHWC ? g->channels : g->channels * g->plane[r];
    return gap && elements ? (row_layout){elements / length, length, gap}
                           : (row_layout){1, elements, 0};
}

size_t rows_pitch(const row_layout *rows)
{
    return rows->gap ? rows->length + rows->gap : 0;
}

size_t rows_extent(const row_layout *rows)
{
    return (rows->count - 1) * rows_pitch(rows) + rows->length;
}

void rows_pack(const row_layout *rows, sbn_type type, const float *values, void *memory)
{
    const size_t pitch = rows_pitch(rows) * element_size(type);
    for (size_t i = 0; i < rows->count; ++i)
        elements_pack(type, values + i * rows->length, rows->length, (char *)memory + i * pitch);
}

void rows_gather(const row_layout *rows, sbn_type type, const void *memory, void *elements)
{
    const size_t length = rows->length * element_size(type);
    const size_t pitch = rows_pitch(rows) * element_size(type);
    for (size_t i = 0; i < rows->count; ++i)
        memcpy((char *)elements + i * length, (const char *)memory + i * pitch, length);
}

int rows_gaps_are_whole(const row_layout *rows, sbn_type type, const void *memory)
{
    const size_t size = element_size(type), pitch = rows_pitch(rows) * size;
    const char *gap = (const char *)memory + rows->length * size;
    float right; /* room for an element of any type */
    elements_spoil(type, 1, &right);
    for (size_t i = 0; i + 1 < rows->count; ++i, gap += pitch)
        for (size_t k = 0; k < rows->gap; ++k)
            if (memcmp(gap + k * size, &right, size) != 0)
                return 0;
    return 1;
}
