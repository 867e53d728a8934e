/* tbgen: exact values of r-mobility chess with two to five men, from flat files that tbgen export writes.
 *
 * Copyright (C) 2026 The tbgen developers
 * Licence: MIT, see LICENSE in this folder.
 *
 * docs/native.md explains this interface, docs/theory.md the values. C11, POSIX or Windows, libc alone.
 *
 * Every function that can fail returns an enum tbgen_error, which tbgen_sentence() puts into words.
 * A struct tbgen may be used by any number of threads at once; each takes a room of its own, so that a
 * probe allocates nothing and waits for nobody. */
#ifndef TBGEN_H
#define TBGEN_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum tbgen_error {
    TBGEN_OK,
    TBGEN_NO_DIRECTORY, /* opening */
    TBGEN_NO_TABLES,
    TBGEN_NO_MEMORY,
    TBGEN_MISSING, /* probing */
    TBGEN_DAMAGED,
    TBGEN_NO_FEN, /* input */
    TBGEN_NO_SCORE,
    TBGEN_ENDED, /* an accrued score below G1.0 where the game goes on */
    TBGEN_TOO_MANY_MEN,
    TBGEN_OVERLAP,
    TBGEN_KINGS,
    TBGEN_PAWNS,
    TBGEN_IN_CHECK,
    TBGEN_EN_PASSANT,
    TBGEN_CASTLING,
    TBGEN_NOT_AT_HAND, /* peeking */
    TBGEN_ERRORS
};

enum tbgen_rules {
    TBGEN_R_MOBILITY,
    TBGEN_WHOLE_GAME /* nothing resets the accrued score */
};

/* A G-score, from White's view whoever is to move. White's score of rank r is r, Black's is -1 - r; the rank
 * is twice the number of moves of the side that has been left with them, plus 1 if it is not in check: G3.5
 * is 7, -G3.5 is -8. White likes 0 best, then 1, 2 and so on to -3, -2, -1: see tbgen_compare(). */
typedef int tbgen_score;

enum {
    TBGEN_FRESH = 0x7fff, /* no score: in the place of an accrued one, there is none but the position's own */
    TBGEN_NO_DEPTH = -1,  /* packed tables do not store all depths of accrued scores */
    TBGEN_MOST_RANK = 1999,
    TBGEN_MOST_MOVES = 128,
    TBGEN_SCORE_SIZE = 12 /* bytes of a score as text */
};

/* A position; bit 0 is a1, bit 7 h1, bit 63 h8. */
struct tbgen_position {
    uint64_t white, black;
    uint64_t kings, queens, rooks, bishops, knights, pawns;
    uint8_t ep_square; /* the square that a pawn has just passed by a double step, or 0 */
    bool black_to_move;
    bool castling; /* whether there are castling rights: no table holds such positions */
};

struct tbgen_result {
    tbgen_score value;          /* the result of best play */
    int depth;                  /* plies until the accrued score is the value, or TBGEN_NO_DEPTH */
    tbgen_score position_score; /* the position's own score */
    tbgen_score accrued;        /* the accrued score that counted, with the position's own folded in */
};

struct tbgen_move {
    char uci[6];
    uint8_t from, to;
    char promotion;             /* q, r, b, n, or 0 */
    bool zeroing;               /* a capture or a pawn move */
    struct tbgen_result result; /* of the state that the move leads to */
};

struct tbgen;      /* the tables of a directory */
struct tbgen_room; /* what one thread works with: 7 MiB */

/* Open all flat files of a directory for one set of rules; after an error `tables` receives NULL. A file that
 * is damaged is an error only when it is probed. */
enum tbgen_error tbgen_open(const char *directory, enum tbgen_rules rules, struct tbgen **tables);

/* Close what tbgen_open() has opened; all rooms must be closed before. NULL is welcome. */
void tbgen_close(struct tbgen *tables);

/* Return the number of tables. */
int tbgen_count(const struct tbgen *tables);

/* Read all pages of all tables and compare them with their checksums; `name`, unless NULL, receives the name
 * of the first table that is damaged. */
enum tbgen_error tbgen_check(const struct tbgen *tables, const char **name);

/* Make a room for one thread; NULL without memory, which tbgen_room_close() welcomes. */
struct tbgen_room *tbgen_room_open(const struct tbgen *tables);
void tbgen_room_close(struct tbgen_room *room);

/* Return the name of the table, such as "KQvKR", for which the last probe or list of moves in a room gave
 * TBGEN_MISSING or TBGEN_DAMAGED: that of the position, or one that it rests on. Else the
 * text is empty. It lasts until the next one of these in this room. */
const char *tbgen_table(const struct tbgen_room *room);

/* Look a position up. `accrued` is the score accrued since the last capture or pawn move, or TBGEN_FRESH; the
 * position's own is folded in. In mate and stalemate, and for r-mobility where an en passant capture is
 * legal, it is ignored. After an error the result means nothing. */
enum tbgen_error tbgen_probe(
    struct tbgen_room *room, const struct tbgen_position *position, tbgen_score accrued,
    struct tbgen_result *result);

/* Look up the value alone if the file states it: in all plain tables, in packed ones with one side to move,
 * unless a capture gives the value. Else give TBGEN_NOT_AT_HAND, and derive nothing. */
enum tbgen_error tbgen_peek(
    struct tbgen_room *room, const struct tbgen_position *position, tbgen_score accrued, tbgen_score *value);

/* List all legal moves, best first; the tables of all captures and promotions must be there. Among moves of
 * one value those come first that reach it sooner if the mover prefers it to the accrued score, and later if
 * not; then those whose depth is not stored. Ties go by the names of the moves. After an error, neither the
 * moves nor their count mean anything. */
enum tbgen_error tbgen_moves(
    struct tbgen_room *room, const struct tbgen_position *position, tbgen_score accrued,
    struct tbgen_move moves[TBGEN_MOST_MOVES], int *count);

/* Return a number above 0 if the first score is better for White, below 0 if it is worse, and 0 if both are
 * the same. */
int tbgen_compare(tbgen_score one, tbgen_score other);

/* Read a FEN. `accrued` receives its seventh field, or TBGEN_FRESH: without that field, and for r-mobility
 * where the halfmove clock is 0, or left out. */
enum tbgen_error tbgen_read_fen(
    const char *fen, enum tbgen_rules rules, struct tbgen_position *position, tbgen_score *accrued);

/* Read a score such as "G3.5" or "-G2.0"; write one, TBGEN_FRESH as "fresh", what is no score as "none". */
enum tbgen_error tbgen_read_score(const char *text, tbgen_score *score);
void tbgen_write_score(tbgen_score score, char text[TBGEN_SCORE_SIZE]);

/* Return the rank of a score. */
int tbgen_rank(tbgen_score score);

/* Return a sentence on an error. */
const char *tbgen_sentence(enum tbgen_error error);

#ifdef __cplusplus
}
#endif

#endif
