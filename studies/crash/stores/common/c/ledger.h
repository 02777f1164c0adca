/* The ledger that every store of the crash table keeps: numbered transactions, whose bytes follow
 * from their numbers, so that a check knows what must be there without asking the writer. */
#ifndef LEDGER_H
#define LEDGER_H

#include <stdbool.h>
#include <stddef.h>

/* Records of a transaction: its own, a slot that later ones overwrite, and its number. */
enum { SLOTS = 8, PUTS = 3, KEY_MAX = 24, VALUE_MAX = 3072 };

struct put {
    char key[KEY_MAX];
    unsigned char value[VALUE_MAX];
    size_t size;
};

struct mode {
    const char *name;
    /* Every nth transaction is acknowledged; 0 stands for 1. */
    unsigned every;
    /* Nothing waits for the drive, so that virtual time passes only where the writer sleeps. */
    bool sleeps;
    /* The documentation allows a later transaction to survive an earlier one. */
    bool holes;
    /* The documentation allows a part of a transaction to survive. */
    bool torn;
};

struct store {
    const char *version;
    const struct mode *modes;
    /* Opens the store in a folder that exists, and makes it where `create` is set. */
    void (*open)(const char *folder, const struct mode *mode, bool create);
    /* Returns when the transaction is as durable as the mode makes it; `last` is set where it is
     * acknowledged. */
    void (*commit)(const struct put puts[PUTS], bool last);
    /* The size of a value, or -1 where there is none. */
    long (*get)(const char *key, unsigned char value[VALUE_MAX]);
    void (*close)(void);
    /* The store's own check of a store that is closed; may be absent. */
    void (*verify)(const char *folder);
};

/* The one program: VERB MODE FOLDER COUNT. */
int ledger(int argc, char **argv, const struct store *store);

/* Ends the program: the store is unusable or damaged. */
_Noreturn void corrupt(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "FOLDER/NAME", in memory that the next call overwrites. */
const char *in_folder(const char *folder, const char *name);

#endif
