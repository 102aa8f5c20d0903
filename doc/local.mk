# The manual: pages of doc/, man pages, and HTML by make doc.
EXTRA_DIST += doc/Doxyfile doc/make-doc.sh doc/manual.css doc/syncbn.h2m build-aux/doxygen-filter.awk \
	build-aux/doxygen-markdown.awk build-aux/draw-architecture.sh build-aux/man-pages.awk \
	doc/abi.md doc/architecture.md doc/architecture.svg doc/checkpoints.md doc/coming-from.md doc/devices.md \
	doc/from-output.md doc/glossary.md doc/manual.md doc/mpi.md doc/order.md doc/performance.md \
	doc/python.md doc/scaling.md doc/speed.png doc/supported.md doc/walkthrough.md

make_doc = AWK='$(AWK)' DOXYGEN='$(DOXYGEN)' HELP2MAN='$(HELP2MAN)' \
	$(SHELL) $(srcdir)/doc/make-doc.sh
public_headers = $(srcdir)/include/syncbn.h $(srcdir)/include/syncbn-mpi.h \
	$(pkginclude_HEADERS:%=$(srcdir)/%)

# Man pages are made where the tools are, and come with the release archive: then they are taken
# from there unless a header or a help text is newer.
doc_sources = $(public_headers) $(srcdir)/doc/Doxyfile $(srcdir)/doc/make-doc.sh \
	$(srcdir)/doc/syncbn.h2m $(srcdir)/build-aux/doxygen-filter.awk \
	$(srcdir)/build-aux/man-pages.awk
man_folder = $$(test -e doc/man/stamp && echo doc/man || echo $(srcdir)/doc/man)
if MAKE_MAN
doc/man/stamp: $(doc_sources) $(srcdir)/configure.ac $(srcdir)/tools/syncbn/main.c \
		$(srcdir)/tools/syncbn/command_bench.c $(srcdir)/tools/syncbn/command_check.c \
		$(srcdir)/tools/syncbn/command_devices.c $(srcdir)/tools/syncbn/command_inspect.c \
		$(srcdir)/tools/syncbn/command_tune.c \
		| tools/syncbn/syncbn
	$(AM_V_GEN)$(make_doc) man doc/man '$(abs_srcdir)' '$(PACKAGE_VERSION)' \
	  '$(abs_builddir)/tools/syncbn/syncbn' && touch $@
man: doc/man/stamp
all-local: man
else
man:
	@test -e $(man_folder)/stamp || { echo 'make $@: doxygen or help2man is missing;' \
	  'install them and run configure again' >&2; exit 1; }
endif

doc:
	@test -n '$(DOXYGEN)' || { \
	  echo 'make $@: doxygen is missing; install it and run configure again' >&2; exit 1; }
	$(AM_V_GEN)$(MKDIR_P) doc && $(make_doc) html doc '$(abs_srcdir)' '$(PACKAGE_VERSION)'
	@echo 'doc/html/index.html'

# The pages of the MPI library only with it.
man_pages = ls $(man_folder) 2> /dev/null | grep "[.]$$section" | \
	if test '$(MPI_KIND)' = none; then grep -v mpi; else cat; fi
install-man-pages:
	@folder=$(man_folder); for section in 1 3; do \
	  to='$(DESTDIR)$(mandir)'/man$$section; $(MKDIR_P) "$$to" || exit 1; \
	  for page in `$(man_pages)`; do \
	    $(INSTALL_DATA) $$folder/$$page "$$to" || exit 1; \
	  done; \
	done
uninstall-man-pages:
	@for section in 1 3; do \
	  for page in `$(man_pages)`; do \
	    rm -f '$(DESTDIR)$(mandir)'/man$$section/$$page; \
	  done; \
	done
install-data-local: install-man-pages
uninstall-local: uninstall-man-pages

mostlyclean-local:
	rm -rf doc/html
distclean-local:
	test '$(srcdir)' = . || rm -rf doc/man
maintainer-clean-local:
	rm -rf doc/man

.PHONY: doc install-man-pages man uninstall-man-pages
