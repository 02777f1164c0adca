#include <db.h>

#include "../common/c/ledger.h"

#include <string.h>

/* DB_TXN_SYNC is the default; DB_TXN_NOSYNC gives up the D of ACID alone. */
static const struct mode modes[] = {
    {.name = "sync"},
    {.name = "sync-512"},
    {.name = "nosync", .sleeps = true},
    {.name = NULL},
};

static DB_ENV *env;
static DB *db;

static void must(int result, const char *what) {
    if (result != 0) corrupt("%s: %s", what, db_strerror(result));
}

static void open_store(const char *folder, const struct mode *mode, bool create) {
    (void)create;
    must(db_env_create(&env, 0), "db_env_create");
    /* A checkpoint each 64 KiB of log, and log files that end while power is cut. */
    must(env->set_lg_max(env, 256 << 10), "set_lg_max");
    must(env->set_lg_bsize(env, 32 << 10), "set_lg_bsize");
    must(env->set_cachesize(env, 0, 4 << 20, 1), "set_cachesize");
    unsigned flags = DB_CREATE | DB_RECOVER | DB_INIT_TXN | DB_INIT_LOG | DB_INIT_MPOOL |
                     DB_INIT_LOCK | DB_PRIVATE;
    must(env->open(env, folder, flags, 0666), "DB_ENV->open");
    if (mode->sleeps) must(env->set_flags(env, DB_TXN_NOSYNC, 1), "set_flags");
    must(db_create(&db, env, 0), "db_create");
    /* Otherwise it is the block of the file system. */
    if (strcmp(mode->name, "sync-512") == 0) must(db->set_pagesize(db, 512), "set_pagesize");
    must(db->open(db, NULL, "kept.db", NULL, DB_BTREE, DB_CREATE | DB_AUTO_COMMIT, 0666),
         "DB->open");
}

static void commit(const struct put puts[PUTS], bool last) {
    (void)last;
    DB_TXN *txn;
    must(env->txn_begin(env, NULL, &txn, 0), "txn_begin");
    for (int number = 0; number < PUTS; number++) {
        DBT key = {.data = (void *)puts[number].key, .size = (u_int32_t)strlen(puts[number].key)};
        DBT value = {.data = (void *)puts[number].value, .size = (u_int32_t)puts[number].size};
        must(db->put(db, txn, &key, &value, 0), "DB->put");
    }
    must(txn->commit(txn, 0), "DB_TXN->commit");
    must(env->txn_checkpoint(env, 64, 0, 0), "txn_checkpoint");
}

static long get(const char *name, unsigned char found[VALUE_MAX]) {
    DBT key = {.data = (void *)name, .size = (u_int32_t)strlen(name)};
    DBT value = {.data = found, .ulen = VALUE_MAX, .flags = DB_DBT_USERMEM};
    int result = db->get(db, NULL, &key, &value, 0);
    if (result == DB_NOTFOUND) return -1;
    must(result, "DB->get");
    return (long)value.size;
}

static void close_store(void) {
    must(db->close(db, 0), "DB->close");
    must(env->close(env, 0), "DB_ENV->close");
}

static void verify(const char *folder) {
    DB *closed;
    must(db_create(&closed, NULL, 0), "db_create");
    must(closed->verify(closed, in_folder(folder, "kept.db"), NULL, NULL, 0), "DB->verify");
}

int main(int argc, char **argv) {
    struct store store = {DB_VERSION_STRING, modes, open_store, commit, get, close_store, verify};
    return ledger(argc, argv, &store);
}
