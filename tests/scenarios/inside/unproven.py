# SPDX-License-Identifier: GPL-2.0
"""Changes of names, whose answers can be lost with a session (Documentation/architecture.rst).

What is done with an open file does not fail when a session ends, unless others change it too.
What is done with a name and can't be done twice may say EIO then, where nothing proves whether it
was made: it may have been, or not.
"""

import errno


def unproven(function, done, excused):
    """Make a change of a name, of which it may not be known whether it was made.

    Gives what function() returns, or None if done() says that it was made though it said
    EIO.  excused(n) is whether its n-th EIO can be that of a session that has ended.
    """
    lost = 0
    while True:
        try:
            return function()
        except OSError as e:
            lost += 1
            if e.errno != errno.EIO or not excused(lost):
                raise
            if done():
                return None
