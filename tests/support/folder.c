#include "support/folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/tap.h"

char folder_root[96];

void folder_begin(void)
{
    const char *temporary = getenv("TMPDIR");
    snprintf(folder_root, sizeof folder_root, "%.60s/syncbn-XXXXXX",
             temporary ? temporary : "/tmp");
    must(!mkdtemp(folder_root), "mkdtemp");
}

void folder_end(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder_root);
    must(system(command), command);
}

const char *folder_path(const char *name)
{
    static char paths[FOLDER_PATHS][512];
    static unsigned turn;
    char *path = paths[++turn % FOLDER_PATHS];
    snprintf(path, sizeof *paths, "%s/%s", folder_root, name);
    return path;
}

int folder_names(const char *folder, char last[512])
{
    int count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            if (last)
                snprintf(last, 512, "%s/%s", folder, entry->d_name);
            ++count;
        }
    if (directory)
        closedir(directory);
    return count;
}

void folder_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    must(!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0, "a file is written");
}

size_t folder_read(const char *path, void *bytes, size_t most)
{
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(bytes, 1, most, file) : 0;
    if (file)
        fclose(file);
    return size;
}

void folder_damage(const char *path, int (*taken)(void), void (*make)(void))
{
    static unsigned char bytes[1024], other[8192];
    make();
    const size_t size = folder_read(path, bytes, sizeof bytes - 1);
    int cut = 0, changed = 0;
    for (size_t i = 0; i < size; ++i) {
        folder_write(path, bytes, i);
        cut += taken();
        bytes[i] ^= (unsigned char)(1u << i % 8);
        folder_write(path, bytes, size);
        changed += taken();
        bytes[i] ^= (unsigned char)(1u << i % 8);
    }
    folder_write(path, bytes, size);
    tap_ok(size > 0 && !cut && !changed && taken(),
           "%zu bytes: cut %d times, changed %d times, and taken", size, cut, changed);
    bytes[size] = '\n';
    folder_write(path, bytes, size + 1);
    tap_ok(!taken(), "a byte too many");
    folder_write(path, "a letter", 8);
    tap_ok(!taken(), "a letter");
    folder_write(path, other, sizeof other);
    tap_ok(!taken(), "a larger file");
    make();
    tap_ok(taken() && chmod(path, 0622) == 0 && !taken(), "a file that others may write");
    unlink(path);
}
