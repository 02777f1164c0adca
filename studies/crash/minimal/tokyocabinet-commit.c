/* One transaction of a hash database with HDBOTSYNC: it is lost when the power fails after it. */
#include <stdio.h>
#include <string.h>
#include <tchdb.h>
#include <time.h>

static int failed(TCHDB *db, const char *what) {
    printf("%s: %s\n", what, tchdberrmsg(tchdbecode(db)));
    return 2;
}

int main(int argc, char **argv) {
    const char *verb = argc == 2 ? argv[1] : "";
    TCHDB *db = tchdbnew();
    tchdbtune(db, 127, -1, -1, 0);
    if (!tchdbopen(db, "kept.tch", HDBOWRITER | HDBOCREAT | HDBOTSYNC)) return failed(db, "open");
    if (strcmp(verb, "insert") == 0) {
        if (!tchdbtranbegin(db)) return failed(db, "begin");
        if (!tchdbput2(db, "key", "value")) return failed(db, "put");
        if (!tchdbtrancommit(db)) return failed(db, "commit");
        puts("1");
        fflush(stdout);
        /* The time in which the power fails; the store is still open. */
        struct timespec pause = {0, 100000000};
        nanosleep(&pause, NULL);
    } else if (strcmp(verb, "check") == 0) {
        char line[8];
        FILE *lines = fopen("/acknowledged", "r");
        int promised = lines && fgets(line, sizeof line, lines);
        if (promised && !tchdbget2(db, "key")) {
            puts("the transaction was acknowledged and is gone");
            return 1;
        }
    }
    return tchdbclose(db) ? 0 : failed(db, "close");
}
