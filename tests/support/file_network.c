#include "support/file_network.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/folder.h"

const char *const file_network_names[LAYERS] = {"1", "4.1", "6"};
const size_t file_network_channels[LAYERS] = {4, 6, 24};
char file_network_path[112];
slice file_network_slice;

static sbn_group *group;

void file_network_begin(void)
{
    folder_begin();
    snprintf(file_network_path, sizeof file_network_path, "%s/file", folder_root);
    file_network_slice.queue = fixture_queue(&device, 1);
    group = fixture_group(file_network_slice.queue, REPLICAS, SBN_FORM_AUTO);
}

void file_network_end(void)
{
    sbn_group_destroy(group);
    clReleaseCommandQueue(file_network_slice.queue);
    unlink(file_network_path);
    tap_ok(folder_names(folder_root, NULL) == 0, "no file is left");
    folder_end();
}

void file_network_open(network *n, size_t channels_of_second, int affine)
{
    network_layer of[LAYERS];
    for (size_t i = 0; i < LAYERS; ++i)
        of[i] = (network_layer){file_network_names[i],
                                i == 1 ? channels_of_second : file_network_channels[i], !affine,
                                i == 2};
    network_open_of(n, &device, file_network_slice.queue, group, REPLICAS, of);
}

void file_network_write(const char *tensors, int byte)
{
    char header[4096], name[32], type[8], shape[8];
    size_t used = 0, begin = 0, bytes;
    for (int length; sscanf(tensors, "%31s %7s %7s %zu%n", name, type, shape, &bytes, &length) == 4;
         tensors += length + (tensors[length] == ';')) {
        used +=
            (size_t)sprintf(header + used,
                            "%c\"%s\":{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%zu,%zu]}",
                            used ? ',' : '{', name, type, shape, begin, begin + bytes);
        begin += bytes;
    }
    must(tensors[strspn(tensors, " ")] != '\0', tensors);
    strcpy(header + used, "}");
    vectors_write(file_network_path, header, used + 1, byte, begin);
}
