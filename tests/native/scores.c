/* scores DIR FEN: prints how each of some scores compares with each (1 if better for White, -1 if worse, 0 if
 * the same), and then the errors of a probe and of a list of moves of the position with each of others.
 * For tests/native/test_probe.py. */
#include "tbgen.h"

#include <limits.h>
#include <stdio.h>

static const tbgen_score ranks[] = {0, 1, 2, 7, 8, 1999};
static const tbgen_score asked[] = {0, -2, 2, 1999, -2000, 2000, -2001, INT_MAX, INT_MIN};
enum { RANKS = sizeof ranks / sizeof *ranks, ASKED = sizeof asked / sizeof *asked };

static tbgen_score score(int number) {
    return number % 2 ? -1 - ranks[number / 2] : ranks[number / 2];
}

int main(int count, char *arguments[]) {
    struct tbgen *tables;
    struct tbgen_position position;
    struct tbgen_result result;
    struct tbgen_move moves[TBGEN_MOST_MOVES];
    tbgen_score unused;
    int found;
    for (int one = 0; one < 2 * RANKS; one++)
        for (int other = 0; other < 2 * RANKS; other++) {
            int better = tbgen_compare(score(one), score(other));
            printf("%d ", (better > 0) - (better < 0));
        }
    if (count != 3 || tbgen_open(arguments[1], TBGEN_R_MOBILITY, &tables)) return 1;
    struct tbgen_room *room = tbgen_room_open(tables);
    if (!room || tbgen_read_fen(arguments[2], TBGEN_R_MOBILITY, &position, &unused)) return 1;
    printf("\n%d", tbgen_count(tables));
    for (int at = 0; at < ASKED; at++) {
        char text[TBGEN_SCORE_SIZE];
        tbgen_write_score(at ? asked[at] : TBGEN_FRESH, text);
        printf(" %s", text);
    }
    putchar('\n');
    for (int at = 0; at < ASKED; at++)
        printf("%u%u ", tbgen_probe(room, &position, asked[at], &result),
               tbgen_moves(room, &position, asked[at], moves, &found));
    tbgen_room_close(room);
    tbgen_close(tables);
    return 0;
}
