# Examples, built but not installed.
#
# noinst_PROGRAMS += examples/NAME
# examples_NAME_LDADD = libsyncbn.la $(OPENCL_LIBS)

# The demo convolves with CLBlast and reads gzip files; without either it is left out.
if HAVE_CLBLAST
# noinst_PROGRAMS += examples/train_fashion
# examples_train_fashion_CPPFLAGS = $(AM_CPPFLAGS) $(CLBLAST_CFLAGS) $(ZLIB_CFLAGS)
# examples_train_fashion_LDADD = libsyncbn.la $(OPENCL_LIBS) $(CLBLAST_LIBS) $(ZLIB_LIBS)
endif
