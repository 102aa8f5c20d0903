# What make bench makes of the JSON of syncbn bench: the goals, and columns to be plotted.
noinst_PROGRAMS += tools/bench/report/report
tools_bench_report_report_SOURCES = \
	tools/bench/report/data.c \
	tools/bench/report/data.h \
	tools/bench/report/goals.c \
	tools/bench/report/goals.h \
	tools/bench/report/goals_list.c \
	tools/bench/report/goals_list.h \
	tools/bench/report/main.c \
	tools/bench/report/results.c \
	tools/bench/report/results.h
tools_bench_report_report_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tools_bench_report_report_LDADD = $(JANSSON_LIBS) -lm
EXTRA_DIST += tools/bench/report/plot.gp
