/* The command's parts. Each takes what follows its name and returns the exit status. */
#ifndef TOOLS_SYNCBN_COMMAND_H
#define TOOLS_SYNCBN_COMMAND_H

int command_devices(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_check(int argc, char **argv);
int command_inspect(int argc, char **argv);
int command_tune(int argc, char **argv);

#endif
