#include <lmdb.h>

#include "../common/c/ledger.h"

#include <string.h>

/* MDB_NOSYNC without MDB_WRITEMAP keeps A, C and I where the file system keeps the order of writes,
 * which ext4 and XFS do not: what it leaves is called corrupt here all the same. */
static const struct mode modes[] = {
    {.name = "sync"},
    {.name = "writemap"},
    {.name = "nometasync"},
    {.name = "nosync", .sleeps = true},
    {.name = NULL},
};

static MDB_env *env;
static MDB_dbi dbi;

static void must(int result, const char *what) {
    if (result != 0) corrupt("%s: %s", what, mdb_strerror(result));
}

static void open_store(const char *folder, const struct mode *mode, bool create) {
    unsigned flags = 0;
    if (strcmp(mode->name, "writemap") == 0) flags = MDB_WRITEMAP;
    if (strcmp(mode->name, "nometasync") == 0) flags = MDB_NOMETASYNC;
    if (strcmp(mode->name, "nosync") == 0) flags = MDB_NOSYNC;
    must(mdb_env_create(&env), "mdb_env_create");
    must(mdb_env_set_mapsize(env, 64 << 20), "mdb_env_set_mapsize");
    must(mdb_env_open(env, folder, flags, 0666), "mdb_env_open");
    MDB_txn *txn;
    must(mdb_txn_begin(env, NULL, create ? 0 : MDB_RDONLY, &txn), "mdb_txn_begin");
    must(mdb_dbi_open(txn, NULL, 0, &dbi), "mdb_dbi_open");
    must(mdb_txn_commit(txn), "mdb_txn_commit");
}

static void commit(const struct put puts[PUTS], bool last) {
    (void)last;
    MDB_txn *txn;
    must(mdb_txn_begin(env, NULL, 0, &txn), "mdb_txn_begin");
    for (int number = 0; number < PUTS; number++) {
        MDB_val key = {strlen(puts[number].key), (void *)puts[number].key};
        MDB_val value = {puts[number].size, (void *)puts[number].value};
        must(mdb_put(txn, dbi, &key, &value, 0), "mdb_put");
    }
    must(mdb_txn_commit(txn), "mdb_txn_commit");
}

static long get(const char *name, unsigned char found[VALUE_MAX]) {
    MDB_txn *txn;
    MDB_val key = {strlen(name), (void *)name}, value;
    must(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "mdb_txn_begin");
    int result = mdb_get(txn, dbi, &key, &value);
    if (result != MDB_NOTFOUND) must(result, "mdb_get");
    long size = -1;
    if (result == 0) {
        size = (long)value.mv_size;
        memcpy(found, value.mv_data, value.mv_size < VALUE_MAX ? value.mv_size : VALUE_MAX);
    }
    mdb_txn_abort(txn);
    return size;
}

static void close_store(void) { mdb_env_close(env); }

int main(int argc, char **argv) {
    struct store store = {MDB_VERSION_STRING, modes, open_store, commit, get, close_store, NULL};
    return ledger(argc, argv, &store);
}
