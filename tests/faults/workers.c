#include "faults/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"

static void await(pid_t process, int part)
{
    int status = 0;
    must(waitpid(process, &status, 0) == process ? CL_SUCCESS : SBN_IO_ERROR, "waitpid");
    if (WIFSIGNALED(status))
        tap_ok(0, "part %d: ended by signal %d", part, WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        tap_ok(0, "part %d: expected exit status 0, got %d", part, WEXITSTATUS(status));
}

const worker_report *workers_run(int parts, worker *work)
{
    const size_t size = (size_t)parts * sizeof(worker_report);
    worker_report *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                              0);
    pid_t *processes = calloc((size_t)parts, sizeof *processes);
    must(all != MAP_FAILED && processes ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "memory for workers");
    if (parts == 1)
        work(0, 1, &all[0]);
    fflush(stdout);
    for (int part = 0; part < parts && parts > 1; ++part) {
        processes[part] = fork();
        must(processes[part] >= 0 ? CL_SUCCESS : SBN_IO_ERROR, "fork");
        if (processes[part] == 0) {
            work(part, parts, &all[part]);
            exit(0);
        }
    }
    for (int part = 0; part < parts && parts > 1; ++part)
        await(processes[part], part);
    free(processes);
    return all;
}
