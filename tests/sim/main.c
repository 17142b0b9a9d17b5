// SPDX-License-Identifier: GPL-2.0
/*
 * The simulation's commands:
 *
 *	sim check	check the promises of the policy, and report as TAP
 *	sim scenes DIR	run all scenes; tables go to standard output, plots into DIR
 *	sim cost	measure the time that the policy takes; a table goes to standard output
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
