#include <rocksdb/c.h>

#include "../common/c/ledger.h"

#include <stdio.h>
#include <string.h>

static const struct mode modes[] = {
    {.name = "sync"},
    {.name = "every-tenth", .every = 10},
    {.name = "nosync", .sleeps = true},
    {.name = NULL},
};

static rocksdb_t *db;
static rocksdb_options_t *options;
static const struct mode *chosen;

static void must(char *error, const char *what) {
    if (error) corrupt("%s: %s", what, error);
}

static void open_store(const char *folder, const struct mode *mode, bool create) {
    char *error = NULL;
    chosen = mode;
    options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, create);
    /* The least there is, so that logs are switched and tables written while power is cut. */
    rocksdb_options_set_write_buffer_size(options, 64 << 10);
    /* Of the library's log for people there is nothing to keep. */
    rocksdb_options_set_info_log_level(options, 3);
    db = rocksdb_open(options, folder, &error);
    must(error, "rocksdb_open");
}

static void commit(const struct put puts[PUTS], bool last) {
    char *error = NULL;
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(write, last && !chosen->sleeps);
    for (int number = 0; number < PUTS; number++) {
        const struct put *put = &puts[number];
        rocksdb_writebatch_put(batch, put->key, strlen(put->key), (const char *)put->value,
                               put->size);
    }
    rocksdb_write(db, write, batch, &error);
    must(error, "rocksdb_write");
    rocksdb_writeoptions_destroy(write);
    rocksdb_writebatch_destroy(batch);
}

static long get(const char *key, unsigned char found[VALUE_MAX]) {
    char *error = NULL;
    size_t size;
    rocksdb_readoptions_t *read = rocksdb_readoptions_create();
    rocksdb_readoptions_set_verify_checksums(read, 1);
    char *value = rocksdb_get(db, read, key, strlen(key), &size, &error);
    must(error, "rocksdb_get");
    rocksdb_readoptions_destroy(read);
    if (!value) return -1;
    memcpy(found, value, size < VALUE_MAX ? size : VALUE_MAX);
    rocksdb_free(value);
    return (long)size;
}

static void close_store(void) {
    rocksdb_close(db);
    rocksdb_options_destroy(options);
}

int main(int argc, char **argv) {
    struct store store = {"RocksDB " ROCKSDB_VERSION, modes, open_store, commit, get, close_store,
                          NULL};
    return ledger(argc, argv, &store);
}
