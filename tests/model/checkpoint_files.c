/* What is saved leaves all other tensors as they were, and appears whole or not at all. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/file_network.h"
#include "support/refused.h"
#include "support/folder.h"

/* How many tensors of `old` are in `path` with the same type, shape and bytes; all are aligned. */
static size_t same_tensors(const char *old, size_t *in_all)
{
    sbn_tensor_file a, b;
    size_t same = 0;
    must(sbn__tensor_file_open(&a, old), old);
    must(sbn__tensor_file_open(&b, file_network_path), file_network_path);
    for (size_t i = 0; i < a.header.count; ++i) {
        static unsigned char x[1 << 12], y[sizeof x];
        const sbn_tensor *here = &a.header.tensors[i];
        const sbn_tensor *there = sbn__tensor_header_find(&b.header, here->name);
        const size_t size = (size_t)(here->end - here->begin);
        must(size > sizeof x, "so large a tensor");
        if (!there || here->type != there->type || strcmp(here->shape, there->shape) != 0)
            continue;
        must(sbn__tensor_read(&a, here, 0, x, size), here->name);
        must(sbn__tensor_read(&b, there, 0, y, size), here->name);
        same += memcmp(x, y, size) == 0 && (b.data + there->begin) % (there->type->bits / 8) == 0;
    }
    *in_all = b.header.count;
    sbn__tensor_file_close(&a);
    sbn__tensor_file_close(&b);
    return same;
}

/* Load, save, load: all tensors, those of layers too, are what they were, in each type. */
static void check_same(const char *name, size_t count, size_t saved)
{
    network n;
    size_t in_all;
    const char *old = data_path(name);
    file_network_open(&n, file_network_channels[1], 1);
    must(sbn_model_load(n.model, old, NULL), name);
    const uint64_t before = network_digest(&n);
    expect(sbn_model_save(n.model, file_network_path, old), SBN_SUCCESS, "",
           "a new file with all of a base");
    const size_t same = same_tensors(old, &in_all);
    tap_ok(same == count && in_all == saved, "%s: %d of %d tensors are as they were, of %d", name,
           (int)same, (int)count, (int)in_all);
    must(sbn_model_reset_parameters(n.model), "reset");
    must(sbn_model_load(n.model, file_network_path, NULL), "load");
    tap_ok(network_digest(&n) == before, "%s: loaded again, the same bits", name);
    network_close(&n);
}

static uint64_t digest_file(const char *name)
{
    static unsigned char bytes[1 << 16];
    return sbn__digest(SBN_DIGEST_START, bytes, folder_read(name, bytes, sizeof bytes));
}

/*
 * A file is rewritten in place: other tensors stay. A value that the file's type cannot hold is refused, and the file
 * is not changed. Modes and links: tests/model/draft.
 */
static void check_rewrite(const char *name, const char *words)
{
    network n;
    size_t in_all;
    const float ones[MOST] = {1, 1, 1, 1}, large[MOST] = {1, FLT_MAX, 1, 1};
    const float infinite[MOST] = {1, INFINITY, NAN, 1};
    const int64_t five = 5;
    file_network_open(&n, file_network_channels[1], 1);
    must(sbn_model_load(n.model, data_path(name), NULL), "load");
    must(sbn_model_save(n.model, file_network_path, data_path(name)), "save");
    must(sbn_batchnorm_set_running_stats(n.layers[0], ones, ones, &five), "set");
    expect(sbn_model_save(n.model, file_network_path, file_network_path), SBN_SUCCESS, "",
           "a file in its own place");
    const size_t same = same_tensors(data_path(name), &in_all);
    tap_ok(same == in_all - 3, "all but 3 of %d tensors are as they were: %d", (int)in_all,
           (int)same);
    const uint64_t before = digest_file(file_network_path);
    must(sbn_batchnorm_set_running_stats(n.layers[0], NULL, large, NULL), "set");
    expect(sbn_model_save(n.model, file_network_path, file_network_path), SBN_KEY_MISMATCH, words,
           "a variance beyond the file's type");
    tap_ok(digest_file(file_network_path) == before && folder_names(folder_root, NULL) == 1,
           "the file is as it was, and alone");
    must(sbn_batchnorm_set_running_stats(n.layers[0], NULL, infinite, NULL), "set");
    expect(sbn_model_save(n.model, file_network_path, file_network_path), SBN_SUCCESS, "",
           "infinity and NaN are values");
    network_close(&n);
}

/* What a base says of itself stays, even if it has no tensors. */
static void check_metadata(void)
{
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\",\"step\":\"seven\"}}";
    network n;
    sbn_tensor_file file;
    file_network_open(&n, file_network_channels[1], 1);
    vectors_write(file_network_path, header, sizeof header - 1, 0, 0);
    must(sbn_model_save(n.model, file_network_path, file_network_path), "save");
    must(sbn__tensor_file_open(&file, file_network_path), "open");
    tap_ok(file.header.metadata.count == 2 &&
               !memcmp(file.header.metadata.strings, "format\0pt\0step\0seven", 21),
           "a base's metadata stay");
    sbn__tensor_file_close(&file);
    network_close(&n);
}

/* Saving is refused: the old file stays, and nothing is left beside it. What fails: tests/faults. */
static void check_failures(void)
{
    network n;
    sbn_tensor_file file;
    char elsewhere[128];
    file_network_open(&n, file_network_channels[1], 1);
    must(sbn_model_save(n.model, file_network_path, NULL), "save");
    must(sbn__tensor_file_open(&file, file_network_path), "open");
    tap_ok(file.header.metadata.count == 1 &&
               !memcmp(file.header.metadata.strings, "format\0pt", 10),
           "the usual metadata of a new file");
    sbn__tensor_file_close(&file);
    const uint64_t before = digest_file(file_network_path);
    snprintf(elsewhere, sizeof elsewhere, "%s/none/file", folder_root);
    expect(sbn_model_save(n.model, elsewhere, NULL), SBN_IO_ERROR, "none/file|No such file",
           "a folder that is not there");
    expect(sbn_model_save(n.model, file_network_path, elsewhere), SBN_IO_ERROR, "none/file|opening",
           "a base that is not there");
    REFUSED(sbn_model_save(n.model, NULL, NULL), "path|NULL");
    network wide;
    file_network_open(&wide, 7, 1);
    expect(sbn_model_save(wide.model, file_network_path, file_network_path), SBN_KEY_MISMATCH,
           "4.1.weight|[7]|of [6]", "a layer of other channels than the file's");
    tap_ok(digest_file(file_network_path) == before && folder_names(folder_root, NULL) == 1,
           "the file is as it was, and alone");
    network_close(&wide);
    network_close(&n);
}

/* For tests/model/reference.sh: all values of "1" and "4.1" are doubled, and a batch counted. */
static void rewrite(const char *old, const char *new)
{
    network n;
    file_network_open(&n, file_network_channels[1], 1);
    must(sbn_model_load(n.model, old, NULL), "load");
    for (size_t i = 0; i < 2; ++i) {
        float of[4][MOST] = {{0}};
        int64_t batches;
        must(sbn_model_parameters(n.model, i, of[0], of[1]), "get");
        must(sbn_batchnorm_running_stats(n.layers[i], of[2], of[3], &batches), "get");
        for (int which = 0; which < 4; ++which)
            for (int c = 0; c < MOST; ++c)
                of[which][c] *= 2;
        ++batches;
        must(sbn_model_set_parameters(n.model, i, of[0], of[1]), "set");
        must(sbn_batchnorm_set_running_stats(n.layers[i], of[2], of[3], &batches), "set");
    }
    must(sbn_model_save(n.model, new, old), "save");
    network_close(&n);
}

/* Or, as checkpoint_files OLD NEW, no check. */
void checks(void)
{
    file_network_begin();
    if (main_arguments[1])
        rewrite(main_arguments[1], main_arguments[2]);
    else {
        check_same("network_f32.safetensors", 17, 17);
        check_same("network_f16.safetensors", 17, 17);
        check_same("network_bf16.safetensors", 17, 17);
        check_same("network_v1.safetensors", 15, 17);
        check_rewrite("network_bf16.safetensors", "1.running_var|3.40282e+38|for BF16");
        check_rewrite("network_f16.safetensors", "1.running_var|3.40282e+38|for F16");
        check_metadata();
        check_failures();
    }
    file_network_end();
}
