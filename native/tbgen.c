/* tbgen: exact values of r-mobility chess with two to five men; see tbgen.h.
 *
 * Copyright (C) 2026 The tbgen developers
 * Licence: MIT, see LICENSE in this folder.
 *
 * The flat files are described in docs/native.md, what they hold in docs/format.md. A position goes through
 * this file from top to bottom: its moves are counted, its table and its place there are found, and the place
 * is looked up in a plain table, or decoded and derived from a packed one. Inside, a position has the colours
 * of its table, and scores are numbers as in tbgen.h. */
#define _POSIX_C_SOURCE 200809L
#include "tbgen.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#define NOGDI
#include <windows.h>
#undef near /* windows.h takes these words for itself */
#undef far
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "flat files are little-endian, and are read as they are"
#endif

#define INLINED inline __attribute__((always_inline)) /* a decoder's state is to stay in registers */

typedef uint64_t squares; /* a set */
typedef enum tbgen_error outcome;

enum { WHITE, BLACK };
enum { KING, QUEEN, ROOK, BISHOP, KNIGHT, PAWN, KINDS, NO_KIND = 0 };
enum { MOST_MEN = 5 };

static const char LETTERS[] = "KQRBNP";

/* ------------------------------------------------------------------------------------------------- scores */

enum { NONE = 127, FRESH = -128 }; /* codes that stand for no score, as numbers */

static tbgen_score score_of_code(uint8_t code) { return (int8_t)code; }

int tbgen_rank(tbgen_score score) { return score < 0 ? ~score : score; }

static tbgen_score own_score(int side, int rank) { return side == WHITE ? ~rank : rank; }

/* The greater, the better for a side. */
static int merit(int side, tbgen_score score) {
    int merit = score >= 0 ? 4096 - score : -4096 - score;
    return side == WHITE ? merit : -merit;
}

/* On equal rank the first holder keeps the score. */
static tbgen_score fold(tbgen_score accrued, tbgen_score own) {
    return accrued == TBGEN_FRESH || tbgen_rank(own) < tbgen_rank(accrued) ? own : accrued;
}

/* ------------------------------------------------------------------------------------- boards and attacks */

struct board {
    squares of[2][KINDS]; /* by colour and kind */
    squares all[2];
    int side; /* to move */
    int ep;   /* the square that a pawn has just passed, or 0 */
};

static squares bit(int square) { return UINT64_C(1) << square; }
static int lowest(squares set) { return __builtin_ctzll(set); }
static int count_of(squares set) { return __builtin_popcountll(set); }
static squares turned(squares set) { return __builtin_bswap64(set); } /* ranks swapped */
static squares rotated(squares set, int by) { return set << (by & 63) | set >> (-by & 63); }

#define NOT_A UINT64_C(0xfefefefefefefefe)
#define NOT_H UINT64_C(0x7f7f7f7f7f7f7f7f)
#define NOT_1 UINT64_C(0xffffffffffffff00)
#define NOT_8 UINT64_C(0x00ffffffffffffff)
#define LAST_RANKS (~NOT_1 | ~NOT_8)

/* Squares that a slider reaches in one direction: a step is a rotation, `inside` are the squares that a step
 * can end on without leaving the board (Kogge-Stone). */
static inline squares ray(squares from, squares empty, int step, squares inside) {
    empty &= inside;
    from |= empty & rotated(from, step);
    empty &= rotated(empty, step);
    from |= empty & rotated(from, 2 * step);
    empty &= rotated(empty, 2 * step);
    from |= empty & rotated(from, 4 * step);
    return rotated(from, step) & inside;
}

static squares rook_attacks(squares from, squares empty) {
    return ray(from, empty, 1, NOT_A) | ray(from, empty, -1, NOT_H) | ray(from, empty, 8, NOT_1) |
           ray(from, empty, -8, NOT_8);
}

static squares bishop_attacks(squares from, squares empty) {
    return ray(from, empty, 9, NOT_A & NOT_1) | ray(from, empty, -9, NOT_H & NOT_8) |
           ray(from, empty, 7, NOT_H & NOT_1) | ray(from, empty, -7, NOT_A & NOT_8);
}

static squares king_attacks(squares from) {
    squares row = from | (from << 1 & NOT_A) | (from >> 1 & NOT_H);
    return (row | row << 8 | row >> 8) & ~from;
}

static squares knight_attacks(squares from) {
    squares near = (from << 1 & NOT_A) | (from >> 1 & NOT_H);
    squares far = (from << 2 & NOT_A & NOT_A << 1) | (from >> 2 & NOT_H & NOT_H >> 1);
    return near << 16 | near >> 16 | far << 8 | far >> 8;
}

static squares pawn_attacks(int side, squares from) {
    return side == WHITE ? (from << 9 & NOT_A) | (from << 7 & NOT_H)
                         : (from >> 7 & NOT_A) | (from >> 9 & NOT_H);
}

/* Squares that men of one kind attack. */
static squares attacks(int kind, squares from, squares empty) {
    switch (kind) {
    case KING: return king_attacks(from);
    case QUEEN: return rook_attacks(from, empty) | bishop_attacks(from, empty);
    case ROOK: return rook_attacks(from, empty);
    case BISHOP: return bishop_attacks(from, empty);
    default: return knight_attacks(from);
    }
}

/* All squares that a side attacks. */
static squares attacked_by(const struct board *b, int side, squares empty) {
    const squares *of = b->of[side];
    squares found = king_attacks(of[KING]) | knight_attacks(of[KNIGHT]) | pawn_attacks(side, of[PAWN]);
    if (of[QUEEN] | of[ROOK]) found |= rook_attacks(of[QUEEN] | of[ROOK], empty);
    if (of[QUEEN] | of[BISHOP]) found |= bishop_attacks(of[QUEEN] | of[BISHOP], empty);
    return found;
}

/* Whether a man of this kind attacks one square from another if nothing is between, and what is between. */
static bool in_line(int kind, int from, int to, squares *between) {
    int files = (to & 7) - (from & 7), ranks = (to >> 3) - (from >> 3);
    bool straight = !files || !ranks, slanting = files == ranks || files == -ranks;
    *between = 0;
    if (kind >= KNIGHT || kind == KING) return attacks(kind, bit(from), 0) & bit(to);
    if (!(straight && kind != BISHOP) && !(slanting && kind != ROOK)) return false;
    int step = 8 * ((ranks > 0) - (ranks < 0)) + (files > 0) - (files < 0);
    for (int at = from + step; at != to; at += step) *between |= bit(at);
    return true;
}

/* -------------------------------------------------------------------------------------------------- moves */

struct moves {
    int men;
    int count;    /* a promotion counts four times */
    bool check;   /* whether the side to move is in check */
    bool passing; /* whether an en passant capture is legal */
    struct {
        int kind, from;
        squares to;
    } of[MOST_MEN];
};

/* What a side must heed: the squares that its men, but the king, may go to, and its pinned men. */
struct duties {
    squares allowed;
    int pins;
    squares pinned[MOST_MEN], along[MOST_MEN];
};

static void find_duties(const struct board *b, struct duties *found) {
    int king = lowest(b->of[b->side][KING]), them = 1 - b->side;
    squares all = b->all[0] | b->all[1], between;
    found->allowed = ~b->all[b->side];
    found->pins = 0;
    for (int kind = QUEEN; kind <= BISHOP; kind++) {
        for (squares left = b->of[them][kind]; left; left &= left - 1) {
            int slider = lowest(left);
            if (!in_line(kind, slider, king, &between)) continue;
            squares blocking = between & all;
            if (!blocking) {
                found->allowed &= between | bit(slider);
            } else if (!(blocking & (blocking - 1)) && blocking & b->all[b->side]) {
                found->pinned[found->pins] = blocking;
                found->along[found->pins++] = between | bit(slider);
            }
        }
    }
    squares near = knight_attacks(bit(king)) & b->of[them][KNIGHT];
    near |= pawn_attacks(b->side, bit(king)) & b->of[them][PAWN];
    for (; near; near &= near - 1) found->allowed &= near & -near;
}

/* Whether a pawn's en passant capture leaves its king unattacked. */
static bool passing_is_legal(const struct board *b, int pawn) {
    squares captured = bit(b->side == WHITE ? b->ep - 8 : b->ep + 8);
    squares all = ((b->all[0] | b->all[1]) ^ bit(pawn) ^ captured) | bit(b->ep);
    struct board after = *b;
    after.of[1 - b->side][PAWN] &= ~captured;
    return !(attacked_by(&after, 1 - b->side, ~all) & b->of[b->side][KING]);
}

static squares pawn_targets(const struct board *b, int pawn, squares heeded, bool *passing) {
    squares from = bit(pawn), empty = ~(b->all[0] | b->all[1]), them = b->all[1 - b->side], to;
    if (b->side == WHITE) {
        to = from << 8 & empty;
        if (pawn < 16) to |= to << 8 & empty;
    } else {
        to = from >> 8 & empty;
        if (pawn >= 48) to |= to >> 8 & empty;
    }
    squares diagonal = pawn_attacks(b->side, from);
    to = (to | (diagonal & them)) & heeded;
    if (b->ep && diagonal & bit(b->ep) && passing_is_legal(b, pawn)) {
        *passing = true;
        to |= bit(b->ep);
    }
    return to;
}

/* Find the legal moves of a position with at most five men. */
static void find_moves(const struct board *b, struct moves *found) {
    int side = b->side;
    squares king = b->of[side][KING], all = b->all[0] | b->all[1];
    squares danger = attacked_by(b, 1 - side, ~(all ^ king));
    struct duties duties;
    find_duties(b, &duties);
    found->check = danger & king;
    found->passing = false;
    found->men = 1;
    found->of[0].kind = KING;
    found->of[0].from = lowest(king);
    found->of[0].to = king_attacks(king) & ~b->all[side] & ~danger;
    found->count = count_of(found->of[0].to);
    for (int kind = QUEEN; kind <= PAWN; kind++) {
        for (squares left = b->of[side][kind]; left; left &= left - 1) {
            int from = lowest(left);
            squares heeded = duties.allowed;
            for (int pin = 0; pin < duties.pins; pin++)
                if (duties.pinned[pin] & bit(from)) heeded &= duties.along[pin];
            squares to = kind == PAWN ? pawn_targets(b, from, heeded, &found->passing)
                                      : attacks(kind, bit(from), ~all) & heeded;
            found->of[found->men].kind = kind;
            found->of[found->men].from = from;
            found->of[found->men++].to = to;
            found->count += count_of(to);
            if (kind == PAWN) found->count += 3 * count_of(to & LAST_RANKS);
        }
    }
}

static int rank_of(const struct moves *moves) { return 2 * moves->count + !moves->check; }

/* Make a move of a man; `promotion` is its new kind, or NO_KIND. */
static struct board after_move(const struct board *b, int kind, int from, int to, int promotion) {
    struct board after = *b;
    int side = b->side, them = 1 - side;
    squares gone = bit(to);
    if (kind == PAWN && b->ep && to == b->ep) gone = bit(side == WHITE ? to - 8 : to + 8);
    if (gone & b->all[them]) {
        for (int each = QUEEN; each <= PAWN; each++) after.of[them][each] &= ~gone;
        after.all[them] &= ~gone;
    }
    after.of[side][kind] ^= bit(from);
    after.of[side][promotion ? promotion : kind] |= bit(to);
    after.all[side] ^= bit(from) | bit(to);
    after.side = them;
    after.ep = kind == PAWN && (to - from == 16 || from - to == 16) ? (from + to) / 2 : 0;
    return after;
}

/* A walk over all moves of a position. */
struct step {
    int kind, from, to, promotion;
    bool capture, zeroing;
};

struct walk {
    int man, promotion;
    squares left;
};

static bool
next_move(const struct board *b, const struct moves *moves, struct walk *walk, struct step *step) {
    while (!walk->left) {
        if (walk->man == moves->men) return false;
        walk->left = moves->of[walk->man++].to;
    }
    step->kind = moves->of[walk->man - 1].kind;
    step->from = moves->of[walk->man - 1].from;
    step->to = lowest(walk->left);
    bool promotes = step->kind == PAWN && bit(step->to) & LAST_RANKS;
    step->promotion = promotes ? ++walk->promotion : NO_KIND;
    if (!promotes || walk->promotion == KNIGHT) {
        walk->left &= walk->left - 1;
        walk->promotion = 0;
    }
    step->capture = bit(step->to) & b->all[1 - b->side];
    step->zeroing = step->capture || step->kind == PAWN;
    return true;
}

/* The same position with the colours exchanged. */
static struct board swapped(const struct board *b) {
    struct board other = {.side = 1 - b->side, .ep = b->ep ? b->ep ^ 56 : 0};
    for (int side = WHITE; side <= BLACK; side++) {
        for (int kind = KING; kind <= PAWN; kind++) other.of[side][kind] = turned(b->of[1 - side][kind]);
        other.all[side] = turned(b->all[1 - side]);
    }
    return other;
}

/* -------------------------------------------------------------------------------------------------- files */

enum { PAGE = 4096, VERSION = 3, HEAD = 80, NAME_SIZE = 16 };
enum { EXCEPTION_BITS = 16, WIDE = 16, STEP_SIZE = 64, TOTAL_BITS = 12, TOTAL = 1 << TOTAL_BITS };
enum { KING_CLASSES = 96 };
enum { LEAST_ROWS = 16, MOST_ROWS = 64, MOST_SLOTS = 64 * MOST_ROWS }; /* of a block */

/* The contexts of level 1, and into how many parts each further level divides one. */
static const uint32_t VALUE_LEVELS[] = {128, 32, 8, KING_CLASSES, 0},
                      DEPTH_LEVELS[] = {128, 108, 4, 4, KING_CLASSES, 0},
                      FUNCTION_LEVELS[] = {513, 32, 16, KING_CLASSES, 0}, NO_LEVELS[] = {0};

#define DIVIDED (UINT32_C(1) << 31) /* in the entry of a context: its parts have entries of their own */

/* clang-format off */
enum section {
    PHASE, EP_CONFIG, /* those before VALUE are checked when the file is opened */
    CODE, VALUE_START, VALUE_STEP, DEPTH_START, DEPTH_STEP, FUNCTION_START, FUNCTION_STEP,
    VALUE, DEPTH, RUN_MASK, RUN_START, RUN_RANK, RUN_VALUE, RUN_DEPTH,
    BLOCK_START, BLOCK_DATA,
    EXCEPTION_START, EXCEPTION_SLOT, EXCEPTION_VALUE, EXCEPTION_DEPTH,
    ENTRY_START, ENTRY_FROM, ENTRY_VALUE, EP_VALUE, EP_DEPTH,
    CHECKS, SECTIONS
};
/* clang-format on */

struct part {
    const uint8_t *at;
    uint64_t size; /* bytes */
};

struct table {
    char name[NAME_SIZE];
    bool good; /* else the file cannot be used */
    bool packed;
    int stored_side;
    const uint8_t *map;
    uint64_t size;
    struct part of[SECTIONS];
    _Atomic uint8_t *checked; /* a byte for each page: 1 if its checksum is right */

    int free, pawns, white_pawns; /* numbers of men */
    int kind[MOST_MEN], colour[MOST_MEN];
    int order[MOST_MEN]; /* of a packed table: free men from the first digit of a row to the row man */
    int like_pairs, like[MOST_MEN]; /* free men that are of the kind and colour of the one before */
    int block_rows;
    uint64_t phases, phase_size;
};

struct entry { /* of the directory of materials, a hash table */
    uint32_t key;
    int16_t table;
    bool swapped;
};

enum { ENTRIES = 1024 };

struct tbgen {
    enum tbgen_rules rules;
    int count;
    struct table *tables;
    struct entry entry[ENTRIES];
    uint32_t crc[8][256];
};

/* CRC-32 as in zlib, eight bytes at a time. */
static void make_crc(uint32_t crc[8][256]) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int step = 0; step < 8; step++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
        crc[0][byte] = sum;
    }
    for (int row = 1; row < 8; row++)
        for (int byte = 0; byte < 256; byte++)
            crc[row][byte] = crc[row - 1][byte] >> 8 ^ crc[0][crc[row - 1][byte] & 255];
}

static uint32_t checksum(const uint32_t crc[8][256], const uint8_t *data, int size) {
    uint32_t sum = UINT32_MAX;
    for (; size >= 8; data += 8, size -= 8) {
        uint32_t low, high;
        memcpy(&low, data, 4);
        memcpy(&high, data + 4, 4);
        low ^= sum;
        sum = crc[7][low & 255] ^ crc[6][low >> 8 & 255] ^ crc[5][low >> 16 & 255] ^ crc[4][low >> 24] ^
              crc[3][high & 255] ^ crc[2][high >> 8 & 255] ^ crc[1][high >> 16 & 255] ^ crc[0][high >> 24];
    }
    for (; size; data++, size--) sum = sum >> 8 ^ crc[0][(sum ^ *data) & 255];
    return ~sum;
}

/* Whether a page has the checksum that is stated. The fuzzer takes any, so that damage gets further. */
static bool agrees(const struct tbgen *tables, const uint8_t *page, uint32_t stated) {
#ifdef TBGEN_FUZZING
    stated = checksum(tables->crc, page, PAGE);
#endif
    return checksum(tables->crc, page, PAGE) == stated;
}

/* Check one page and remember it. */
static bool check_page(const struct tbgen *tables, const struct table *t, uint64_t page) {
    uint32_t stated;
    memcpy(&stated, t->of[CHECKS].at + 4 * (page - 1), 4);
    if (!agrees(tables, t->map + page * PAGE, stated)) return false;
    atomic_store_explicit(&t->checked[page], 1, memory_order_relaxed);
    return true;
}

/* Whether some elements of a section are there and what was written: the pages that they lie on are checked
 * when they are read first. */
static bool sound(
    const struct tbgen *tables, const struct table *t, enum section section, uint64_t first, uint64_t count,
    unsigned width) {
    const struct part *part = &t->of[section];
    if (first > part->size || count > part->size || (first + count) * width > part->size) return false;
    if (!count) return true;
    uint64_t start = (uint64_t)(part->at - t->map) + first * width;
    for (uint64_t page = start / PAGE; page <= (start + count * width - 1) / PAGE; page++)
        if (!atomic_load_explicit(&t->checked[page], memory_order_relaxed) && !check_page(tables, t, page))
            return false;
    return true;
}

static uint64_t u8_at(const struct table *t, enum section section, uint64_t index) {
    return t->of[section].at[index];
}
static uint64_t u16_at(const struct table *t, enum section section, uint64_t index) {
    return ((const uint16_t *)t->of[section].at)[index];
}
static uint64_t u32_at(const struct table *t, enum section section, uint64_t index) {
    return ((const uint32_t *)t->of[section].at)[index];
}
static uint64_t u64_at(const struct table *t, enum section section, uint64_t index) {
    return ((const uint64_t *)t->of[section].at)[index];
}

/* A depth of a section that belongs to a section of bytes: it has one byte for each of these, or two. */
static bool depth_at(
    const struct tbgen *tables, const struct table *t, enum section section, enum section bytes,
    uint64_t index, int *depth) {
    unsigned width = t->of[section].size == t->of[bytes].size ? 1 : 2;
    if (!sound(tables, t, section, index, 1, width)) return false;
    *depth = width == 1 ? (int)u8_at(t, section, index) : (int)u16_at(t, section, index);
    return true;
}

/* Number of men by kind of one side of a name such as KBN; returns where the name goes on, or NULL. */
static const char *read_men(const char *name, int men[KINDS]) {
    memset(men, 0, KINDS * sizeof *men);
    for (; *name && *name != 'v' && *name != '.'; name++) {
        const char *letter = strchr(LETTERS, *name);
        if (!letter) return NULL;
        men[letter - LETTERS]++;
    }
    return men[KING] == 1 ? name : NULL;
}

static uint32_t key_of(const int white[KINDS], const int black[KINDS]) {
    uint32_t key = 0;
    for (int kind = QUEEN; kind <= PAWN; kind++)
        key = key << 6 | (uint32_t)white[kind] << 3 | (uint32_t)black[kind];
    return key;
}

/* Find the order of the index of a material, whose key is set; false if the name is none. */
static bool lay_out(struct table *t, int men[2][KINDS]) {
    const char *end = read_men(t->name, men[WHITE]);
    if (!end || *end != 'v' || !(end = read_men(end + 1, men[BLACK])) || *end) return false;
    int total = 0;
    for (int side = WHITE; side <= BLACK; side++)
        for (int kind = KING; kind <= PAWN; kind++) total += men[side][kind];
    if (total > MOST_MEN) return false;
    t->white_pawns = men[WHITE][PAWN];
    t->pawns = t->white_pawns + men[BLACK][PAWN];
    t->free = 2;
    t->kind[0] = t->kind[1] = KING;
    t->colour[0] = WHITE;
    t->colour[1] = BLACK;
    t->block_rows = LEAST_ROWS;
    for (int side = WHITE; side <= BLACK; side++) {
        for (int kind = QUEEN; kind <= KNIGHT; kind++) {
            for (int man = 0; man < men[side][kind]; man++) {
                if (man) t->like[t->like_pairs++] = t->free;
                if (LEAST_ROWS << man > t->block_rows) t->block_rows = LEAST_ROWS << man;
                t->kind[t->free] = kind;
                t->colour[t->free++] = side;
            }
        }
    }
    t->phase_size = t->pawns ? 64 : 10;
    for (int man = 1; man < t->free; man++) t->phase_size *= 64;
    return true;
}

/* The order of the digits of a packed table: the side that is not stored, then the other; kings, then pieces,
 * knights before sliders. */
static void find_order(struct table *t) {
    int count = 0;
    for (int turn = 0; turn < 2; turn++) {
        int side = turn ? t->stored_side : 1 - t->stored_side;
        t->order[count++] = side;
        for (int kind = KNIGHT; kind >= QUEEN; kind--)
            for (int man = 2; man < t->free; man++)
                if (t->kind[man] == kind && t->colour[man] == side) t->order[count++] = man;
    }
}

static bool has(const struct table *t, enum section section, uint64_t count, unsigned width) {
    return t->of[section].size == count * width;
}

static bool has_depths(const struct table *t, enum section section, enum section bytes) {
    return t->of[section].size == t->of[bytes].size || t->of[section].size == 2 * t->of[bytes].size;
}

/* Whether a model has all entries of its contexts, level by level, and steps that end. */
static bool has_model(const struct table *t, enum section start, const uint32_t *levels) {
    uint64_t steps = t->of[start + 1].size / STEP_SIZE, first = 0, end = levels[0];
    for (int level = 0; levels[level]; level++) {
        uint64_t parts = levels[level + 1], next = end;
        if (end > t->of[start].size / 4) return false;
        for (; first < end; first++) {
            uint64_t entry = u32_at(t, start, first);
            if (entry & DIVIDED ? !parts || entry != (DIVIDED | next) : entry >= steps) return false;
            if (entry & DIVIDED) next += parts;
        }
        end = next;
    }
    for (uint64_t step = 0; step < steps; step++) {
        uint64_t next = u32_at(t, start + 1, (step + 1) * (STEP_SIZE / 4) - 1);
        bool last = u16_at(t, start + 1, step * (STEP_SIZE / 2) + WIDE) == TOTAL;
        if (!last && (next <= step || next >= steps)) return false;
    }
    return has(t, start, end, 4) && has(t, start + 1, steps, STEP_SIZE);
}

/* Whether the sections have the sizes that the material asks for. */
static bool fits(const struct table *t, enum tbgen_rules rules) {
    uint64_t size = t->phases * t->phase_size, blocks = size / 64 / (unsigned)t->block_rows,
             configs = t->of[EP_CONFIG].size / 4;
    bool accrued = rules == TBGEN_R_MOBILITY;
    if (!has(t, EP_CONFIG, configs, 4) || !has(t, EP_VALUE, configs * t->phase_size, 1)) return false;
    if (!has_depths(t, EP_DEPTH, EP_VALUE)) return false;
    if (!t->packed) {
        uint64_t words = accrued ? 4 * (size / 64) : 0;
        return has(t, VALUE, 2 * size, 1) && has_depths(t, DEPTH, VALUE) && has(t, RUN_MASK, words, 8) &&
               has(t, RUN_START, words, 4) && has(t, RUN_VALUE, t->of[RUN_RANK].size, 1) &&
               has_depths(t, RUN_DEPTH, RUN_RANK);
    }
    uint64_t functions = t->of[ENTRY_START].size / 4;
    return has_model(t, VALUE_START, VALUE_LEVELS) && has_model(t, DEPTH_START, DEPTH_LEVELS) &&
           has_model(t, FUNCTION_START, accrued ? FUNCTION_LEVELS : NO_LEVELS) &&
           has(t, BLOCK_START, 3 * blocks + 1, 4) &&
           has(t, EXCEPTION_START, (size >> EXCEPTION_BITS) + 2, 4) &&
           has(t, EXCEPTION_SLOT, t->of[EXCEPTION_VALUE].size, 2) &&
           has_depths(t, EXCEPTION_DEPTH, EXCEPTION_VALUE) && has(t, ENTRY_START, functions, 4) &&
           has(t, ENTRY_VALUE, t->of[ENTRY_FROM].size, 1) && (functions || !accrued);
}

/* Take over the header; false if it is none, or says what cannot be. */
static bool read_header(const struct tbgen *tables, struct table *t) {
    uint8_t header[PAGE];
    uint32_t version, stated;
    uint64_t size, end = PAGE;
    if (t->size < PAGE) return false;
    memcpy(header, t->map, PAGE);
    memcpy(&version, header + 8, 4);
    memcpy(&stated, header + 12, 4);
    memcpy(&size, header + 16, 8);
    memset(header + 12, 0, 4);
    if (!agrees(tables, header, stated) || memcmp(header, "tbgflat", 8) || version != VERSION ||
        size != t->size)
        return false;
    if (memcmp(header + 24, t->name, NAME_SIZE) || header[40] != (uint8_t)tables->rules) return false;
    t->packed = header[41];
    t->stored_side = header[42] & 1;
    for (int section = 0; section < SECTIONS; section++) {
        uint64_t place[2];
        memcpy(place, header + HEAD + 16 * section, 16);
        if (place[0] < end || place[0] % 8 || place[0] > size || place[1] > size - place[0]) return false;
        t->of[section] = (struct part){t->map + place[0], place[1]};
        end = place[0] + place[1];
    }
    uint64_t pages = (uint64_t)(t->of[CHECKS].at - t->map) / PAGE;
    return t->of[CHECKS].at == t->map + pages * PAGE && has(t, CHECKS, pages - 1, 4);
}

/* Read what is needed to find positions; false if the file is damaged. */
static bool read_table(const struct tbgen *tables, struct table *t) {
    if (!read_header(tables, t)) return false;
    for (enum section section = 0; section < VALUE; section++)
        if (!sound(tables, t, section, 0, t->of[section].size, 1)) return false;
    uint64_t placements = 1;
    for (int pawn = 0; pawn < t->pawns; pawn++) placements *= 48;
    if (!has(t, PHASE, t->pawns ? placements : 0, 4)) return false;
    t->phases = t->pawns ? 0 : 1;
    for (uint64_t at = 0; at < t->of[PHASE].size / 4; at++) {
        uint64_t phase = u32_at(t, PHASE, at);
        if (phase != UINT32_MAX && phase / 4 >= t->phases) t->phases = phase / 4 + 1;
    }
    find_order(t);
    return t->phases <= placements && fits(t, tables->rules);
}

/* Map a file into memory; NULL if that cannot be done. */
#ifdef _WIN32
static const uint8_t *map_file(const char *path, uint64_t *size) {
    LARGE_INTEGER bytes = {.QuadPart = 0};
    void *map = NULL;
    HANDLE file = CreateFileA(
        path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL,
        NULL);
    if (file == INVALID_HANDLE_VALUE) return NULL;
    HANDLE mapping = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
    if (mapping) {
        if (GetFileSizeEx(file, &bytes)) map = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
        CloseHandle(mapping);
    }
    CloseHandle(file);
    *size = (uint64_t)bytes.QuadPart;
    return map;
}

static void unmap_file(const uint8_t *map, uint64_t size) {
    (void)size;
    UnmapViewOfFile(map);
}
#else
static const uint8_t *map_file(const char *path, uint64_t *size) {
    struct stat about = {.st_size = 0};
    void *map = MAP_FAILED;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return NULL;
    if (!fstat(descriptor, &about) && S_ISREG(about.st_mode) && about.st_size > 0)
        map = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    *size = (uint64_t)about.st_size;
    return map == MAP_FAILED ? NULL : map;
}

static void unmap_file(const uint8_t *map, uint64_t size) { munmap((void *)map, (size_t)size); }
#endif

static struct entry *entry_of(const struct tbgen *tables, uint32_t key) {
    uint32_t at = key * 2654435761u >> 22; /* Knuth's multiplier */
    while (tables->entry[at].table >= 0 && tables->entry[at].key != key) at = (at + 1) % ENTRIES;
    return (struct entry *)&tables->entry[at];
}

/* Add the table of a file, if its name is that of one; false if there is not enough memory. */
static bool add_table(struct tbgen *tables, const char *directory, const char *file) {
    char path[4096];
    const char *ending = tables->rules == TBGEN_R_MOBILITY ? ".r.flat" : ".wg.flat", *dot = strchr(file, '.');
    if (!dot || strcmp(dot, ending) || dot - file >= NAME_SIZE || tables->count >= ENTRIES / 4) return true;
    struct table *t = &tables->tables[tables->count];
    int men[2][KINDS];
    memset(t, 0, sizeof *t);
    memcpy(t->name, file, (size_t)(dot - file));
    if (!lay_out(t, men)) return true;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, file) < sizeof path)
        t->map = map_file(path, &t->size);
    if (t->map) t->checked = calloc(t->size / PAGE + 1, 1);
    t->good = t->checked && read_table(tables, t);
    for (int turn = 0; turn < 2; turn++) {
        uint32_t key = key_of(men[turn], men[1 - turn]);
        struct entry *entry = entry_of(tables, key);
        if (entry->table < 0) *entry = (struct entry){key, (int16_t)tables->count, turn};
    }
    tables->count++;
    return t->checked || !t->map;
}

outcome tbgen_open(const char *directory, enum tbgen_rules rules, struct tbgen **opened) {
    *opened = NULL;
    DIR *stream = opendir(directory);
    if (!stream) return TBGEN_NO_DIRECTORY;
    struct tbgen *tables = calloc(1, sizeof *tables);
    if (tables) tables->tables = calloc(ENTRIES / 4, sizeof *tables->tables);
    if (!tables || !tables->tables) {
        free(tables);
        closedir(stream);
        return TBGEN_NO_MEMORY;
    }
    tables->rules = rules;
    make_crc(tables->crc);
    for (int at = 0; at < ENTRIES; at++) tables->entry[at].table = -1;
    bool enough = true;
    for (struct dirent *file; enough && (file = readdir(stream));)
        enough = add_table(tables, directory, file->d_name);
    closedir(stream);
    if (!enough || !tables->count) {
        tbgen_close(tables);
        return enough ? TBGEN_NO_TABLES : TBGEN_NO_MEMORY;
    }
    *opened = tables;
    return TBGEN_OK;
}

void tbgen_close(struct tbgen *tables) {
    if (!tables) return;
    for (int at = 0; at < tables->count; at++) {
        free((void *)tables->tables[at].checked);
        if (tables->tables[at].map) unmap_file(tables->tables[at].map, tables->tables[at].size);
    }
    free(tables->tables);
    free(tables);
}

int tbgen_count(const struct tbgen *tables) { return tables->count; }

outcome tbgen_check(const struct tbgen *tables, const char **name) {
    for (int at = 0; at < tables->count; at++) {
        const struct table *t = &tables->tables[at];
        bool good = t->good;
        uint64_t pages = good ? (uint64_t)(t->of[CHECKS].at - t->map) / PAGE : 0;
        for (uint64_t page = 1; good && page < pages; page++) good = check_page(tables, t, page);
        if (good) continue;
        if (name) *name = t->name;
        return TBGEN_DAMAGED;
    }
    return TBGEN_OK;
}

/* ------------------------------------------------------------------------------------------------- places */

/* Where a table has a position. */
struct place {
    uint32_t phase;
    bool mirrored;     /* whether the files are mirrored, as the pawns ask */
    uint8_t square[8]; /* of the free men, in the canonical image */
};

/* Name a material as tables are named: the side with more men first, else the stronger one. */
static void name_material(int men[2][KINDS], char name[NAME_SIZE]) {
    int lead = 0, first = WHITE;
    for (int kind = PAWN; kind >= KING; kind--)
        if (men[WHITE][kind] != men[BLACK][kind]) lead = men[WHITE][kind] - men[BLACK][kind];
    int more = 0;
    for (int kind = KING; kind <= PAWN; kind++) more += men[WHITE][kind] - men[BLACK][kind];
    if ((more ? more : lead) < 0) first = BLACK;
    for (int turn = 0; turn < 2; turn++) {
        if (turn) *name++ = 'v';
        for (int kind = KING; kind <= PAWN; kind++)
            for (int man = 0; man < men[turn ? 1 - first : first][kind]; man++) *name++ = LETTERS[kind];
    }
    *name = 0;
}

/* Find the table of a position, and whether it has the colours exchanged; `missing` receives its name where
 * it is missing. */
static outcome find_table(
    const struct tbgen *tables, const struct board *b, const struct table **found, bool *exchanged,
    char missing[NAME_SIZE]) {
    int men[2][KINDS];
    for (int side = WHITE; side <= BLACK; side++)
        for (int kind = KING; kind <= PAWN; kind++)
            men[side][kind] = b->of[side][kind] ? count_of(b->of[side][kind]) : 0;
    const struct entry *entry = entry_of(tables, key_of(men[WHITE], men[BLACK]));
    if (entry->table < 0) {
        name_material(men, missing);
        return TBGEN_MISSING;
    }
    *found = &tables->tables[entry->table];
    *exchanged = entry->swapped;
    return (*found)->good ? TBGEN_OK : TBGEN_DAMAGED;
}

static void sort_like(const struct table *t, uint8_t square[MOST_MEN]) {
    for (int again = 0; again < t->like_pairs; again++) {
        for (int pair = 0; pair < t->like_pairs; pair++) {
            uint8_t *first = &square[t->like[pair] - 1];
            if (first[0] > first[1]) {
                uint8_t other = first[0];
                first[0] = first[1];
                first[1] = other;
            }
        }
    }
}

static int transposed(int square) { return (square & 7) << 3 | square >> 3; }

/* Take the image of a position by a symmetry if it comes first in the index. */
static void take_smaller(const struct table *t, uint8_t square[MOST_MEN], bool transpose) {
    uint8_t image[MOST_MEN] = {0};
    for (int man = 0; man < t->free; man++)
        image[man] = (uint8_t)(transpose ? transposed(square[man]) : square[man] ^ 7);
    sort_like(t, image);
    if (memcmp(image, square, (size_t)t->free) < 0) memcpy(square, image, (size_t)t->free);
}

/* Find the phase of the pawns of a position; false if they cannot stand so. */
static bool find_phase(const struct table *t, const struct board *b, struct place *place, bool *both) {
    uint64_t number = 0;
    for (int side = WHITE; side <= BLACK; side++)
        for (squares left = b->of[side][PAWN]; left; left &= left - 1)
            number = number * 48 + (uint64_t)(lowest(left) - 8);
    uint32_t found = (uint32_t)u32_at(t, PHASE, number);
    place->phase = found >> 2;
    place->mirrored = found & 1;
    *both = found & 2;
    return found != UINT32_MAX;
}

/* Find the place of a position that has the colours of the table. */
static bool find_place(const struct table *t, const struct board *b, struct place *place) {
    bool both = false, transpose = false;
    int turn = 0;
    place->phase = 0;
    place->mirrored = false;
    if (t->pawns) {
        if (!find_phase(t, b, place, &both)) return false;
        turn = place->mirrored ? 7 : 0;
    } else {
        int king = lowest(b->of[WHITE][KING]);
        turn = (king & 4 ? 7 : 0) | (king & 32 ? 56 : 0);
        int file = (king ^ turn) & 7, rank = (king ^ turn) >> 3;
        transpose = rank > file;
        both = rank == file;
    }
    squares left = 0;
    for (int man = 0; man < t->free; man++) {
        if (!left) left = b->of[t->colour[man]][t->kind[man]];
        int square = lowest(left) ^ turn;
        place->square[man] = (uint8_t)(transpose ? transposed(square) : square);
        left &= left - 1;
    }
    if (t->like_pairs) sort_like(t, place->square);
    if (both) take_smaller(t, place->square, !t->pawns);
    return true;
}

/* The number of a king's square in the triangle a1-d1-d4: a1 b1 c1 d1 b2 c2 d2 c3 d3 d4. */
static const uint8_t TRIANGLE[] = {0, 1, 2, 3, 9, 10, 11, 18, 19, 27};
static const uint8_t IN_TRIANGLE[28] = {0, 1, 2, 3, [9] = 4, 5, 6, [18] = 7, 8, [27] = 9};

/* The slot of a place, within its phase. */
static uint64_t slot_within(const struct table *t, const struct place *place) {
    uint64_t slot = t->pawns ? place->square[0] : IN_TRIANGLE[place->square[0]];
    for (int man = 1; man < t->free; man++) slot = slot << 6 | place->square[man];
    return slot;
}

static uint64_t slot_of(const struct table *t, const struct place *place) {
    return place->phase * t->phase_size + slot_within(t, place);
}

/* ---------------------------------------------------------------------------- plain tables and en passant */

struct goal {
    tbgen_score value;
    int depth;
};

static outcome goal_of_code(uint64_t code, int depth, struct goal *goal) {
    goal->value = score_of_code((uint8_t)code);
    goal->depth = depth;
    return goal->value == NONE || goal->value == FRESH ? TBGEN_DAMAGED : TBGEN_OK;
}

/* W and D of a position with the right to capture en passant. */
static outcome look_up_passing(
    const struct tbgen *tables, const struct table *t, const struct place *place, int ep, struct goal *goal) {
    uint64_t wanted = (uint64_t)place->phase << 6 | (uint64_t)(place->mirrored ? ep ^ 7 : ep);
    uint64_t low = 0, high = t->of[EP_CONFIG].size / 4;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (u32_at(t, EP_CONFIG, middle) < wanted) low = middle + 1;
        else high = middle;
    }
    if (low == t->of[EP_CONFIG].size / 4 || u32_at(t, EP_CONFIG, low) != wanted) return TBGEN_DAMAGED;
    uint64_t at = low * t->phase_size + slot_within(t, place);
    int depth;
    if (!sound(tables, t, EP_VALUE, at, 1, 1) || !depth_at(tables, t, EP_DEPTH, EP_VALUE, at, &depth))
        return TBGEN_DAMAGED;
    return goal_of_code(u8_at(t, EP_VALUE, at), depth, goal);
}

static outcome look_up_plain(
    const struct tbgen *tables, const struct table *t, const struct place *place, int side,
    struct goal *goal) {
    uint64_t at = (uint64_t)side * t->phases * t->phase_size + slot_of(t, place);
    int depth;
    if (!sound(tables, t, VALUE, at, 1, 1) || !depth_at(tables, t, DEPTH, VALUE, at, &depth))
        return TBGEN_DAMAGED;
    return goal_of_code(u8_at(t, VALUE, at), depth, goal);
}

/* V(P, A) and D(P, A) of a plain table, where W does not decide: among the runs of the slot, take the last
 * one that begins at the rank of A or before. */
static outcome look_up_runs(
    const struct tbgen *tables, const struct table *t, const struct place *place, int side,
    tbgen_score accrued, const struct goal *fresh, struct goal *goal) {
    uint64_t slot = slot_of(t, place), row = (accrued < 0 ? 2 : 0) + (uint64_t)side;
    uint64_t word = row * (t->phases * t->phase_size / 64) + slot / 64, run;
    *goal = (struct goal){accrued, 0};
    if (!sound(tables, t, RUN_MASK, word, 1, 8) || !sound(tables, t, RUN_START, word, 1, 4))
        return TBGEN_DAMAGED;
    squares mask = u64_at(t, RUN_MASK, word);
    if (!(mask >> slot % 64 & 1)) return TBGEN_OK;
    run = u32_at(t, RUN_START, word);
    int skipped = count_of(mask & (bit(slot % 64) - 1)), found = NONE;
    for (int last = 0; skipped || !last; run++) {
        if (!sound(tables, t, RUN_RANK, run, 1, 1)) return TBGEN_DAMAGED;
        int rank = (int)u8_at(t, RUN_RANK, run);
        last = rank >> 7;
        if (skipped) {
            skipped -= last;
            last = 0;
        } else if ((rank & 127) <= tbgen_rank(accrued)) {
            if (!sound(tables, t, RUN_VALUE, run, 1, 1) ||
                !depth_at(tables, t, RUN_DEPTH, RUN_RANK, run, &goal->depth))
                return TBGEN_DAMAGED;
            found = score_of_code((uint8_t)u8_at(t, RUN_VALUE, run));
        }
    }
    if (found == NONE) goal->depth = 0;
    else if (found == FRESH) *goal = *fresh;
    else goal->value = found;
    return TBGEN_OK;
}

/* ------------------------------------------------------------------------ packed tables: geometry of rows */

/* What a row's positions are, by the square of the row man: the legal ones in their canonical image, those in
 * check, and those with a man of the other side under attack. */
struct row {
    squares mask, checks, captures;
};

/* What is fixed in a row. */
struct frame {
    uint8_t square[MOST_MEN]; /* of the free men; that of the row man means nothing */
    squares pawns[2];
    bool self_mirrored; /* whether the pawns are their own mirror image */
    squares occupied;
};

static squares mirrored(squares set) {
    set = (set >> 1 & UINT64_C(0x5555555555555555)) | (set & UINT64_C(0x5555555555555555)) << 1;
    set = (set >> 2 & UINT64_C(0x3333333333333333)) | (set & UINT64_C(0x3333333333333333)) << 2;
    return (set >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (set & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
}

/* The row of a place. */
static uint64_t row_of(const struct table *t, const struct place *place) {
    uint64_t row = place->phase;
    for (int digit = 0; digit < t->free - 1; digit++) {
        int man = t->order[digit], square = place->square[man];
        row = !man && !t->pawns ? row * 10 + IN_TRIANGLE[square] : row * 64 + (uint64_t)square;
    }
    return row;
}

/* Place the men of a row; false if two of them stand on one square. */
static bool place_row(const struct table *t, uint64_t row, struct frame *frame) {
    frame->occupied = frame->pawns[0] | frame->pawns[1];
    for (int digit = t->free - 2; digit >= 0; digit--) {
        int man = t->order[digit], square = (int)(row & 63);
        if (!man && !t->pawns) {
            square = TRIANGLE[row % 10];
            row /= 10;
        } else {
            row >>= 6;
        }
        if (frame->occupied & bit(square)) return false;
        frame->occupied |= bit(square);
        frame->square[man] = (uint8_t)square;
    }
    return true;
}

/* Squares of the row man with which a side attacks a square where the row man does not stand. */
static squares row_attacks(const struct table *t, const struct frame *frame, int target, int by) {
    int row_man = t->order[t->free - 1];
    squares found = 0, between;
    if (pawn_attacks(1 - by, bit(target)) & frame->pawns[by]) return ~UINT64_C(0);
    for (int man = 0; man < t->free; man++) {
        if (t->colour[man] != by) continue;
        if (man == row_man) found |= attacks(t->kind[man], bit(target), ~frame->occupied);
        else if (in_line(t->kind[man], frame->square[man], target, &between) && !(between & frame->occupied))
            found |= ~between;
    }
    return found;
}

static squares row_checks(const struct table *t, const struct frame *frame) {
    int side = t->stored_side, them = 1 - side;
    if (t->order[t->free - 1] != side) return row_attacks(t, frame, frame->square[side], them);
    squares found = pawn_attacks(them, frame->pawns[them]); /* the king itself is the row man */
    for (int man = 0; man < t->free; man++)
        if (t->colour[man] == them) found |= attacks(t->kind[man], bit(frame->square[man]), ~frame->occupied);
    return found;
}

static squares row_captures(const struct table *t, const struct frame *frame) {
    squares targets = frame->pawns[1 - t->stored_side], found = 0;
    for (int man = 2; man < t->free; man++)
        if (t->colour[man] != t->stored_side) targets |= bit(frame->square[man]);
    for (; targets && ~found; targets &= targets - 1)
        found |= row_attacks(t, frame, lowest(targets), t->stored_side);
    return found;
}

static bool is_symmetric(const struct table *t, const struct frame *frame) {
    return t->pawns ? frame->self_mirrored : frame->square[0] % 9 == 0;
}

/* Those of some squares of the row man with which no image of the position comes first in the index. */
static squares canonical_only(const struct table *t, const struct frame *frame, squares legal) {
    int row_man = t->order[t->free - 1];
    if (row_man > 1) { /* most rows are decided by the kings alone */
        if (!is_symmetric(t, frame)) return legal;
        for (int man = 0; man < 2; man++) {
            int square = frame->square[man], image = t->pawns ? square ^ 7 : transposed(square);
            if (image != square) return image > square ? legal : 0;
        }
    }
    struct frame placed = *frame;
    squares found = legal;
    for (squares left = legal; left; left &= left - 1) {
        uint8_t image[MOST_MEN];
        placed.square[row_man] = (uint8_t)lowest(left);
        if (!is_symmetric(t, &placed)) continue;
        memcpy(image, placed.square, MOST_MEN);
        take_smaller(t, image, !t->pawns);
        if (memcmp(image, placed.square, (size_t)t->free)) found &= ~bit(lowest(left));
    }
    return found;
}

static void find_row(const struct table *t, uint64_t number, struct frame *frame, struct row *row) {
    int row_man = t->order[t->free - 1], side = t->stored_side;
    *row = (struct row){0, 0, 0};
    if (!place_row(t, number, frame)) return;
    squares mask = ~frame->occupied & ~row_attacks(t, frame, frame->square[1 - side], side);
    for (int pair = 0; pair < t->like_pairs; pair++) {
        int man = t->like[pair];
        if (man == row_man) mask &= ~UINT64_C(0) << frame->square[man - 1];
        else if (frame->square[man - 1] > frame->square[man]) return;
    }
    if (!mask || !(mask = canonical_only(t, frame, mask))) return;
    *row = (struct row){mask, row_checks(t, frame), row_captures(t, frame)};
}

/* ------------------------------------------------------------------------- packed tables: decoding blocks */

enum { SELF, CAPTURE, FIRST_VALUE, NOWHERE = 255, SAME_AS_LEFT = 253, ESCAPE = 255, LOW = 1 << 16 };
enum { HIGH_BYTE = 512 }; /* the context of the highest byte of a function's number */

/* What the king class of a row's positions depends on, apart from the row man. */
struct kings {
    uint8_t summand, anchor, king;
};

struct block {
    const struct table *table;
    uint64_t number;
    int values, functions; /* how many places have been decoded */
    squares mask[MOST_ROWS];
    struct kings kings[MOST_ROWS];
    uint8_t symbol[MOST_SLOTS];
    uint16_t half[MOST_SLOTS];
    uint32_t function[MOST_SLOTS];
};

enum { SETS = 64, WAYS = 4 };

struct tbgen_room {
    const struct tbgen *tables;
    char blamed[NAME_SIZE]; /* the table that the last look-up failed for */
    bool peeks; /* whether the value is wanted only if it need not be derived */
    uint8_t next[SETS]; /* the block that is replaced next */
    struct block block[SETS][WAYS];
};

/* An asymmetric numeral system (docs/format.md), and what is left to read: the bytes from `at` on before
 * `end`. */
struct decoder {
    uint32_t state;
    const uint8_t *at, *end;
};

/* Sixteen symbols of a context, by falling share: the interval of number n is from edge[n] to
 * edge[n + 1] - 1. If the shares of a context are not complete, the step `next` has more of them. */
struct step_of_model {
    uint16_t edge[WIDE + 1];
    uint8_t symbol[WIDE];
    uint8_t unused[STEP_SIZE - 3 * WIDE - 6];
    uint32_t next;
};

struct model {
    const uint32_t *start; /* a context's entry: the number of its first step, or where its parts begin */
    const struct step_of_model *step;
};

static struct model model_of(const struct table *t, enum section start) {
    return (struct model){
        (const uint32_t *)t->of[start].at, (const struct step_of_model *)t->of[start + 1].at};
}

static INLINED void refill(struct decoder *d) {
    if (d->end - d->at >= 2) { /* it never wants more, and no branch has to be guessed */
        unsigned wanted = d->state < LOW >> 8 ? 2 : d->state < LOW;
        uint32_t two = (uint32_t)d->at[0] << 8 | d->at[1];
        d->state = d->state << 8 * wanted | two >> (16 - 8 * wanted);
        d->at += wanted;
    } else if (d->state < LOW && d->at != d->end) {
        d->state = d->state << 8 | *d->at++;
    }
}

static INLINED struct decoder begun(struct part bytes) {
    struct decoder d = {0, bytes.at, bytes.at + bytes.size};
    refill(&d); /* two bytes of three */
    refill(&d);
    return d;
}

/* Which of WIDE ascending numbers is the first above `low`; WIDE if none is. */
static INLINED uint32_t first_above(const uint16_t *end, uint32_t low) {
#ifdef __SSE2__
    __m128i most = _mm_set1_epi16((short)low), first = _mm_loadu_si128((const __m128i *)end),
            last = _mm_loadu_si128((const __m128i *)(end + 8));
    __m128i above = _mm_packs_epi16(_mm_cmpgt_epi16(first, most), _mm_cmpgt_epi16(last, most));
    return (uint32_t)__builtin_ctz((unsigned)_mm_movemask_epi8(above) | 1u << WIDE);
#else
    uint32_t at = 0;
    while (at < WIDE && end[at] <= low) at++;
    return at;
#endif
}

/* The place of the entry of a part of a context, or that of the context where it is not divided. */
static INLINED uint32_t part_of(const struct model *m, uint32_t context, uint32_t part) {
    uint32_t entry = m->start[context], place = (entry ^ DIVIDED) + part;
    return entry & DIVIDED ? place : context; /* no branch has to be guessed */
}

/* Decode a symbol in the context of an entry. (Where a context does not occur, or its shares are no shares,
 * this is no symbol of a sound file, but it comes from one of the steps.) */
static INLINED uint32_t take_symbol(const struct model *m, uint32_t context, struct decoder *d) {
    uint32_t low = d->state % TOTAL, found;
    const struct step_of_model *step = m->step + m->start[context];
    while ((found = first_above(step->edge + 1, low)) == WIDE) step = m->step + step->next;
    uint32_t begin = step->edge[found];
    d->state = (step->edge[found + 1] - begin) * (d->state >> TOTAL_BITS) + low - begin;
    refill(d);
    return step->symbol[found];
}

/* Decode a number of so many bytes. */
static INLINED uint32_t take_bytes(int count, struct decoder *d) {
    uint32_t number = 0;
    for (int byte = 0; byte < count; byte++) {
        uint32_t low = d->state % TOTAL;
        number |= (low >> 4) << 8 * byte;
        d->state = 16 * (d->state >> TOTAL_BITS) + (low & 15);
        refill(d);
    }
    return number;
}

/* Find the bytes of a block: those of its value symbols (0), half depths (1) or functions (2); false if they
 * are not what was written. */
static bool
find_bytes(const struct tbgen *tables, const struct block *block, unsigned kind, struct part *found) {
    const struct table *t = block->table;
    uint64_t number = 3 * block->number + kind;
    if (!sound(tables, t, BLOCK_START, number, 2, 4)) return false;
    uint64_t begin = u32_at(t, BLOCK_START, number), size = u32_at(t, BLOCK_START, number + 1) - begin;
    *found = (struct part){t->of[BLOCK_DATA].at + begin, size};
    return sound(tables, t, BLOCK_DATA, begin, size, 1);
}

/* Whether a decoder of which all is decoded has come to its end. */
static bool has_ended(const struct decoder *d) { return d->at == d->end && !d->state; }

static uint32_t least(uint32_t one, uint32_t other) { return one < other ? one : other; }

/* What has been decoded of a position before: its value symbol, or NOWHERE, and its half depth. */
struct neighbour {
    uint16_t symbol, half;
};

struct neighbours {
    struct neighbour left, up, corner;
};

/* The class of a neighbour's symbol or function, up to `most`, or of none. */
static INLINED uint32_t class_of(uint32_t symbol, uint32_t none, uint32_t most) {
    return symbol == none ? most + 1 : least(symbol, most);
}

static uint32_t distance_of(int one, int other) {
    int files = abs(one % 8 - other % 8), ranks = abs(one / 8 - other / 8);
    return (uint32_t)(files > ranks ? files : ranks);
}

static uint32_t edge_distance(int square) {
    uint32_t file = (uint32_t)square % 8, rank = (uint32_t)square / 8;
    return least(least(file, 7 - file), least(rank, 7 - rank));
}

static struct kings kings_of(const struct table *t, const struct frame *frame) {
    int other = frame->square[1 - t->stored_side], king = frame->square[t->stored_side];
    if (!t->pawns) return (struct kings){(uint8_t)(16 * edge_distance(other)), (uint8_t)other, (uint8_t)king};
    int pawn = lowest(frame->pawns[0] ? frame->pawns[0] : frame->pawns[1]);
    uint32_t summand = 24 * (least(distance_of(pawn, other), 4) - 1) + (uint32_t)pawn / 8 - 1;
    return (struct kings){(uint8_t)summand, (uint8_t)pawn, (uint8_t)king};
}

/* The king class with the king of the stored side on a square. */
static uint32_t king_class(const struct table *t, struct kings kings, int king) {
    uint32_t distance = distance_of(kings.anchor, king);
    if (t->pawns) return kings.summand + 6 * (least(distance, 4) - 1);
    return kings.summand + 4 * edge_distance(king) + least(distance, 5) - 2;
}

static INLINED uint32_t
value_context(const struct model *m, uint32_t hints, uint32_t class, const struct neighbours *by) {
    uint32_t left = by->left.symbol, up = by->up.symbol;
    uint32_t context = part_of(m, 32 * hints + class_of(left, NOWHERE, 30), class_of(up, NOWHERE, 30));
    return part_of(m, part_of(m, context, class_of(by->corner.symbol, NOWHERE, 6)), class);
}

static INLINED uint32_t half_class(uint32_t half) {
    return least(least(half, 24 + half / 2), least(44 + half / 4, 107));
}

static INLINED uint32_t depth_context(
    const struct model *m, uint32_t symbol, uint32_t hints, uint32_t class, const struct neighbours *by) {
    bool left = by->left.symbol == symbol, up = by->up.symbol == symbol, corner = by->corner.symbol == symbol;
    uint32_t expected = 0, source = 7;
    if (left && up) {
        int apart = abs(by->left.half - by->up.half);
        expected = (by->left.half + by->up.half + 1u) / 2;
        source = (uint32_t)(apart < 3 ? apart : apart < 6 ? 3 : 4);
    } else if (left || up) {
        expected = left ? by->left.half : by->up.half;
        source = 5;
    } else if (corner) {
        expected = by->corner.half;
        source = 6;
    }
    uint32_t context = part_of(m, 8 * least(symbol, 15) + source, half_class(expected));
    uint32_t comparison = 1u + (by->corner.half > expected) - (by->corner.half < expected);
    return part_of(m, part_of(m, part_of(m, context, hints), corner ? comparison : 3), class);
}

/* The squares of row `at` that come before a place of the block. */
static squares before(int at, int places) {
    return places >= 64 * at + 64 ? ~UINT64_C(0) : bit(places - 64 * at) - 1;
}

/* Decode the value symbols and half depths of the first places of a block. */
static bool decode_values(const struct tbgen *tables, struct block *block, struct frame *frame, int places) {
    const struct table *t = block->table;
    const struct neighbour nobody = {NOWHERE, 0};
    struct model values = model_of(t, VALUE_START), depths = model_of(t, DEPTH_START);
    struct neighbour above[64];
    struct part bytes, depth_bytes;
    if (!find_bytes(tables, block, 0, &bytes) || !find_bytes(tables, block, 1, &depth_bytes)) return false;
    struct decoder d = begun(bytes), of_depths = begun(depth_bytes);
    bool king_moves = t->order[t->free - 1] == t->stored_side; /* it is the row man */
    for (int square = 0; square < 64; square++) above[square] = nobody;
    memset(block->symbol, NOWHERE, (size_t)places);
    for (int at = 0; 64 * at < places; at++) {
        struct row row;
        struct neighbours by = {nobody, nobody, nobody};
        find_row(t, block->number * (uint64_t)t->block_rows + (uint64_t)at, frame, &row);
        block->mask[at] = row.mask;
        if (!row.mask) continue;
        block->kings[at] = kings_of(t, frame);
        uint32_t class = king_moves ? 0 : king_class(t, block->kings[at], block->kings[at].king);
        for (squares set = row.mask & before(at, places); set; set &= set - 1) {
            int square = lowest(set);
            uint32_t hints = (uint32_t)(2 * (row.checks >> square & 1) + (row.captures >> square & 1));
            by.up = above[square];
            if (king_moves) class = king_class(t, block->kings[at], square);
            uint32_t symbol = take_symbol(&values, value_context(&values, hints, class, &by), &d), half = 0;
            if (symbol >= FIRST_VALUE) {
                half = take_symbol(&depths, depth_context(&depths, symbol, hints, class, &by), &of_depths);
                if (half == ESCAPE) half = take_bytes(2, &of_depths);
            }
            block->symbol[64 * at + square] = (uint8_t)symbol;
            block->half[64 * at + square] = (uint16_t)half;
            by.corner = by.up;
            by.left = above[square] = (struct neighbour){(uint16_t)symbol, (uint16_t)half};
        }
    }
    return places < 64 * t->block_rows || (has_ended(&d) && has_ended(&of_depths));
}

/* Decode the functions of the first places of a block, whose value symbols are known. */
static bool decode_functions(const struct tbgen *tables, struct block *block, int places) {
    const struct table *t = block->table;
    struct model functions = model_of(t, FUNCTION_START);
    const uint32_t nobody = UINT32_MAX;
    uint32_t above[64];
    int width = t->of[ENTRY_START].size / 4 <= 65537 ? 2 : 4;
    struct part bytes;
    if (!find_bytes(tables, block, 2, &bytes)) return false;
    struct decoder d = begun(bytes);
    bool king_moves = t->order[t->free - 1] == t->stored_side;
    for (int square = 0; square < 64; square++) above[square] = nobody;
    if (!bytes.size) memset(block->function, 0, (size_t)places * sizeof *block->function);
    for (int at = 0; bytes.size && 64 * at < places; at++) {
        uint32_t left = nobody, corner = nobody;
        if (!block->mask[at]) continue;
        uint32_t class = king_moves ? 0 : king_class(t, block->kings[at], block->kings[at].king);
        for (squares set = block->mask[at] & before(at, places); set; set &= set - 1) {
            int square = lowest(set);
            uint32_t symbol = block->symbol[64 * at + square], up = above[square];
            uint32_t context = 32 * least(symbol, 15) + class_of(left, nobody, 30);
            context = part_of(&functions, context, class_of(up, nobody, 30));
            context = part_of(&functions, context, class_of(corner, nobody, 14));
            if (king_moves) class = king_class(t, block->kings[at], square);
            context = part_of(&functions, context, class);
            uint32_t function = take_symbol(&functions, context, &d);
            if (function == ESCAPE) {
                uint32_t high_byte = part_of(&functions, part_of(&functions, HIGH_BYTE, 0), 0);
                uint32_t high = take_symbol(&functions, part_of(&functions, high_byte, 0), &d);
                function = high << 8 * (width - 1) | take_bytes(width - 1, &d);
            } else if (function >= SAME_AS_LEFT) {
                function = function == SAME_AS_LEFT ? left : up;
            }
            block->function[64 * at + square] = above[square] = left = function;
            corner = up;
        }
    }
    return places < 64 * t->block_rows || !bytes.size || has_ended(&d);
}

/* What the blocks say of a position of the stored side. */
struct said {
    int symbol, half;
    uint32_t function;
};

static struct block *block_of(struct tbgen_room *room, const struct table *t, uint64_t number) {
    uint64_t set =
        (number * UINT64_C(0x9e3779b97f4a7c15) ^ (uintptr_t)t * UINT64_C(0xff51afd7ed558ccd)) >> 58;
    struct block *blocks = room->block[set];
    for (int way = 0; way < WAYS; way++)
        if (blocks[way].table == t && blocks[way].number == number) return &blocks[way];
    struct block *block = &blocks[room->next[set]++ % WAYS];
    block->table = t;
    block->number = number;
    block->values = block->functions = 0;
    return block;
}

/* Ask about the position at a place. Its block is decoded as far as it takes, if it is asked for again as a
 * whole. */
static outcome
ask(struct tbgen_room *room, const struct table *t, const struct board *b, const struct place *place,
    bool function, struct said *said) {
    uint64_t row = row_of(t, place);
    struct block *block = block_of(room, t, row / (unsigned)t->block_rows);
    int at = (int)(row % (unsigned)t->block_rows * 64) + place->square[t->order[t->free - 1]];
    if (at >= block->values) {
        struct frame frame;
        for (int side = WHITE; side <= BLACK; side++)
            frame.pawns[side] = place->mirrored ? mirrored(b->of[side][PAWN]) : b->of[side][PAWN];
        frame.self_mirrored =
            mirrored(frame.pawns[0]) == frame.pawns[0] && mirrored(frame.pawns[1]) == frame.pawns[1];
        int places = block->values ? 64 * t->block_rows : at + 1;
        block->values = block->functions = 0;
        if (!decode_values(room->tables, block, &frame, places)) return TBGEN_DAMAGED;
        block->values = places;
    }
    if (function && at >= block->functions) {
        if (!decode_functions(room->tables, block, block->values)) return TBGEN_DAMAGED;
        block->functions = block->values;
    }
    *said = (struct said){block->symbol[at], block->half[at], function ? block->function[at] : 0};
    return said->symbol == NOWHERE ? TBGEN_DAMAGED : TBGEN_OK;
}

/* ---------------------------------------------------------------------------- packed tables: what follows */

static outcome look_up_fresh(struct tbgen_room *room, const struct board *b, struct goal *goal);

/* The best of some moves, with the smallest and the greatest depth after it. */
struct best {
    bool any;
    tbgen_score value;
    int nearest, farthest;
};

static void weigh(struct best *best, int side, const struct goal *goal) {
    int better = best->any ? merit(side, goal->value) - merit(side, best->value) : 1;
    if (better > 0) {
        *best = (struct best){true, goal->value, goal->depth, goal->depth};
    } else if (!better) {
        if (goal->depth < best->nearest) best->nearest = goal->depth;
        if (goal->depth > best->farthest) best->farthest = goal->depth;
    }
}

/* Value and depth of a position with this score of its own, from the best move that counts, and whether some
 * quiet move did not count. */
static struct goal conclude(const struct best *best, int side, tbgen_score own, bool uncounted) {
    int better = best->any ? merit(side, best->value) - merit(side, own) : 0;
    if (better > 0) return (struct goal){best->value, best->nearest + 1};
    if (better < 0 && !uncounted) return (struct goal){best->value, best->farthest + 1};
    return (struct goal){own, 0};
}

/* The best zeroing move of a position, or the best capture other than en passant. */
static outcome find_best_zeroing(
    struct tbgen_room *room, const struct board *b, const struct moves *moves, bool captures_only,
    struct best *best) {
    struct walk walk = {0, 0, 0};
    struct step step;
    *best = (struct best){false, 0, 0, 0};
    while (next_move(b, moves, &walk, &step)) {
        if (!(captures_only ? step.capture : step.zeroing)) continue;
        struct board child = after_move(b, step.kind, step.from, step.to, step.promotion);
        struct goal goal;
        outcome failed = look_up_fresh(room, &child, &goal);
        if (failed) return failed;
        weigh(best, b->side, &goal);
    }
    return TBGEN_OK;
}

/* W and D of a position of the stored side, from what is said of it. */
static outcome stored_fresh(
    struct tbgen_room *room, const struct table *t, const struct board *b, const struct moves *moves,
    const struct said *said, struct goal *goal) {
    tbgen_score own = own_score(b->side, rank_of(moves));
    *goal = (struct goal){own, 0};
    if (said->symbol == SELF) return TBGEN_OK;
    if (said->symbol == CAPTURE && room->peeks) return TBGEN_NOT_AT_HAND;
    if (said->symbol == CAPTURE) {
        struct best best;
        outcome failed = find_best_zeroing(room, b, moves, true, &best);
        if (failed) return failed;
        *goal = conclude(&best, b->side, own, false);
        return best.any ? TBGEN_OK : TBGEN_DAMAGED;
    }
    if ((uint64_t)said->symbol >= t->of[CODE].size) return TBGEN_DAMAGED;
    outcome failed = goal_of_code(u8_at(t, CODE, (uint64_t)said->symbol), 0, goal);
    goal->depth = 2 * said->half + ((goal->value < 0) == (b->side == BLACK)); /* odd if the mover holds it */
    return failed;
}

/* Find a position among the exceptions of the derived side. */
static outcome find_exception(
    const struct tbgen *tables, const struct table *t, const struct place *place, bool *found,
    struct goal *goal) {
    uint64_t slot = slot_of(t, place), bucket = slot >> EXCEPTION_BITS,
             wanted = slot & ((1 << EXCEPTION_BITS) - 1);
    *found = false;
    if (!sound(tables, t, EXCEPTION_START, bucket, 2, 4)) return TBGEN_DAMAGED;
    uint64_t low = u32_at(t, EXCEPTION_START, bucket), end = u32_at(t, EXCEPTION_START, bucket + 1),
             high = end;
    if (low > end || !sound(tables, t, EXCEPTION_SLOT, low, end - low, 2)) return TBGEN_DAMAGED;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (u16_at(t, EXCEPTION_SLOT, middle) < wanted) low = middle + 1;
        else high = middle;
    }
    if (low == end || u16_at(t, EXCEPTION_SLOT, low) != wanted) return TBGEN_OK;
    int depth;
    if (!sound(tables, t, EXCEPTION_VALUE, low, 1, 1) ||
        !depth_at(tables, t, EXCEPTION_DEPTH, EXCEPTION_VALUE, low, &depth))
        return TBGEN_DAMAGED;
    *found = true;
    return goal_of_code(u8_at(t, EXCEPTION_VALUE, low), depth, goal);
}

/* A position that a quiet move leads to, and what is said of it. */
struct child {
    struct board board;
    struct moves moves;
    struct said said;
};

static outcome ask_child(
    struct tbgen_room *room, const struct table *t, const struct board *b, const struct step *step,
    tbgen_score accrued, struct child *child) {
    struct place place;
    child->board = after_move(b, step->kind, step->from, step->to, NO_KIND);
    find_moves(&child->board, &child->moves);
    if (!find_place(t, &child->board, &place)) return TBGEN_DAMAGED;
    return ask(room, t, &child->board, &place, accrued != TBGEN_FRESH, &child->said);
}

/* W and D of a position of the derived side (docs/format.md). */
static outcome derived_fresh(
    struct tbgen_room *room, const struct table *t, const struct board *b, const struct moves *moves,
    const struct place *place, struct goal *goal) {
    bool found, uncounted = false;
    outcome failed = find_exception(room->tables, t, place, &found, goal);
    if (failed || found) return failed;
    int rank = rank_of(moves);
    struct best best;
    struct walk walk = {0, 0, 0};
    struct step step;
    if ((failed = find_best_zeroing(room, b, moves, false, &best))) return failed;
    while (next_move(b, moves, &walk, &step)) {
        struct child child;
        struct goal after;
        if (step.zeroing) continue;
        if ((failed = ask_child(room, t, b, &step, TBGEN_FRESH, &child))) return failed;
        if (child.said.symbol == CAPTURE) continue;
        if ((failed = stored_fresh(room, t, &child.board, &child.moves, &child.said, &after))) return failed;
        if (rank_of(&child.moves) < rank || tbgen_rank(after.value) < rank) weigh(&best, b->side, &after);
        else uncounted = true;
    }
    *goal = conclude(&best, b->side, own_score(b->side, rank), uncounted);
    return TBGEN_OK;
}

/* V(P, A) of a position of the stored side, whose function is known. */
static outcome stored_accrued(
    struct tbgen_room *room, const struct table *t, uint32_t function, tbgen_score accrued, tbgen_score fresh,
    tbgen_score *value) {
    const struct tbgen *tables = room->tables;
    if (!sound(tables, t, ENTRY_START, function, 2, 4)) return TBGEN_DAMAGED;
    uint64_t begin = u32_at(t, ENTRY_START, function), end = u32_at(t, ENTRY_START, function + 1);
    if (begin > end || !sound(tables, t, ENTRY_FROM, begin, end - begin, 1) ||
        !sound(tables, t, ENTRY_VALUE, begin, end - begin, 1))
        return TBGEN_DAMAGED;
    int found = NONE;
    for (uint64_t at = begin; at < end; at++) {
        tbgen_score from = score_of_code((uint8_t)u8_at(t, ENTRY_FROM, at));
        if ((from < 0) == (accrued < 0) && tbgen_rank(from) <= tbgen_rank(accrued))
            found = score_of_code((uint8_t)u8_at(t, ENTRY_VALUE, at));
    }
    *value = found == NONE ? accrued : found == FRESH ? fresh : found;
    return TBGEN_OK;
}

/* V(P, A) of a position of the derived side: the best of what its moves lead to. */
static outcome derived_accrued(
    struct tbgen_room *room, const struct table *t, const struct board *b, const struct moves *moves,
    tbgen_score accrued, tbgen_score *value) {
    struct best best;
    struct walk walk = {0, 0, 0};
    struct step step;
    outcome failed = find_best_zeroing(room, b, moves, false, &best);
    while (!failed && next_move(b, moves, &walk, &step)) {
        struct child child;
        struct goal after;
        if (step.zeroing) continue;
        if ((failed = ask_child(room, t, b, &step, accrued, &child))) return failed;
        if ((failed = stored_fresh(room, t, &child.board, &child.moves, &child.said, &after))) return failed;
        int rank = rank_of(&child.moves), least_rank = tbgen_rank(accrued);
        bool inherits = rank >= least_rank && own_score(child.board.side, rank) != accrued;
        if (inherits && tbgen_rank(after.value) >= least_rank)
            failed = stored_accrued(room, t, child.said.function, accrued, after.value, &after.value);
        weigh(&best, b->side, &after);
    }
    *value = best.any ? best.value : accrued;
    return failed;
}

/* ----------------------------------------------------------------------------------------------- look-ups */

/* A position in the colours of its table. */
struct located {
    const struct table *table;
    bool exchanged;
    struct board board;
    struct moves moves;
    struct place place;
};

/* Note which table a look-up fails for: the first one, before those that rest on it. */
static outcome blame(struct tbgen_room *room, const char *name, outcome failed) {
    if (failed && !*room->blamed) strcpy(room->blamed, name);
    return failed;
}

/* Find a position's table and place, and its moves where the look-up wants them. */
static outcome locate(struct tbgen_room *room, const struct board *b, struct located *found) {
    char missing[NAME_SIZE];
    outcome failed = find_table(room->tables, b, &found->table, &found->exchanged, missing);
    if (failed) return blame(room, failed == TBGEN_MISSING ? missing : found->table->name, failed);
    found->board = found->exchanged ? swapped(b) : *b;
    found->moves.passing = false;
    if (found->table->packed || b->ep) find_moves(&found->board, &found->moves);
    bool good = find_place(found->table, &found->board, &found->place);
    return blame(room, found->table->name, good ? TBGEN_OK : TBGEN_DAMAGED);
}

/* W and D in the colours of the table. */
static outcome fresh_of(struct tbgen_room *room, const struct located *at, struct goal *goal) {
    const struct table *t = at->table;
    const struct board *b = &at->board;
    if (at->moves.passing) return look_up_passing(room->tables, t, &at->place, b->ep, goal);
    if (!t->packed) return look_up_plain(room->tables, t, &at->place, b->side, goal);
    if (!at->moves.count) {
        *goal = (struct goal){own_score(b->side, rank_of(&at->moves)), 0};
        return TBGEN_OK;
    }
    if (b->side != t->stored_side && room->peeks) return TBGEN_NOT_AT_HAND;
    if (b->side != t->stored_side) return derived_fresh(room, t, b, &at->moves, &at->place, goal);
    struct said said;
    outcome failed = ask(room, t, b, &at->place, false, &said);
    return failed ? failed : stored_fresh(room, t, b, &at->moves, &said, goal);
}

/* V(P, A) and D(P, A) in the colours of the table, for r-mobility and where W does not decide. */
static outcome accrued_of(
    struct tbgen_room *room, const struct located *at, tbgen_score accrued, const struct goal *fresh,
    struct goal *goal) {
    const struct table *t = at->table;
    const struct board *b = &at->board;
    if (!t->packed) return look_up_runs(room->tables, t, &at->place, b->side, accrued, fresh, goal);
    outcome failed;
    if (b->side == t->stored_side) {
        struct said said;
        failed = ask(room, t, b, &at->place, true, &said);
        if (!failed) failed = stored_accrued(room, t, said.function, accrued, fresh->value, &goal->value);
    } else {
        failed = derived_accrued(room, t, b, &at->moves, accrued, &goal->value);
    }
    goal->depth = goal->value == accrued ? 0 : TBGEN_NO_DEPTH;
    return failed;
}

/* W and D of a position in its own colours. */
static outcome look_up_fresh(struct tbgen_room *room, const struct board *b, struct goal *goal) {
    struct located at;
    outcome failed = locate(room, b, &at);
    if (failed || (failed = blame(room, at.table->name, fresh_of(room, &at, goal)))) return failed;
    if (at.exchanged) goal->value = ~goal->value;
    return TBGEN_OK;
}

/* Value and depth of a state that goes on; `accrued` has the position's `own` score folded in. */
static outcome look_up(
    struct tbgen_room *room, const struct board *b, tbgen_score own, tbgen_score accrued, struct goal *goal) {
    bool resets = room->tables->rules == TBGEN_R_MOBILITY;
    struct located at;
    struct goal fresh;
    outcome failed = locate(room, b, &at);
    if (failed || (failed = blame(room, at.table->name, fresh_of(room, &at, &fresh)))) return failed;
    tbgen_score held = at.exchanged ? ~accrued : accrued;
    if (tbgen_rank(accrued) > tbgen_rank(fresh.value) || (resets && accrued == own)) *goal = fresh;
    else if (!resets) *goal = (struct goal){held, 0};
    else failed = blame(room, at.table->name, accrued_of(room, &at, held, &fresh, goal));
    if (at.exchanged) goal->value = ~goal->value;
    return failed;
}

/* ---------------------------------------------------------------------------------------------- interface */

static outcome board_of(const struct tbgen_position *position, struct board *b) {
    const squares kinds[] = {position->kings,   position->queens,  position->rooks,
                             position->bishops, position->knights, position->pawns};
    squares all = position->white | position->black, together = 0;
    b->all[WHITE] = position->white;
    b->all[BLACK] = position->black;
    b->side = position->black_to_move ? BLACK : WHITE;
    b->ep = position->ep_square;
    if (position->white & position->black) return TBGEN_OVERLAP;
    for (int kind = KING; kind <= PAWN; kind++) {
        if (together & kinds[kind]) return TBGEN_OVERLAP;
        together |= kinds[kind];
        b->of[WHITE][kind] = kinds[kind] & position->white;
        b->of[BLACK][kind] = kinds[kind] & position->black;
    }
    if (together != all) return TBGEN_OVERLAP;
    if (count_of(all) > MOST_MEN) return TBGEN_TOO_MANY_MEN;
    if (count_of(b->of[WHITE][KING]) != 1 || count_of(b->of[BLACK][KING]) != 1) return TBGEN_KINGS;
    if (position->pawns & LAST_RANKS) return TBGEN_PAWNS;
    if (attacked_by(b, b->side, ~all) & b->of[1 - b->side][KING]) return TBGEN_IN_CHECK;
    if (position->castling) return TBGEN_CASTLING;
    if (b->ep) {
        int back = b->side == WHITE ? 8 : -8;
        if (b->ep >> 3 != (b->side == WHITE ? 5 : 2) || all & (bit(b->ep) | bit(b->ep + back)) ||
            !(b->of[1 - b->side][PAWN] & bit(b->ep - back)))
            return TBGEN_EN_PASSANT;
    }
    return TBGEN_OK;
}

/* Find the accrued score that counts: a caller's, if it does, with the position's own folded in. */
static outcome heed(
    const struct tbgen *tables, const struct moves *moves, tbgen_score own, tbgen_score accrued,
    tbgen_score *held) {
    bool fresh = moves->passing && tables->rules == TBGEN_R_MOBILITY;
    *held = own;
    if (fresh || !moves->count || accrued == TBGEN_FRESH) return TBGEN_OK;
    if (tbgen_rank(accrued) > TBGEN_MOST_RANK) return TBGEN_NO_SCORE;
    if (tbgen_rank(accrued) < 2) return TBGEN_ENDED;
    *held = fold(accrued, own);
    return TBGEN_OK;
}

/* Find the result of a state; `accrued` is as a caller gives it. */
static outcome find_result(
    struct tbgen_room *room, const struct board *b, const struct moves *moves, tbgen_score accrued,
    struct tbgen_result *result) {
    tbgen_score own = own_score(b->side, rank_of(moves));
    *result = (struct tbgen_result){own, 0, own, own};
    outcome failed = heed(room->tables, moves, own, accrued, &result->accrued);
    if (failed || !moves->count) return failed;
    struct goal goal;
    if ((failed = look_up(room, b, own, result->accrued, &goal))) return failed;
    result->value = goal.value;
    result->depth = goal.depth;
    return TBGEN_OK;
}

outcome tbgen_probe(
    struct tbgen_room *room, const struct tbgen_position *position, tbgen_score accrued,
    struct tbgen_result *result) {
    struct board b;
    struct moves moves;
    *room->blamed = 0;
    outcome failed = board_of(position, &b);
    if (failed) return failed;
    find_moves(&b, &moves);
    return find_result(room, &b, &moves, accrued, result);
}

outcome tbgen_peek(
    struct tbgen_room *room, const struct tbgen_position *position, tbgen_score accrued, tbgen_score *value) {
    struct tbgen_result result = {0};
    room->peeks = true;
    outcome failed = tbgen_probe(room, position, accrued, &result);
    room->peeks = false;
    *value = result.value;
    return failed;
}

int tbgen_compare(tbgen_score one, tbgen_score other) {
    return merit(WHITE, one) - merit(WHITE, other);
}

/* How a mover who holds `accrued` likes two moves: negative if he likes the first one better. */
static int
compare(const struct tbgen_move *one, const struct tbgen_move *other, int side, tbgen_score accrued) {
    const struct tbgen_result *first = &one->result, *second = &other->result;
    int better = merit(side, second->value) - merit(side, first->value);
    if (better) return better;
    int gain = merit(side, first->value) - merit(side, accrued);
    if (gain && first->depth != second->depth) {
        if (first->depth == TBGEN_NO_DEPTH) return 1;
        if (second->depth == TBGEN_NO_DEPTH) return -1;
        return gain > 0 ? first->depth - second->depth : second->depth - first->depth;
    }
    return strcmp(one->uci, other->uci);
}

static void name_move(const struct step *step, struct tbgen_move *move) {
    move->from = (uint8_t)step->from;
    move->to = (uint8_t)step->to;
    move->promotion = step->promotion ? (char)(LETTERS[step->promotion] + 'a' - 'A') : 0;
    move->zeroing = step->zeroing;
    const char uci[] = {
        (char)('a' + step->from % 8),
        (char)('1' + step->from / 8),
        (char)('a' + step->to % 8),
        (char)('1' + step->to / 8),
        move->promotion,
        0};
    memcpy(move->uci, uci, sizeof uci);
}

outcome tbgen_moves(
    struct tbgen_room *room, const struct tbgen_position *position, tbgen_score accrued,
    struct tbgen_move moves[TBGEN_MOST_MOVES], int *count) {
    struct board b;
    struct moves found;
    struct walk walk = {0, 0, 0};
    struct step step;
    bool resets = room->tables->rules == TBGEN_R_MOBILITY;
    *count = 0;
    *room->blamed = 0;
    outcome failed = board_of(position, &b);
    if (failed) return failed;
    find_moves(&b, &found);
    tbgen_score held;
    if ((failed = heed(room->tables, &found, own_score(b.side, rank_of(&found)), accrued, &held)))
        return failed;
    while (next_move(&b, &found, &walk, &step)) {
        struct tbgen_move move;
        struct board child = after_move(&b, step.kind, step.from, step.to, step.promotion);
        struct moves replies;
        find_moves(&child, &replies);
        name_move(&step, &move);
        failed =
            find_result(room, &child, &replies, step.zeroing && resets ? TBGEN_FRESH : held, &move.result);
        if (failed) return failed;
        int at = (*count)++;
        for (; at && compare(&move, &moves[at - 1], b.side, held) < 0; at--) moves[at] = moves[at - 1];
        moves[at] = move;
    }
    return TBGEN_OK;
}

struct tbgen_room *tbgen_room_open(const struct tbgen *tables) {
    struct tbgen_room *room = calloc(1, sizeof *room);
    if (room) room->tables = tables;
    return room;
}

void tbgen_room_close(struct tbgen_room *room) { free(room); }

const char *tbgen_table(const struct tbgen_room *room) { return room->blamed; }

/* --------------------------------------------------------------------------------------------------- text */

outcome tbgen_read_score(const char *text, tbgen_score *score) {
    bool black = *text == '-' || *text == 'm';
    int moves = 0, digits = 0;
    if (black) text++;
    if (*text != 'G' && *text != 'g') return TBGEN_NO_SCORE;
    for (text++; *text >= '0' && *text <= '9'; text++, digits++) {
        moves = 10 * moves + *text - '0';
        if (moves > TBGEN_MOST_RANK / 2) return TBGEN_NO_SCORE;
    }
    bool half = !strcmp(text, ".5");
    if (!digits || (*text && !half && strcmp(text, ".0"))) return TBGEN_NO_SCORE;
    int rank = 2 * moves + half;
    *score = black ? ~rank : rank;
    return TBGEN_OK;
}

void tbgen_write_score(tbgen_score score, char text[TBGEN_SCORE_SIZE]) {
    int rank = tbgen_rank(score) % (TBGEN_MOST_RANK + 1);
    if (rank != tbgen_rank(score)) strcpy(text, score == TBGEN_FRESH ? "fresh" : "none");
    else snprintf(text, TBGEN_SCORE_SIZE, "%sG%d.%d", score < 0 ? "-" : "", rank / 2, rank % 2 ? 5 : 0);
}

/* Read the first field of a FEN. */
static bool read_board(const char *text, struct tbgen_position *position) {
    squares *kinds[] = {&position->kings,   &position->queens,  &position->rooks,
                        &position->bishops, &position->knights, &position->pawns};
    int rank = 7, file = 0;
    for (bool digit = false; *text; text++) {
        const char *letter = strchr("KQRBNPkqrbnp", *text);
        if (*text == '/') {
            if (file != 8 || !rank--) return false;
            file = 0;
        } else if (*text >= '1' && *text <= '8' && !digit) {
            file += *text - '0';
        } else if (letter && file < 8) {
            squares at = bit(8 * rank + file++);
            *kinds[(letter - "KQRBNPkqrbnp") % 6] |= at;
            *(*text < 'a' ? &position->white : &position->black) |= at;
        } else {
            return false;
        }
        digit = *text >= '1' && *text <= '8';
        if (file > 8) return false;
    }
    return !rank && file == 8;
}

static bool read_counter(const char *text, int *counter) {
    size_t length = strlen(text);
    if (!length || length > 9 || strspn(text, "0123456789") != length) return false;
    *counter = atoi(text);
    return true;
}

static bool read_fields(int count, char *field[], struct tbgen_position *position, int *clock) {
    int number;
    const char *castling = count > 2 ? field[2] : "-", *ep = count > 3 ? field[3] : "-";
    if (count < 2 || count > 7 || !read_board(field[0], position)) return false;
    if (strcmp(field[1], "w") && strcmp(field[1], "b")) return false;
    position->black_to_move = field[1][0] == 'b';
    if (strcmp(castling, "-")) {
        if (strspn(castling, "KQABCDEFGHkqabcdefgh") != strlen(castling)) return false;
        position->castling = true;
    }
    if (strcmp(ep, "-")) {
        if (strlen(ep) != 2 || ep[0] < 'a' || ep[0] > 'h' || ep[1] < '1' || ep[1] > '8') return false;
        position->ep_square = (uint8_t)(8 * (ep[1] - '1') + ep[0] - 'a');
        if (!position->ep_square) return false;
    }
    return (count < 5 || read_counter(field[4], clock)) && (count < 6 || read_counter(field[5], &number));
}

outcome tbgen_read_fen(
    const char *fen, enum tbgen_rules rules, struct tbgen_position *position, tbgen_score *accrued) {
    char text[160], *field[8], *left;
    int count = 0, clock = 0;
    *position = (struct tbgen_position){0};
    *accrued = TBGEN_FRESH;
    if (strlen(fen) >= sizeof text) return TBGEN_NO_FEN;
    strcpy(text, fen);
    for (char *each = strtok_r(text, " \t\r\n", &left); each && count < 8;
         each = strtok_r(NULL, " \t\r\n", &left))
        field[count++] = each;
    if (!read_fields(count, field, position, &clock)) return TBGEN_NO_FEN;
    if (count < 7) return TBGEN_OK;
    outcome failed = tbgen_read_score(field[6], accrued);
    if (!failed && rules == TBGEN_R_MOBILITY && !clock) *accrued = TBGEN_FRESH;
    return failed;
}

const char *tbgen_sentence(outcome error) {
    static const char *const SENTENCES[] = {
        [TBGEN_OK] = "all is well",
        [TBGEN_NO_DIRECTORY] = "the directory cannot be read",
        [TBGEN_NO_TABLES] = "the directory has no flat files for these rules: write some with tbgen export",
        [TBGEN_NO_MEMORY] = "there is not enough memory",
        [TBGEN_MISSING] = "a table that this takes is missing: build it, and write it with tbgen export",
        [TBGEN_DAMAGED] =
            "a table that this takes is damaged, unreadable or of another version: export it again",
        [TBGEN_NO_FEN] = "the text is not a FEN of two to seven fields that can be read",
        [TBGEN_NO_SCORE] = "the accrued score is not a G-score up to G999.5, such as G3.5 or -G2.0",
        [TBGEN_ENDED] = "the accrued score ends the game, and here it goes on",
        [TBGEN_TOO_MANY_MEN] = "the position has more than five men, kings included",
        [TBGEN_OVERLAP] = "the sets of the position contradict each other",
        [TBGEN_KINGS] = "each side needs exactly one king",
        [TBGEN_PAWNS] = "a pawn stands on the first or last rank",
        [TBGEN_IN_CHECK] = "the side not to move is in check",
        [TBGEN_EN_PASSANT] = "no pawn can just have passed the en passant square",
        [TBGEN_CASTLING] = "tables hold no positions with castling rights",
        [TBGEN_NOT_AT_HAND] = "the value would have to be derived",
    };
    return (unsigned)error < TBGEN_ERRORS ? SENTENCES[error] : "the error is unknown";
}
