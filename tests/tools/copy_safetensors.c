// SPDX-License-Identifier: MIT
// copy_safetensors FROM TO: reads a file's tensors and metadata, and writes them to another one. What Husk has no dtype
// for is printed and left out.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train/safetensors.h>

enum { MOST = 100 };

int main(int argc, char **argv)
{
    husk_error error;
    husk_safetensors *file;
    husk_safetensors_item items[MOST];
    husk_safetensors_pair pairs[MOST];
    size_t count = 0, pair_count = 0;
    if (argc != 3)
        return 2;
    if (husk_safetensors_open(argv[1], NULL, &file, &error)) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    for (size_t i = 0; i < husk_safetensors_count(file) && count < MOST; i++) {
        husk_safetensors_entry entry;
        husk_safetensors_get(file, i, &entry);
        void *host = malloc(entry.bytes + 1);
        if (!host || husk_safetensors_read(file, entry.name, host, entry.bytes, &error)) {
            fprintf(stderr, "%s\n", error.text);
            return 2;
        }
        if (entry.dtype >= 0) {
            items[count++] = (husk_safetensors_item){
                entry.name, host, husk_tensor_make(NULL, (husk_dtype)entry.dtype, entry.rank, entry.shape)};
        } else {
            printf("left out: %s %s %llu\n", entry.name, entry.dtype_name, (unsigned long long)entry.bytes);
            free(host);
        }
    }
    while (pair_count < MOST &&
           husk_safetensors_metadata_get(file, pair_count, &pairs[pair_count].key, &pairs[pair_count].value))
        pair_count++;
    husk_status status = husk_safetensors_write(argv[2], NULL, items, count, pairs, pair_count, &error);
    if (status)
        fprintf(stderr, "%s\n", error.text);
    for (size_t i = 0; i < count; i++)
        free((void *)items[i].host);
    husk_safetensors_close(file);
    return status ? 2 : 0;
}
