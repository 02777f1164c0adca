#include <gdbm.h>

#include "../common/c/ledger.h"

#include <stdlib.h>
#include <string.h>

/* GDBM has no transactions: each record is a change of its own. */
static const struct mode modes[] = {
    {.name = "sync", .torn = true},
    {.name = "nosync", .torn = true, .sleeps = true},
    {.name = NULL},
};

static GDBM_FILE db;

static void open_store(const char *folder, const struct mode *mode, bool create) {
    int flags = create ? GDBM_WRCREAT : GDBM_WRITER;
    if (!mode->sleeps) flags |= GDBM_SYNC;
    db = gdbm_open(in_folder(folder, "kept.gdbm"), 0, flags, 0666, NULL);
    if (!db) corrupt("gdbm_open: %s", gdbm_strerror(gdbm_errno));
}

static void commit(const struct put puts[PUTS], bool last) {
    (void)last;
    for (int number = 0; number < PUTS; number++) {
        datum key = {(char *)puts[number].key, (int)strlen(puts[number].key)};
        datum value = {(char *)puts[number].value, (int)puts[number].size};
        if (gdbm_store(db, key, value, GDBM_REPLACE) != 0)
            corrupt("gdbm_store: %s", gdbm_db_strerror(db));
    }
}

static long get(const char *name, unsigned char found[VALUE_MAX]) {
    datum key = {(char *)name, (int)strlen(name)};
    datum value = gdbm_fetch(db, key);
    if (!value.dptr) {
        if (gdbm_errno != GDBM_ITEM_NOT_FOUND) corrupt("gdbm_fetch: %s", gdbm_db_strerror(db));
        return -1;
    }
    memcpy(found, value.dptr, value.dsize < VALUE_MAX ? (size_t)value.dsize : VALUE_MAX);
    free(value.dptr);
    return value.dsize;
}

static void close_store(void) {
    if (gdbm_close(db) != 0) corrupt("gdbm_close: %s", gdbm_strerror(gdbm_errno));
}

int main(int argc, char **argv) {
    struct store store = {gdbm_version, modes, open_store, commit, get, close_store, NULL};
    return ledger(argc, argv, &store);
}
