# SPDX-License-Identifier: GPL-2.0
#
# rdmafs: a network file system over RDMA. One file for two readers: kbuild,
# which comes with KERNELRELEASE set, and the person at the prompt.

ifneq ($(KERNELRELEASE),)

# Older ones lose data in the page cache: Documentation/rdmafs.rst.
ifneq ($(shell printf '%s\n' 6.12.92 '$(KERNELVERSION)' | sort -VC && echo ok),ok)
$(error rdmafs needs Linux 6.12.92 or later, and this is $(KERNELVERSION))
endif

subdir-ccflags-y += -I$(src)

# For test kernels: the points where tests take the reins (transport/points.h).
subdir-ccflags-$(RDMAFS_KUNIT) += -DRDMAFS_POINTS
# And what asks the kernel for memory asks them first.
subdir-ccflags-$(RDMAFS_KUNIT) += -include $(src)/tests/points/nomem.h

# RDMAFS_GCOV=y has each room count the lines that run, in a kernel with gcov (tests/coverage).

# Lower rooms first: each may use only what stands above it in this list.
obj-$(RDMAFS_KUNIT) += tests/points/
obj-m += regpolicy/
obj-m += transport/
obj-m += fs/proto/
obj-m += fs/client/
obj-m += fs/server/
obj-$(RDMAFS_KUNIT) += tests/kunit/
# What benchmarks compare with.
obj-$(RDMAFS_BARE) += tests/bare/

else

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
KBUILD = $(MAKE) -C $(KDIR) M=$(CURDIR)
DESTDIR ?=

all: modules utils

modules:
	$(KBUILD) modules

utils:
	$(MAKE) -C utils

install: modules_install
	$(MAKE) -C utils install DESTDIR=$(DESTDIR)

modules_install: modules
	$(KBUILD) INSTALL_MOD_DIR=extra modules_install

# Of the static checks those that build nothing, so that each commit can pass them: how it is
# written, and which room includes which.
lint:
	tests/guest/setup check
	prove --comments --failures tests/check/style
	prove --comments --failures tests/check/layers :: --sources

# A person's own RNIC and kernel are not needed below: these run in guests.
check:
	tests/check/run

check-full:
	tests/check/run --full

# A thousand lost connections, a hundred losses of power, failing disks, lost RNICs; in parts, if
# need be: tests/check/faults --help.
check-faults:
	tests/check/faults

demo:
	tests/demo

bench:
	tests/bench/run

bench-fairness:
	tests/bench/fairness

# tar, git, find, ls, rm and make on trees of files, beside NFS.
bench-trees:
	tests/bench/trees

# Which lines of the modules the tests execute.
coverage:
	tests/coverage

# The registration policy alone, by its own source, in user space.
sim:
	tests/sim/run

# What checks bytes off the wire, and the states of what they are about, in user space, ten
# million inputs each.
fuzz:
	tests/fuzz/run

# HTML of the documentation; the manual pages are ready to be installed, and only looked at.
docs:
	tests/guest/setup docs
	sphinx-build -E -W --keep-going -b html -d Documentation/_build/doctrees \
		Documentation Documentation/_build/html
	! groff -man -Tutf8 -ww -z Documentation/man/*.[58] 2>&1 | grep .

clean:
	$(KBUILD) clean
	$(MAKE) -C utils clean
	rm -rf Documentation/_build

help:
	@echo 'all             modules for KVER=$(KVER), and the user tools'
	@echo 'modules_install install the modules of KVER'
	@echo 'install         modules, tools and man pages'
	@echo 'demo            boot a guest, mount rdmafs over soft-RoCE, run fio on it'
	@echo 'lint            style, and what files of one room include of others; builds nothing'
	@echo 'check           the tests in UML, short forms of some elsewhere; about 25 minutes'
	@echo 'check-full      all tests in full, on the slow kernels, too; about a day'
	@echo 'check-faults    faults, a hundred to a thousand times each; about three to five hours'
	@echo 'bench           compare with NFS/RDMA, NFS/TCP and NVMe-oF'
	@echo 'bench-fairness  how mounts share translations when there are too few'
	@echo 'bench-trees     trees of small files beside NFS/RDMA and NFS/TCP: time and requests'
	@echo 'coverage        which lines the tests in UML execute; longer than check'
	@echo 'sim             simulate the registration policy; tables and plots'
	@echo 'fuzz            libFuzzer on what checks bytes off the wire, and on states; an hour or more'
	@echo 'docs            HTML of Documentation/ in Documentation/_build/html; no warning is allowed'
	@echo 'clean           remove what was built'

.PHONY: all modules utils install modules_install lint check check-full check-faults demo bench bench-fairness bench-trees coverage sim fuzz docs clean help

endif
