/* The least program that shows google/leveldb issue 193: when the log is switched, what the old one
 * holds is not synced, and a synchronous write syncs only the new one. */
#include <dirent.h>
#include <leveldb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUE = 1024, SWITCHES = 20 };

static leveldb_t *db;
static char *error;

static void must(const char *what) {
    if (!error) return;
    printf("%s: %s\n", what, error);
    exit(2);
}

static void open_store(int create) {
    leveldb_options_t *options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, (unsigned char)create);
    leveldb_options_set_write_buffer_size(options, 64 << 10);
    db = leveldb_open(options, "data", &error);
    must("leveldb_open");
}

/* The number of the newest log. */
static int newest_log(void) {
    int newest = 0;
    DIR *folder = opendir("data");
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strstr(entry->d_name, ".log") && atoi(entry->d_name) > newest)
            newest = atoi(entry->d_name);
    closedir(folder);
    return newest;
}

static void put(int n, int sync) {
    char key[16], value[VALUE];
    snprintf(key, sizeof key, "%06d", n);
    for (int at = 0; at < VALUE; at++) value[at] = (char)(n + at);
    leveldb_writeoptions_t *options = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(options, (unsigned char)sync);
    leveldb_put(db, options, key, strlen(key), value, VALUE, &error);
    must("leveldb_put");
    leveldb_writeoptions_destroy(options);
}

static void insert(void) {
    open_store(0);
    int n = 0;
    for (int switches = 0; switches < SWITCHES; switches++) {
        int log = newest_log();
        while (newest_log() == log) put(++n, 0);
        put(++n, 1);
        printf("%d\n", n);
        fflush(stdout);
    }
    leveldb_close(db);
}

static void check(void) {
    int promised = 0;
    FILE *lines = fopen("/acknowledged", "r");
    while (fscanf(lines, "%d", &promised) == 1) continue;
    fclose(lines);
    open_store(0);
    leveldb_readoptions_t *options = leveldb_readoptions_create();
    for (int n = 1; n <= promised; n++) {
        char key[16];
        size_t size;
        snprintf(key, sizeof key, "%06d", n);
        char *value = leveldb_get(db, options, key, strlen(key), &size, &error);
        must("leveldb_get");
        if (!value) {
            printf("%d is missing, and %d was written with sync=true after it\n", n, promised);
            exit(1);
        }
        leveldb_free(value);
    }
    leveldb_close(db);
}

int main(int argc, char **argv) {
    const char *verb = argc == 2 ? argv[1] : "";
    if (strcmp(verb, "create") == 0) open_store(1), leveldb_close(db);
    else if (strcmp(verb, "insert") == 0) insert();
    else if (strcmp(verb, "check") == 0) check();
    else return 64;
    return 0;
}
