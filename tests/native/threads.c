/* threads DIR: reads lines of FEN, and has four threads probe all of them at once; prints how many answers
 * were alike in all threads. For tests/native/test_threads.py. */
#include "tbgen.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, MOST = 1 << 14 };

static struct tbgen *tables;
static int states;
static struct tbgen_position position[MOST];
static tbgen_score accrued[MOST];

struct answer {
    enum tbgen_error failed;
    struct tbgen_result result;
};

static void *probe_all(void *given) {
    struct answer *answers = given;
    struct tbgen_room *room = tbgen_room_open(tables);
    for (int at = 0; room && at < states; at++)
        answers[at].failed = tbgen_probe(room, &position[at], accrued[at], &answers[at].result);
    tbgen_room_close(room);
    return room;
}

int main(int count, char *arguments[]) {
    static struct answer answers[THREADS][MOST];
    pthread_t threads[THREADS];
    int alike = 0;
    if (count != 2 || tbgen_open(arguments[1], TBGEN_R_MOBILITY, &tables)) return 2;
    for (char line[512]; states < MOST && fgets(line, sizeof line, stdin);)
        if (!tbgen_read_fen(line, TBGEN_R_MOBILITY, &position[states], &accrued[states])) states++;
    for (int each = 0; each < THREADS; each++)
        if (pthread_create(&threads[each], NULL, probe_all, answers[each])) return 1;
    for (int each = 0; each < THREADS; each++) pthread_join(threads[each], NULL);
    for (int at = 0; at < states; at++) {
        bool same = !answers[0][at].failed;
        for (int each = 1; each < THREADS; each++)
            same = same && !answers[each][at].failed &&
                   answers[each][at].result.value == answers[0][at].result.value &&
                   answers[each][at].result.depth == answers[0][at].result.depth;
        alike += same;
    }
    tbgen_close(tables);
    printf("%d\n", alike);
    return 0;
}
