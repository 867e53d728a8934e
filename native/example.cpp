// What best play makes of a position, and the moves that keep it. Build it with: make -C native example
//   native/example DIR "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
#include "tbgen.h"

#include <iostream>
#include <memory>
#include <string>

static std::string text(tbgen_score score) {
    char buffer[TBGEN_SCORE_SIZE];
    tbgen_write_score(score, buffer);
    return buffer;
}

static int fail(tbgen_error error) {
    std::cerr << "example: " << tbgen_sentence(error) << '\n';
    return 1;
}

int main(int count, char *arguments[]) {
    if (count != 3) return std::cerr << "usage: example DIR FEN\n", 2;

    tbgen *opened;
    if (auto failed = tbgen_open(arguments[1], TBGEN_R_MOBILITY, &opened)) return fail(failed);
    std::unique_ptr<tbgen, decltype(&tbgen_close)> tables(opened, tbgen_close);
    std::unique_ptr<tbgen_room, decltype(&tbgen_room_close)> room(tbgen_room_open(opened), tbgen_room_close);
    if (!room) return fail(TBGEN_NO_MEMORY);

    tbgen_position position;
    tbgen_score accrued;
    tbgen_result result;
    if (auto failed = tbgen_read_fen(arguments[2], TBGEN_R_MOBILITY, &position, &accrued))
        return fail(failed);
    if (auto failed = tbgen_probe(room.get(), &position, accrued, &result)) return fail(failed);
    std::cout << "value " << text(result.value);
    if (result.depth != TBGEN_NO_DEPTH) std::cout << " in " << result.depth << " plies";
    std::cout << '\n';

    tbgen_move moves[TBGEN_MOST_MOVES];
    int found;
    if (auto failed = tbgen_moves(room.get(), &position, accrued, moves, &found)) return fail(failed);
    for (int at = 0; at < found && moves[at].result.value == result.value; at++)
        std::cout << moves[at].uci << " keeps it\n";
}
