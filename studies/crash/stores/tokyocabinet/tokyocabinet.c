#include <tchdb.h>

#include "../common/c/ledger.h"

#include <stdlib.h>
#include <string.h>

/* HDBOTSYNC: "synchronizes every transaction with the device". */
static const struct mode modes[] = {
    {.name = "sync"},
    {.name = "nosync", .sleeps = true},
    {.name = NULL},
};

static TCHDB *db;

static void must(bool done, const char *what) {
    if (!done) corrupt("%s: %s", what, tchdberrmsg(tchdbecode(db)));
}

static void open_store(const char *folder, const struct mode *mode, bool create) {
    int flags = HDBOWRITER | (create ? HDBOCREAT : 0) | (mode->sleeps ? 0 : HDBOTSYNC);
    db = tchdbnew();
    /* A database fit for its records; the default table of 131,071 buckets is for more. */
    must(tchdbtune(db, 1021, -1, -1, 0), "tchdbtune");
    must(tchdbopen(db, in_folder(folder, "kept.tch"), flags), "tchdbopen");
}

static void commit(const struct put puts[PUTS], bool last) {
    (void)last;
    must(tchdbtranbegin(db), "tchdbtranbegin");
    for (int number = 0; number < PUTS; number++) {
        const struct put *put = &puts[number];
        must(tchdbput(db, put->key, (int)strlen(put->key), put->value, (int)put->size),
             "tchdbput");
    }
    must(tchdbtrancommit(db), "tchdbtrancommit");
}

static long get(const char *key, unsigned char found[VALUE_MAX]) {
    int size;
    void *value = tchdbget(db, key, (int)strlen(key), &size);
    if (!value) {
        if (tchdbecode(db) != TCENOREC) must(false, "tchdbget");
        return -1;
    }
    memcpy(found, value, size < VALUE_MAX ? (size_t)size : VALUE_MAX);
    free(value);
    return size;
}

static void close_store(void) {
    must(tchdbclose(db), "tchdbclose");
    tchdbdel(db);
}

int main(int argc, char **argv) {
    char version[48] = "Tokyo Cabinet ";
    strncat(version, tcversion, sizeof version - strlen(version) - 1);
    struct store store = {version, modes, open_store, commit, get, close_store, NULL};
    return ledger(argc, argv, &store);
}
