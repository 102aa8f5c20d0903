/*
 * How a tensor lies in memory: its rows, of equal length, with elements of others between them.
 */
#ifndef TOOLS_CHECK_ROWS_H
#define TOOLS_CHECK_ROWS_H

#include "check/placement.h"

/* In elements; a dense tensor is a single row. */
typedef struct row_layout {
    size_t count, length, gap;
} row_layout;

/*
 * Of replica r's shard: samples, or pixels where channels are last, `gap` apart. A single row where
 * there is no gap, or no element.
 */
row_layout rows_of_shard(const problem *p, const placement *g, size_t r, size_t gap);

/* From the first element to behind the last. */
size_t rows_extent(const row_layout *rows);

/* Elements from one row to the next; 0 where there is a single one. */
size_t rows_pitch(const row_layout *rows);

/* Rounds floats into the rows' elements in memory, and copies these out of it. */
void rows_pack(const row_layout *rows, sbn_type type, const float *values, void *memory);
void rows_gather(const row_layout *rows, sbn_type type, const void *memory, void *elements);

/* 1 if all elements between the rows are those of elements_spoil. */
int rows_gaps_are_whole(const row_layout *rows, sbn_type type, const void *memory);

#endif
