/* probe DIR: reads lines of FEN, with or without a seventh field for the accrued score, and answers each by
 * "value depth" or "error: ...", with the name of a table that is missing or damaged. A depth that is not
 * stored is "?". With --moves, each legal move follows as "move value depth accrued"; with --rules wg the
 * tables are those for whole-game mobility; --check reads all tables first. With --peek, answers are values
 * alone, "?" where they are not at hand.
 *
 * Copyright (C) 2026 The tbgen developers
 * Licence: MIT, see LICENSE in this folder. */
#include "tbgen.h"

#include <stdio.h>
#include <string.h>

static void print_goal(const struct tbgen_result *result) {
    char value[TBGEN_SCORE_SIZE];
    tbgen_write_score(result->value, value);
    printf("%s ", value);
    if (result->depth == TBGEN_NO_DEPTH) putchar('?');
    else printf("%d", result->depth);
}

static enum tbgen_error
answer(struct tbgen_room *room, enum tbgen_rules rules, const char *fen, bool with_moves, bool peeks) {
    struct tbgen_position position;
    struct tbgen_result result;
    struct tbgen_move moves[TBGEN_MOST_MOVES];
    tbgen_score accrued;
    int count = 0;
    enum tbgen_error failed = tbgen_read_fen(fen, rules, &position, &accrued);
    if (!failed && peeks) {
        char value[TBGEN_SCORE_SIZE] = "?";
        failed = tbgen_peek(room, &position, accrued, &result.value);
        if (failed && failed != TBGEN_NOT_AT_HAND) return failed;
        if (!failed) tbgen_write_score(result.value, value);
        puts(value);
        return TBGEN_OK;
    }
    if (!failed) failed = tbgen_probe(room, &position, accrued, &result);
    if (!failed && with_moves) failed = tbgen_moves(room, &position, accrued, moves, &count);
    if (failed) return failed;
    print_goal(&result);
    for (int at = 0; at < count; at++) {
        char held[TBGEN_SCORE_SIZE];
        tbgen_write_score(moves[at].result.accrued, held);
        printf(" %s ", moves[at].uci);
        print_goal(&moves[at].result);
        printf(" %s", held);
    }
    putchar('\n');
    return TBGEN_OK;
}

/* Read a line without its end; false at the end of the input. What is too long for a FEN is cut. */
static bool read_line(char *line, int size) {
    int length = 0, byte;
    while ((byte = getchar()) != EOF && byte != '\n')
        if (length < size - 1) line[length++] = (char)byte;
    line[length] = 0;
    return length || byte != EOF;
}

int main(int count, char *arguments[]) {
    const char *directory = NULL, *damaged;
    enum tbgen_rules rules = TBGEN_R_MOBILITY;
    bool with_moves = false, peeks = false, check = false, help = false, usage = false;
    for (int at = 1; at < count; at++) {
        if (!strcmp(arguments[at], "--moves")) with_moves = true;
        else if (!strcmp(arguments[at], "--peek")) peeks = true;
        else if (!strcmp(arguments[at], "--check")) check = true;
        else if (!strcmp(arguments[at], "-h") || !strcmp(arguments[at], "--help")) help = true;
        else if (!strcmp(arguments[at], "--rules") && at + 1 < count) {
            rules = strcmp(arguments[++at], "wg") ? TBGEN_R_MOBILITY : TBGEN_WHOLE_GAME;
            usage |= rules == TBGEN_R_MOBILITY && strcmp(arguments[at], "r");
        } else if (!directory && arguments[at][0] != '-') directory = arguments[at];
        else usage = true;
    }
    if (help || usage || !directory) {
        fputs("usage: probe [--moves] [--peek] [--check] [--rules r|wg] DIR\n", help ? stdout : stderr);
        return help ? 0 : 2;
    }
    struct tbgen *tables;
    struct tbgen_room *room = NULL;
    enum tbgen_error failed = tbgen_open(directory, rules, &tables);
    if (!failed && !(room = tbgen_room_open(tables))) failed = TBGEN_NO_MEMORY;
    if (!failed && check && (failed = tbgen_check(tables, &damaged))) fprintf(stderr, "probe: %s: ", damaged);
    if (failed) {
        fprintf(stderr, "%s%s\n", check && room ? "" : "probe: ", tbgen_sentence(failed));
    } else {
        for (char line[512]; read_line(line, sizeof line); fflush(stdout)) {
            enum tbgen_error wrong = answer(room, rules, line, with_moves, peeks);
            if (wrong == TBGEN_MISSING || wrong == TBGEN_DAMAGED)
                printf("error: %s: %s\n", tbgen_table(room), tbgen_sentence(wrong));
            else if (wrong) printf("error: %s\n", tbgen_sentence(wrong));
        }
    }
    tbgen_room_close(room);
    tbgen_close(tables);
    if (ferror(stdout)) perror("probe: output");
    return failed || ferror(stdout) ? 1 : 0;
}
