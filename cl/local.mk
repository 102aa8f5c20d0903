# The kernels, embedded into the library as byte arrays. A program's text is the files that its list in
# cl/programs names, in its order.
kernel_lists = $(sort $(wildcard $(srcdir)/cl/programs/*.list))

EXTRA_DIST += cl/common cl/cpu cl/gpu cl/programs build-aux/embed-kernels.sh
CLEANFILES += cl/kernels.c

# Made in the build directory, and not part of a release: always from the .cl files, of which make coverage has
# others.
KERNELS = $(srcdir)/cl
cl/kernels.c: $(kernel_lists) $(wildcard $(KERNELS)/*/*.cl) $(srcdir)/build-aux/embed-kernels.sh
	$(AM_V_GEN)$(MKDIR_P) cl && \
	$(SHELL) $(srcdir)/build-aux/embed-kernels.sh $(KERNELS) $(kernel_lists) > $@.tmp && mv -f $@.tmp $@

# All programs of both forms, to be read and compiled alone: kernel-texts/cpu_forward.cl ...
kernel-texts: tools/offline/library
	rm -rf $@ && $(MKDIR_P) $@ && tools/offline/library kernels $@

.PHONY: kernel-texts
