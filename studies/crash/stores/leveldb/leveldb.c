#include <leveldb/c.h>

#include "../common/c/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mode modes[] = {
    {.name = "sync"},
    {.name = "every-tenth", .every = 10},
    {.name = "nosync", .sleeps = true},
    {.name = NULL},
};

static leveldb_t *db;
static leveldb_options_t *options;
static const struct mode *chosen;

static void must(char *error, const char *what) {
    if (error) corrupt("%s: %s", what, error);
}

static void open_store(const char *folder, const struct mode *mode, bool create) {
    char *error = NULL;
    chosen = mode;
    options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, create);
    /* The least there is, so that logs are switched and tables written while power is cut. */
    leveldb_options_set_write_buffer_size(options, 64 << 10);
    db = leveldb_open(options, folder, &error);
    must(error, "leveldb_open");
}

static void commit(const struct put puts[PUTS], bool last) {
    char *error = NULL;
    leveldb_writebatch_t *batch = leveldb_writebatch_create();
    leveldb_writeoptions_t *write = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(write, last && !chosen->sleeps);
    for (int number = 0; number < PUTS; number++) {
        const struct put *put = &puts[number];
        leveldb_writebatch_put(batch, put->key, strlen(put->key), (const char *)put->value,
                               put->size);
    }
    leveldb_write(db, write, batch, &error);
    must(error, "leveldb_write");
    leveldb_writeoptions_destroy(write);
    leveldb_writebatch_destroy(batch);
}

static long get(const char *key, unsigned char found[VALUE_MAX]) {
    char *error = NULL;
    size_t size;
    leveldb_readoptions_t *read = leveldb_readoptions_create();
    leveldb_readoptions_set_verify_checksums(read, 1);
    char *value = leveldb_get(db, read, key, strlen(key), &size, &error);
    must(error, "leveldb_get");
    leveldb_readoptions_destroy(read);
    if (!value) return -1;
    memcpy(found, value, size < VALUE_MAX ? size : VALUE_MAX);
    leveldb_free(value);
    return (long)size;
}

static void close_store(void) {
    leveldb_close(db);
    leveldb_options_destroy(options);
}

int main(int argc, char **argv) {
    char version[32];
    snprintf(version, sizeof version, "LevelDB %d.%d", leveldb_major_version(),
             leveldb_minor_version());
    struct store store = {version, modes, open_store, commit, get, close_store, NULL};
    return ledger(argc, argv, &store);
}
