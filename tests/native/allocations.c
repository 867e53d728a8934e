/* allocations DIR: reads lines of FEN, probes them all and lists their moves; prints how often that has been done
 * without an error, and how often memory was allocated meanwhile. Link with --wrap for malloc, calloc and realloc.
 * For tests/native/test_probe.py. */
#include "tbgen.h"

#include <stdio.h>
#include <stdlib.h>

static int allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size) {
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) {
    allocations++;
    return __real_realloc(old, size);
}

int main(int count, char *arguments[]) {
    struct tbgen *tables;
    struct tbgen_position position;
    struct tbgen_result result;
    struct tbgen_move moves[TBGEN_MOST_MOVES];
    tbgen_score accrued;
    int answered = 0, found, during = 0;
    if (count != 2 || tbgen_open(arguments[1], TBGEN_R_MOBILITY, &tables)) return 2;
    struct tbgen_room *room = tbgen_room_open(tables);
    if (!room || !allocations) return 1; /* it would see none */
    for (char line[512]; fgets(line, sizeof line, stdin);) {
        int before = allocations;
        answered += !tbgen_read_fen(line, TBGEN_R_MOBILITY, &position, &accrued) &&
                    !tbgen_probe(room, &position, accrued, &result) &&
                    !tbgen_moves(room, &position, accrued, moves, &found);
        during += allocations - before;
    }
    printf("%d %d\n", answered, during);
    tbgen_room_close(room);
    tbgen_close(tables);
    return 0;
}
