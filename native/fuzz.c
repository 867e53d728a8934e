/* fuzz DIR ROUNDS SEED: damages one flat file of a directory after the other, by some bytes or by cutting
 * its end off, probes positions of its material at random, and puts it right again. Nothing may crash, and
 * what is answered without an error must be the answer of the sound file.
 *
 * Give it a directory that it may write, and build it with the sanitizers. With -DTBGEN_FUZZING the library
 * does not look at checksums, so that damage gets further; then answers are not compared.
 *
 * Copyright (C) 2026 The tbgen developers
 * Licence: MIT, see LICENSE in this folder. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64
#include "tbgen.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { MOST_FILES = 256, MOST_BYTES = 8, PROBES = 24, HEADER = 4096 };

static uint64_t chance_state;

static uint64_t chance(uint64_t below) { /* xorshift64* */
    chance_state ^= chance_state >> 12;
    chance_state ^= chance_state << 25;
    chance_state ^= chance_state >> 27;
    return (chance_state * UINT64_C(2685821657736338717) >> 16) % below;
}

/* Place the men of a material such as KBvK.r.flat at random; the library says which positions are none. */
static struct tbgen_position random_position(const char *name) {
    struct tbgen_position p = {
        .black_to_move = chance(2), .ep_square = (uint8_t)(chance(4) ? 0 : 16 + chance(32))};
    uint64_t *kinds[] = {&p.kings, &p.queens, &p.rooks, &p.bishops, &p.knights, &p.pawns}, *side = &p.white;
    if (p.ep_square) p.ep_square = (uint8_t)(p.black_to_move ? 16 + p.ep_square % 8 : 40 + p.ep_square % 8);
    for (; *name && *name != '.'; name++) {
        const char *letter = strchr("KQRBNP", *name);
        if (!letter) {
            side = &p.black;
            continue;
        }
        uint64_t square;
        do square = UINT64_C(1) << chance(64);
        while ((p.white | p.black) & square);
        *side |= square;
        *kinds[letter - "KQRBNP"] |= square;
    }
    return p;
}

struct answer {
    struct tbgen_position position;
    tbgen_score accrued;
    enum tbgen_error failed;
    struct tbgen_result result;
};

/* Probe positions, and list their moves; 0 if the directory cannot be opened. */
static int ask(const char *directory, struct answer answers[PROBES]) {
    struct tbgen *tables;
    struct tbgen_move moves[TBGEN_MOST_MOVES];
    int count;
    if (tbgen_open(directory, TBGEN_R_MOBILITY, &tables)) return 0;
    struct tbgen_room *room = tbgen_room_open(tables);
    if (!room) exit(1);
    for (int at = 0; at < PROBES; at++) {
        struct answer *answer = &answers[at];
        answer->failed = tbgen_probe(room, &answer->position, answer->accrued, &answer->result);
        tbgen_moves(room, &answer->position, answer->accrued, moves, &count);
    }
    tbgen_room_close(room);
    tbgen_close(tables);
    return 1;
}

static bool same(const struct answer *one, const struct answer *other) {
    return one->failed == other->failed && (one->failed || (one->result.value == other->result.value &&
                                                            one->result.depth == other->result.depth));
}

/* What has been done to a file, to undo it: bytes of it have been changed, or its end has been cut off. */
struct damage {
    off_t at[MOST_BYTES];
    int byte[MOST_BYTES];
    int bytes;
    off_t left;
    size_t cut;
    uint8_t *end;
};

/* Open a file to change it. Windows lets nobody read it meanwhile, so that it is closed before probes. */
static FILE *opened(const char *path) {
    FILE *file = fopen(path, "r+b");
    if (!file) perror(path), exit(1);
    return file;
}

static off_t size_of(FILE *file) {
    if (fseeko(file, 0, SEEK_END)) exit(1);
    return ftello(file);
}

/* Change one byte, and return what it was. */
static int change_byte(FILE *file, off_t at, int byte) {
    int before;
    if (fseeko(file, at, SEEK_SET) || (before = getc(file)) == EOF) exit(1);
    if (fseeko(file, at, SEEK_SET) || putc(byte, file) == EOF) exit(1);
    return before;
}

static void damage_bytes(FILE *file, off_t size, struct damage *done) {
    done->bytes = 1 + (int)chance(MOST_BYTES);
    for (int number = 0; number < done->bytes; number++) {
        off_t at = (off_t)chance((uint64_t)(chance(2) && size > HEADER ? HEADER : size));
        int before = change_byte(file, at, 0);
        change_byte(file, at, chance(2) ? before ^ 1 << chance(8) : (int)chance(256));
        done->at[number] = at;
        done->byte[number] = before;
    }
}

static void cut_off(FILE *file, off_t size, struct damage *done) {
    done->left = chance(2) ? size - (off_t)chance(HEADER) - 1 : (off_t)chance((uint64_t)size);
    done->cut = (size_t)(size - done->left);
    done->end = malloc(done->cut);
    if (!done->end || fseeko(file, done->left, SEEK_SET)) exit(1);
    if (!fread(done->end, done->cut, 1, file) || ftruncate(fileno(file), done->left)) exit(1);
}

static void damage(const char *path, struct damage *done) {
    FILE *file = opened(path);
    off_t size = size_of(file);
    if (size < HEADER) fprintf(stderr, "fuzz: %s is no flat file\n", path), exit(1);
    *done = (struct damage){0};
    if (chance(8)) damage_bytes(file, size, done);
    else cut_off(file, size, done);
    if (fclose(file)) exit(1);
}

static void undo(const char *path, struct damage *done) {
    FILE *file = opened(path);
    for (int number = done->bytes - 1; number >= 0; number--)
        change_byte(file, done->at[number], done->byte[number]);
    if (done->cut && (fseeko(file, done->left, SEEK_SET) || !fwrite(done->end, done->cut, 1, file))) exit(1);
    if (fclose(file)) exit(1);
    free(done->end);
}

/* One round with a file; returns how many answers were errors, -1 if one was wrong. */
static int play_round(const char *directory, const char *name, const char *path) {
    struct answer before[PROBES], after[PROBES];
    struct damage done;
    int errors = 0;
    for (int at = 0; at < PROBES; at++) {
        before[at].position = random_position(name);
        int rank = 2 + (int)chance(20);
        before[at].accrued = chance(2) ? TBGEN_FRESH : chance(2) ? rank : ~rank;
    }
    memcpy(after, before, sizeof after);
    if (!ask(directory, before)) return -1;
    damage(path, &done);
    ask(directory, after);
    undo(path, &done);
    for (int at = 0; at < PROBES; at++) {
        errors += after[at].failed == TBGEN_DAMAGED;
#ifndef TBGEN_FUZZING
        if (after[at].failed != TBGEN_DAMAGED && !same(&before[at], &after[at])) return -1;
#else
        (void)same;
#endif
    }
    return errors;
}

int main(int count, char *arguments[]) {
    char names[MOST_FILES][32];
    int files = 0, errors = 0;
    if (count != 4) return fputs("usage: fuzz DIR ROUNDS SEED\n", stderr), 2;
    chance_state = strtoull(arguments[3], NULL, 10) * 2 + 1;
    DIR *stream = opendir(arguments[1]);
    if (!stream) return fputs("fuzz: the directory cannot be read\n", stderr), 1;
    for (struct dirent *each; (each = readdir(stream)) && files < MOST_FILES;)
        if (strstr(each->d_name, ".r.flat") && strlen(each->d_name) < 32)
            strcpy(names[files++], each->d_name);
    if (!files) return fputs("fuzz: there are no flat files\n", stderr), 1;
    closedir(stream);
    long rounds = strtol(arguments[2], NULL, 10);
    for (long round = 0; round < rounds; round++) {
        char path[4096];
        const char *name = names[chance((uint64_t)files)];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", arguments[1], name) >= sizeof path)
            return fputs("fuzz: the name of the directory is too long\n", stderr), 1;
        int found = play_round(arguments[1], name, path);
        if (found < 0) return printf("round %ld: a wrong answer from a damaged %s\n", round, name), 1;
        errors += found;
    }
    printf("%ld rounds, %ld answers, %d of them errors\n", rounds, rounds * PROBES, errors);
    return 0;
}
