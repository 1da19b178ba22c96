/* SPDX-License-Identifier: MIT */
/*
 * support/figures.h: what a tier has counted. `./run test --tier NAME` prints it at its end, `./run tiers` shows it.
 */
#ifndef HUSK_TESTS_FIGURES_H
#define HUSK_TESTS_FIGURES_H

/* Notes a figure of this tier (tests/tools/tiers.sh); no tier, no figure. The name has neither '=' nor a quote. */
__attribute__((format(printf, 2, 3))) void test_figure(const char *name, const char *format, ...);

#endif
