// SPDX-License-Identifier: GPL-2.0
/*
 * Draws lines over a time axis, as SVG.
 */
#include <linux/kernel.h>
#include "sim.h"

#define WIDTH	760.0
#define HEIGHT	300.0
#define LEFT	70.0
#define TOP	40.0

struct svg {
	FILE *f;
	double x_max;
	double y_max;
	u32 lines;
};

static const char *const colours[] = {
	"#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f",
};

/**
 * svg_open - begin a plot
 * @path:  the file to be written
 * @title: its title
 * @y:	   name of the y axis
 * @x_max: right end of the time axis, in s
 * @y_max: upper end of the y axis
 *
 * Return: the plot; NULL if the file cannot be made.
 */
struct svg *svg_open(const char *path, const char *title, const char *y, double x_max,
		     double y_max)
{
	struct svg *v = calloc(1, sizeof(*v));
	int i;

	if (!v)
		return NULL;
	v->x_max = x_max;
	v->y_max = y_max;
	v->f = fopen(path, "w");
	if (!v->f) {
		free(v);
		return NULL;
	}
	fprintf(v->f, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" ",
		LEFT + WIDTH + 140, TOP + HEIGHT + 40);
	fprintf(v->f, "font-family=\"sans-serif\" font-size=\"12\">\n");
	fprintf(v->f, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
	fprintf(v->f, "<text x=\"%g\" y=\"18\" font-size=\"14\">%s</text>\n", LEFT, title);
	fprintf(v->f, "<text x=\"%g\" y=\"34\" fill=\"#555\">%s</text>\n", LEFT, y);
	for (i = 0; i <= 4; i++) {
		double py = TOP + HEIGHT - HEIGHT * i / 4, px = LEFT + WIDTH * i / 4;

		fprintf(v->f, "<path d=\"M%g %gh%g\" stroke=\"#ddd\"/>\n", LEFT, py, WIDTH);
		fprintf(v->f, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%g</text>\n", LEFT - 6,
			py + 4, y_max * i / 4);
		fprintf(v->f, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%g s</text>\n", px,
			TOP + HEIGHT + 18, x_max * i / 4);
	}
	return v;
}

/**
 * svg_line - draw a line
 * @v:	  the plot
 * @name: name of the line
 * @x:	  times of its points
 * @y:	  values of its points
 * @n:	  number of points
 */
void svg_line(struct svg *v, const char *name, const double *x, const double *y, u32 n)
{
	const char *colour = colours[v->lines % ARRAY_SIZE(colours)];
	u32 i;

	fprintf(v->f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
		colour);
	for (i = 0; i < n; i++)
		fprintf(v->f, "%.1f,%.1f ", LEFT + WIDTH * x[i] / v->x_max,
			TOP + HEIGHT - HEIGHT * y[i] / v->y_max);
	fprintf(v->f, "\"/>\n<text x=\"%g\" y=\"%g\" fill=\"%s\">%s</text>\n", LEFT + WIDTH + 10,
		TOP + 12 + 18.0 * v->lines, colour, name);
	v->lines++;
}

/**
 * svg_close - end a plot and close its file
 * @v: the plot
 */
void svg_close(struct svg *v)
{
	fprintf(v->f, "</svg>\n");
	fclose(v->f);
	free(v);
}
