// SPDX-License-Identifier: GPL-2.0
/*
 * Writes strings and numbers as JSON.  A file name may have any bytes.  Control characters,
 * quotes and backslashes are escaped; other bytes are written as they are, as by ls(1).
 *
 * This is not done by json-c, because it writes an object in one line, or in a line for each
 * value.  The programs write a line for each member or export, which people can read as well.
 */
#include <string.h>
#include "json.h"

/**
 * json_string - write a string with its quotes
 * @f: the file
 * @s: the string
 */
void json_string(FILE *f, const char *s)
{
	putc('"', f);
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(f, "\\u%04x", c);
		else
			putc(c, f);
	}
	putc('"', f);
}

/**
 * json_value - write a number as a number, anything else as a string
 * @f: the file
 * @s: the value
 */
void json_value(FILE *f, const char *s)
{
	const char *digits = s + (*s == '-');

	/* JSON has no numbers with leading zeros */
	if (*digits && strspn(digits, "0123456789") == strlen(digits) &&
	    (digits[0] != '0' || !digits[1]))
		fputs(s, f);
	else
		json_string(f, s);
}
