/* every DIR FREE PAWNS: probes all positions of a table, for tests/native/test_every.py. FREE are the free
 * men in the order of the index, PAWNS the pawns, White's in upper case. Standard input has the number of
 * placements (4 bytes), the squares of each, and then any number of accrued scores (2 bytes each), TBGEN_FRESH
 * first. For each of these, value and depth of all slots of both sides are written, 2 bytes each, and for
 * TBGEN_FRESH the position's own score too. What cannot be probed, and states whose accrued score has a
 * greater rank than the position, have the value TBGEN_FRESH. */
#include "tbgen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

static const uint8_t TRIANGLE[] = {0, 1, 2, 3, 9, 10, 11, 18, 19, 27};

static bool place(struct tbgen_position *p, char letter, unsigned square) {
    uint64_t *kinds[] = {&p->kings, &p->queens, &p->rooks, &p->bishops, &p->knights, &p->pawns};
    const char *found = strchr("KQRBNPkqrbnp", letter);
    uint64_t at = UINT64_C(1) << square;
    if (!found || (p->white | p->black) & at) return false;
    *kinds[(found - "KQRBNPkqrbnp") % 6] |= at;
    *(letter < 'a' ? &p->white : &p->black) |= at;
    return true;
}

/* The position of a slot; false if two men stand on one square. */
static bool position_of(
    const char *free, const char *pawns, const uint8_t *placements, uint64_t slot, struct tbgen_position *p) {
    size_t men = strlen(free), count = strlen(pawns);
    uint64_t rest = slot;
    bool good = true;
    *p = (struct tbgen_position){0};
    for (size_t man = men - 1; man > 0; man--, rest /= 64) good = good && place(p, free[man], rest % 64);
    good = good && place(p, free[0], count ? rest % 64 : TRIANGLE[rest % 10]);
    rest /= count ? 64 : 10;
    for (size_t pawn = 0; pawn < count; pawn++)
        good = good && place(p, pawns[pawn], placements[rest * count + pawn]);
    return good;
}

int main(int count, char *arguments[]) {
    struct tbgen *tables;
#ifdef _WIN32 /* which else changes bytes that look like the ends of lines */
    _setmode(_fileno(stdin), _O_BINARY), _setmode(_fileno(stdout), _O_BINARY);
#endif
    if (count != 4 || tbgen_open(arguments[1], TBGEN_R_MOBILITY, &tables)) return 2;
    struct tbgen_room *room = tbgen_room_open(tables);
    const char *free_men = arguments[2], *pawns = arguments[3];
    uint32_t phases;
    if (!room || fread(&phases, sizeof phases, 1, stdin) != 1) return 2;
    size_t bytes = phases * strlen(pawns);
    uint8_t *placements = malloc(bytes + 1);
    if (!placements || fread(placements, 1, bytes, stdin) != bytes) return 2;
    uint64_t size = phases * (strlen(pawns) ? 64u : 10u);
    for (size_t man = 1; man < strlen(free_men); man++) size *= 64;
    int16_t *rank = calloc(2 * size, sizeof *rank); /* of the position, as the first fresh probe finds it */
    if (!rank) return 2;
    for (int16_t accrued; fread(&accrued, sizeof accrued, 1, stdin) == 1;) {
        for (uint64_t at = 0; at < 2 * size; at++) {
            struct tbgen_position position;
            struct tbgen_result result;
            int16_t found[3] = {TBGEN_FRESH, 0, 0};
            bool wanted = accrued == TBGEN_FRESH || tbgen_rank(accrued) <= rank[at];
            if (wanted && position_of(free_men, pawns, placements, at % size, &position)) {
                position.black_to_move = at >= size;
                if (!tbgen_probe(room, &position, accrued, &result)) {
                    found[0] = (int16_t)result.value;
                    found[1] = (int16_t)result.depth;
                    found[2] = (int16_t)result.position_score;
                    rank[at] = (int16_t)tbgen_rank(result.position_score);
                }
            }
            fwrite(found, sizeof *found, accrued == TBGEN_FRESH ? 3 : 2, stdout);
        }
        fflush(stdout);
    }
    free(rank);
    free(placements);
    tbgen_room_close(room);
    tbgen_close(tables);
    return 0;
}
