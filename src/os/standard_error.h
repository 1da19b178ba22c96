/* SPDX-License-Identifier: MIT */
/*
 * os/standard_error.h: where a line goes that the user of a program has asked for by a variable of the environment.
 */
#ifndef HUSK_OS_STANDARD_ERROR_H
#define HUSK_OS_STANDARD_ERROR_H

/* In one piece, with a newline: lines of several threads do not mix. What cannot be written is lost. */
void husk__print_line(const char *line);

#endif
