/* speed DIR [peek]: reads lines of FEN as probe does, and prints how long a probe of them takes, one after the
 * other on one thread, when all that they need has been read before: the mean, the median and the slowest of
 * a hundred. With peek, it asks for values that are at hand; the others fail.
 *
 * Copyright (C) 2026 The tbgen developers
 * Licence: MIT, see LICENSE in this folder. */
#define _POSIX_C_SOURCE 200809L
#include "tbgen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 1 << 20 };

struct state {
    struct tbgen_position position;
    tbgen_score accrued;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int by_size(const void *one, const void *other) {
    double first = *(const double *)one, second = *(const double *)other;
    return (first > second) - (first < second);
}

int main(int count, char *arguments[]) {
    struct tbgen *tables;
    struct tbgen_result result;
    bool peeks = count == 3 && !strcmp(arguments[2], "peek");
    if (count != (peeks ? 3 : 2) || tbgen_open(arguments[1], TBGEN_R_MOBILITY, &tables))
        return fputs("usage: speed DIR [peek]\n", stderr), 2;
    struct tbgen_room *room = tbgen_room_open(tables);
    struct state *states = malloc(MOST * sizeof *states);
    double *times = malloc(MOST * sizeof *times), sum = 0;
    int read = 0, failed = 0;
    if (!room || !states || !times) return 1;
    for (char line[512]; read < MOST && fgets(line, sizeof line, stdin);)
        if (!tbgen_read_fen(line, TBGEN_R_MOBILITY, &states[read].position, &states[read].accrued)) read++;
    for (int pass = 0; pass < 2; pass++) {
        for (int at = 0; at < read; at++) {
            double start = now();
            enum tbgen_error wrong =
                peeks ? tbgen_peek(room, &states[at].position, states[at].accrued, &result.value)
                      : tbgen_probe(room, &states[at].position, states[at].accrued, &result);
            times[at] = now() - start;
            failed += wrong != TBGEN_OK;
        }
    }
    for (int at = 0; at < read; at++) sum += times[at];
    qsort(times, (size_t)read, sizeof *times, by_size);
    if (read)
        printf(
            "%d positions, %d failed: mean %.2f us, median %.2f us, 99 %% within %.2f us\n", read, failed / 2,
            sum / read, times[read / 2], times[read - 1 - read / 100]);
    free(times);
    free(states);
    tbgen_room_close(room);
    tbgen_close(tables);
    return 0;
}
