// SPDX-License-Identifier: GPL-2.0
/*
 * sim check: what the policy promises, as TAP.
 * sim scenes DIR, sim cost: tables to standard output, plots into DIR.
 */
#include <string.h>
#include "sim.h"

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "check"))
		return check_run();
	if (argc == 3 && !strcmp(argv[1], "scenes"))
		return scenes_run(argv[2]);
	if (argc == 2 && !strcmp(argv[1], "cost"))
		return cost_run();
	fprintf(stderr, "Usage: sim check | sim scenes DIR | sim cost\n");
	return 2;
}
