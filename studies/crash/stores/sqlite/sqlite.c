#include <sqlite3.h>

#include "../common/c/ledger.h"

#include <stdio.h>
#include <string.h>

static const struct mode modes[] = {
    {.name = "wal-full"},
    {.name = "wal-normal", .sleeps = true},
    {.name = "wal-off", .sleeps = true},
    {.name = "delete-extra"},
    {.name = "delete-full"},
    {.name = "delete-off", .sleeps = true},
    {.name = NULL},
};

static sqlite3 *db;

static void must(int result, const char *what) {
    if (result != SQLITE_OK) corrupt("%s: %s", what, sqlite3_errmsg(db));
}

static void run(const char *statement) {
    must(sqlite3_exec(db, statement, NULL, NULL, NULL), statement);
}

/* A mode is a journal mode and a level of synchronisation. */
static void open_store(const char *folder, const struct mode *mode, bool create) {
    char text[80];
    const char *level = strchr(mode->name, '-') + 1;
    must(sqlite3_open(in_folder(folder, "kept.db"), &db), "sqlite3_open");
    snprintf(text, sizeof text, "PRAGMA journal_mode=%.*s", (int)(level - mode->name - 1),
             mode->name);
    run(text);
    snprintf(text, sizeof text, "PRAGMA synchronous=%s", level);
    run(text);
    /* Checkpoints while power is cut; the default is 1000 pages. */
    run("PRAGMA wal_autocheckpoint=50");
    if (create) run("CREATE TABLE kept (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID");
}

static void commit(const struct put puts[PUTS], bool last) {
    (void)last;
    sqlite3_stmt *insert;
    run("BEGIN IMMEDIATE");
    must(sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO kept VALUES (?, ?)", -1, &insert, NULL),
         "prepare");
    for (int number = 0; number < PUTS; number++) {
        const struct put *put = &puts[number];
        sqlite3_bind_text(insert, 1, put->key, -1, SQLITE_STATIC);
        sqlite3_bind_blob(insert, 2, put->value, (int)put->size, SQLITE_STATIC);
        if (sqlite3_step(insert) != SQLITE_DONE) corrupt("insert: %s", sqlite3_errmsg(db));
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    run("COMMIT");
}

static long get(const char *key, unsigned char found[VALUE_MAX]) {
    sqlite3_stmt *select;
    long size = -1;
    must(sqlite3_prepare_v2(db, "SELECT value FROM kept WHERE key = ?", -1, &select, NULL),
         "prepare");
    sqlite3_bind_text(select, 1, key, -1, SQLITE_STATIC);
    int result = sqlite3_step(select);
    if (result == SQLITE_ROW) {
        const void *value = sqlite3_column_blob(select, 0);
        size = sqlite3_column_bytes(select, 0);
        memcpy(found, value, size < VALUE_MAX ? (size_t)size : VALUE_MAX);
    } else if (result != SQLITE_DONE) {
        corrupt("select: %s", sqlite3_errmsg(db));
    }
    sqlite3_finalize(select);
    return size;
}

static void close_store(void) { must(sqlite3_close(db), "sqlite3_close"); }

static int said(void *reason, int columns, char **values, char **names) {
    (void)columns, (void)names;
    if (strcmp(values[0], "ok") != 0) snprintf(reason, 160, "%s", values[0]);
    return 0;
}

static void verify(const char *folder) {
    char reason[160] = "";
    must(sqlite3_open(in_folder(folder, "kept.db"), &db), "sqlite3_open");
    must(sqlite3_exec(db, "PRAGMA integrity_check", said, reason, NULL), "integrity_check");
    if (reason[0]) corrupt("integrity_check: %s", reason);
    must(sqlite3_close(db), "sqlite3_close");
}

int main(int argc, char **argv) {
    struct store store = {"SQLite " SQLITE_VERSION, modes, open_store, commit, get, close_store,
                          verify};
    return ledger(argc, argv, &store);
}
