#define _GNU_SOURCE
#include "ledger.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Exit codes of a check, as `drivelab crash` reads them. */
enum { WHOLE = 0, LOST = 1, CORRUPT = 2, USAGE = 64 };
/* Transactions after which the writer closes the store and opens it again, as services do. */
enum { SESSION = 75 };
enum { PAUSE_US = 20000 };

static void end(int code, const char *format, va_list arguments) {
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    /* Without the handlers of a library that would write to the store. */
    _exit(code);
}

void corrupt(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    end(CORRUPT, format, arguments);
    abort();
}

static _Noreturn void lost(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    end(LOST, format, arguments);
    abort();
}

const char *in_folder(const char *folder, const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* xorshift64*: the same bytes for the same number, none of them compressible. */
static size_t value_of(unsigned n, unsigned char value[VALUE_MAX]) {
    uint64_t state = (n + 1) * UINT64_C(0x9E3779B97F4A7C15);
    size_t size = 0;
    size_t wanted = VALUE_MAX;
    for (size_t at = 0; at < wanted; at++) {
        if (at % 8 == 0) {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
        }
        if (at == 0) {
            wanted = 64 + (state * UINT64_C(0x2545F4914F6CDD1D) >> 32) % (VALUE_MAX - 64);
        }
        value[at] = (unsigned char)(state * UINT64_C(0x2545F4914F6CDD1D) >> (8 * (at % 8)));
        size = at + 1;
    }
    return size;
}

static void key_of(unsigned n, char key[KEY_MAX]) { snprintf(key, KEY_MAX, "record-%06u", n); }

static void slot_of(unsigned n, char key[KEY_MAX]) { snprintf(key, KEY_MAX, "slot-%u", n % SLOTS); }

static void commit(const struct store *store, unsigned n, bool last) {
    static struct put puts[PUTS];
    key_of(n, puts[0].key);
    puts[0].size = value_of(n, puts[0].value);
    slot_of(n, puts[1].key);
    puts[1].size = value_of(n, puts[1].value);
    strcpy(puts[2].key, "newest");
    puts[2].size = (size_t)snprintf((char *)puts[2].value, VALUE_MAX, "%u", n);
    store->commit(puts, last);
}

static void insert(const struct store *store, const struct mode *mode, const char *folder,
                   unsigned count) {
    unsigned every = mode->every ? mode->every : 1;
    store->open(folder, mode, false);
    for (unsigned n = 1; n <= count; n++) {
        bool last = n % every == 0;
        commit(store, n, last);
        if (last) {
            char line[16];
            int length = snprintf(line, sizeof line, "%u\n", n);
            if (write(1, line, (size_t)length) != length) exit(CORRUPT);
        }
        if (mode->sleeps) usleep(PAUSE_US);
        if (n % SESSION == 0 && n < count) {
            store->close();
            store->open(folder, mode, false);
        }
    }
    store->close();
}

/* The last number that was acknowledged. */
static unsigned acknowledged(void) {
    FILE *file = fopen("/acknowledged", "r");
    if (!file) corrupt("there is no /acknowledged");
    unsigned n, newest = 0;
    while (fscanf(file, "%u", &n) == 1) newest = n;
    fclose(file);
    return newest;
}

/* Whether a key holds the value of transaction `n`. */
static bool holds(const struct store *store, const char *key, unsigned n) {
    static unsigned char found[VALUE_MAX], expected[VALUE_MAX];
    long size = store->get(key, found);
    size_t wanted = value_of(n, expected);
    return size == (long)wanted && memcmp(found, expected, wanted) == 0;
}

static unsigned newest_record(const struct store *store, unsigned count) {
    static unsigned char found[VALUE_MAX];
    unsigned newest = 0;
    char key[KEY_MAX];
    for (unsigned n = 1; n <= count; n++) {
        key_of(n, key);
        if (store->get(key, found) < 0) continue;
        if (!holds(store, key, n)) corrupt("record %u is there with other bytes", n);
        newest = n;
    }
    return newest;
}

static void check_records(const struct store *store, const struct mode *mode, unsigned newest,
                          unsigned promised) {
    static unsigned char found[VALUE_MAX];
    char key[KEY_MAX];
    for (unsigned n = 1; n < newest; n++) {
        key_of(n, key);
        if (store->get(key, found) >= 0) continue;
        if (!mode->holes) corrupt("record %u is missing, and %u is there", n, newest);
        if (n <= promised) lost("record %u is missing, and %u was acknowledged", n, promised);
    }
    if (newest < promised) lost("%u was acknowledged, and %u is the newest", promised, newest);
}

/* A slot holds the newest transaction of its number, or where parts may survive, an earlier one. */
static void check_slots(const struct store *store, const struct mode *mode, unsigned newest,
                        unsigned promised) {
    static unsigned char found[VALUE_MAX];
    for (unsigned back = 0; back < SLOTS && back < newest; back++) {
        char key[KEY_MAX];
        unsigned n = newest - back;
        slot_of(n, key);
        if (holds(store, key, n)) continue;
        if (!mode->torn) corrupt("slot %u does not hold transaction %u", n % SLOTS, n);
        if (store->get(key, found) < 0) {
            if (n <= promised) lost("slot %u is missing", n % SLOTS);
            continue;
        }
        unsigned old = n + SLOTS;
        while (old > 0 && !holds(store, key, old)) old = old > SLOTS ? old - SLOTS : 0;
        if (old == 0) corrupt("slot %u holds bytes of no transaction", n % SLOTS);
        if (old < n && n <= promised) lost("slot %u holds %u, and %u was acknowledged",
                                           n % SLOTS, old, n);
    }
}

static void check(const struct store *store, const struct mode *mode, const char *folder,
                  unsigned count) {
    unsigned char found[VALUE_MAX];
    unsigned promised = acknowledged();
    store->open(folder, mode, false);
    unsigned newest = newest_record(store, count);
    check_records(store, mode, newest, promised);
    check_slots(store, mode, newest, promised);
    long size = store->get("newest", found);
    unsigned noted = 0;
    for (long at = 0; at < size; at++) noted = 10 * noted + found[at] - '0';
    if (noted != newest && !mode->torn)
        corrupt("transaction %u is the newest, and %u is noted", newest, noted);
    store->close();
    if (store->verify) store->verify(folder);
    /* A store that can only be read is not whole. */
    store->open(folder, mode, false);
    commit(store, newest + 1, true);
    store->close();
    store->open(folder, mode, false);
    char key[KEY_MAX];
    key_of(newest + 1, key);
    if (!holds(store, key, newest + 1)) corrupt("a new transaction is not kept");
    store->close();
}

int ledger(int argc, char **argv, const struct store *store) {
    if (argc == 2 && strcmp(argv[1], "version") == 0) {
        puts(store->version);
        return 0;
    }
    const struct mode *mode = store->modes;
    while (argc == 5 && mode->name && strcmp(mode->name, argv[2]) != 0) mode++;
    if (argc != 5 || !mode->name) {
        fprintf(stderr, "usage: %s create|insert|check MODE FOLDER COUNT\n", argv[0]);
        return USAGE;
    }
    const char *verb = argv[1], *folder = argv[3];
    unsigned count = (unsigned)strtoul(argv[4], NULL, 10);
    if (strcmp(verb, "create") == 0) {
        if (mkdir(folder, 0777) != 0) corrupt("cannot make %s", folder);
        store->open(folder, mode, true);
        store->close();
    } else if (strcmp(verb, "insert") == 0) {
        insert(store, mode, folder, count);
    } else if (strcmp(verb, "check") == 0) {
        check(store, mode, folder, count);
    } else {
        return USAGE;
    }
    return WHOLE;
}
