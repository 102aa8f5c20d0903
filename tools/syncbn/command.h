/* The command's parts. Each takes what follows its name and returns the exit status. */
#ifndef TOOLS_SYNCBN_COMMAND_H
#define TOOLS_SYNCBN_COMMAND_H

/* Exit statuses besides 0. */
enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

int command_devices(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_check(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_tune(int argc, char **argv);

/* One sentence on stderr, "syncbn: ..."; returns EXIT_USAGE. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
