# What is installed beside the libraries, and what packagers need.
pkgconfig_DATA = syncbn.pc
if HAVE_MPI
pkgconfig_DATA += syncbn-mpi.pc
endif

# --- the package file of CMake -------------------------------------------------------
# Its paths are relative to where it is installed: from the prefix, or, if a folder is not below that, from /.
cmakedir = $(libdir)/cmake/syncbn
cmake_DATA = syncbn-config.cmake syncbn-config-version.cmake
CLEANFILES += $(cmake_DATA)
EXTRA_DIST += packaging/cmake/syncbn-config.cmake.in packaging/cmake/syncbn-config-version.cmake.in
cmake_from = $(if $(filter-out $(prefix)/%,$(libdir) $(includedir)),,$(prefix))
cmake_values = sed \
	-e "s!%UP%!`echo '$(cmakedir:$(cmake_from)/%=%)' | sed 's|[^/][^/]*|..|g'`!" \
	-e 's!%LIB%!$(libdir:$(cmake_from)/%=%)!' -e 's!%INCLUDE%!$(includedir:$(cmake_from)/%=%)!' \
	-e 's!%PRIVATE_LIBS%!$(LIBS)!' -e 's!%VERSION%!$(PACKAGE_VERSION)!' \
	-e 's!%MPI_KIND%!$(MPI_KIND)!' -e 's!%MPI_MODULES%!$(PC_MPI_REQUIRES)!' \
	-e 's!%MPI_CFLAGS%!$(MPI_CFLAGS)!' -e 's!%MPI_LIBS%!$(MPI_LIBS)!'
$(cmake_DATA): Makefile
	$(AM_V_GEN)$(cmake_values) $(srcdir)/packaging/cmake/$@.in > $@.tmp && mv -f $@.tmp $@
syncbn-config.cmake: $(srcdir)/packaging/cmake/syncbn-config.cmake.in
syncbn-config-version.cmake: $(srcdir)/packaging/cmake/syncbn-config-version.cmake.in

# --- completion in bash --------------------------------------------------------------
completionsdir = $(datadir)/bash-completion/completions
dist_completions_DATA = packaging/bash-completion/syncbn

# --- make deb: Debian packages of the release archive, and lintian ------------------------
EXTRA_DIST += debian packaging/deb.sh
deb: dist
	$(SHELL) $(srcdir)/packaging/deb.sh '$(abs_builddir)/$(distdir).tar.gz' '$(abs_builddir)/deb'

# --- make check-cross: configured and compiled for another processor ------------------------
EXTRA_DIST += packaging/cross.sh
check-cross:
	$(SHELL) $(srcdir)/packaging/cross.sh '$(abs_srcdir)' '$(abs_builddir)/cross'

# --- make release-check: the checklist of a release (doc/abi.md) ------------------------------
EXTRA_DIST += packaging/release-check.sh
release-check:
	@srcdir='$(srcdir)' VERSION='$(PACKAGE_VERSION)' VERSION_INFO='$(SBN_VERSION_INFO)' \
	  MAKE='$(MAKE)' $(SHELL) $(srcdir)/packaging/release-check.sh

.PHONY: check-cross deb release-check
