/*
 * The layers of the whole networks in tests/model/data/network_*, on three replicas of the first PoCL
 * device, and a folder for files. Between begin and end.
 */
#pragma once

#include "support/main.h"
#include "support/network.h"

/* The last layer has no running statistics. */
extern const char *const file_network_names[LAYERS];
extern const size_t file_network_channels[LAYERS];

/* On the program's device; a check that no file is left. */
void file_network_begin(void);
void file_network_end(void);

/* The file in the folder (support/folder.h), which is to be empty at the end but for it. */
extern char file_network_path[112];

/* For reading buffers: a slice of nothing, with the queue. */
extern slice file_network_slice;

/* Until network_close. */
void file_network_open(network *n, size_t channels_of_second, int affine);

/* Makes file_network_path a file of tensors, "name type shape bytes; ...", one behind the other, of bytes `byte`. */
void file_network_write(const char *tensors, int byte);
