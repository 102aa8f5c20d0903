/*
 * The safetensors format: 8 bytes, little-endian, with the header's length; the header, a JSON
 * object that maps tensors' names to type, shape and place; the data without gaps. Nothing here
 * knows of layers.
 */
#ifndef SBN_MODEL_SAFETENSORS_H
#define SBN_MODEL_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

typedef struct sbn_tensor_type {
    const char *name;
    unsigned bits;
} sbn_tensor_type;

/* NULL if there is no such type. */
const sbn_tensor_type *sbn__tensor_type_named(const char *name);

typedef struct sbn_tensor {
    const char *name; /* in the header's text, as is the shape */
    const sbn_tensor_type *type;
    const char *shape; /* as JSON has it, without spaces: "[2,3]" */
    uint64_t elements;
    uint64_t begin, end; /* in bytes from the data's start */
} sbn_tensor;

/* Strings one behind the other, each with its NUL: a key, its value, and so on. */
typedef struct sbn_tensor_metadata {
    const char *strings; /* NULL: the file has no metadata */
    size_t count;        /* of pairs */
} sbn_tensor_metadata;

typedef struct sbn_tensor_header {
    sbn_tensor_metadata metadata;
    size_t count;
    sbn_tensor *tensors; /* by name */
} sbn_tensor_header;

/* The longest header, as in the reference implementation. */
#define SBN_TENSOR_HEADER_LIMIT 100000000u

/* From a file's first 8 bytes and its size. In all functions here `path` begins the sentence. */
int sbn__tensor_header_length(const unsigned char first[8], uint64_t file_size, const char *path,
                              uint64_t *length);

/*
 * Parses and checks the header of `data_size` bytes of data. The text is changed and belongs to the
 * header until that is freed. It allocates little more than the text's size.
 */
int sbn__tensor_header_parse(sbn_tensor_header *header, char *text, size_t length,
                             uint64_t data_size, const char *path);
void sbn__tensor_header_free(sbn_tensor_header *header);

/* NULL if there is none of the name. */
const sbn_tensor *sbn__tensor_header_find(const sbn_tensor_header *header, const char *name);

/* A name in a form for sentences: printable (src/base/text.h) and shortened. */
typedef struct sbn_shown {
    char text[100];
} sbn_shown;

sbn_shown sbn__show(const char *name);

/* "[2, 3]" */
sbn_shown sbn__show_shape(const char *shape);

/* How many extents a shape has. */
size_t sbn__shape_dims(const char *shape);

/* A file that is open for reading. */
typedef struct sbn_tensor_file {
    int file;
    char *path;
    uint64_t data; /* where it begins */
    char *text;    /* the header's */
    sbn_tensor_header header;
} sbn_tensor_file;

int sbn__tensor_file_open(sbn_tensor_file *file, const char *path);
void sbn__tensor_file_close(sbn_tensor_file *file);

/* `size` bytes from `offset` of a tensor's data. */
int sbn__tensor_read(const sbn_tensor_file *file, const sbn_tensor *tensor, uint64_t offset,
                     void *to, size_t size);

/* All elements of an F32, F16 or BF16 tensor; of an I64 one. */
int sbn__tensor_is_real(const sbn_tensor *tensor);
int sbn__tensor_read_floats(const sbn_tensor_file *file, const sbn_tensor *tensor, float *to);
int sbn__tensor_read_integer(const sbn_tensor_file *file, const sbn_tensor *tensor, int64_t *to);

/* A tensor to be written: `data` or, if that is NULL, the data of `from` in the base file. */
typedef struct sbn_new_tensor {
    const char *name;
    const sbn_tensor_type *type;
    const char *shape; /* as a tensor of a header has it */
    uint64_t size;     /* in bytes */
    void *data;        /* owned, by sbn__free */
    const sbn_tensor *from;
} sbn_new_tensor;

/*
 * The header of these tensors' file, in their order, padded with spaces to a multiple of 8: a block
 * of sbn__allocate's; NULL without memory.
 */
char *sbn__tensor_header_text(const sbn_tensor_metadata *metadata, const sbn_new_tensor *tensors,
                              size_t count, size_t *length);

/*
 * Writes a complete file or none. Tensors are sorted by the size of their types, largest first, so
 * that each is aligned; then by name. `base` may be NULL.
 */
int sbn__tensor_file_write(const char *path, const sbn_tensor_file *base,
                           const sbn_tensor_metadata *metadata, sbn_new_tensor *tensors,
                           size_t count);

#endif
