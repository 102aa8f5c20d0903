include $(srcdir)/tools/check/local.mk
include $(srcdir)/tools/offline/local.mk
include $(srcdir)/tools/bench/local.mk
include $(srcdir)/tools/bench/scaling/local.mk
include $(srcdir)/tools/syncbn/local.mk
