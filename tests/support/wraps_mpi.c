/* Calls into MPI. What is to fail is not called, so that no rank waits where all fail alike; MPI_Test is, before. */
#include <mpi.h>

#include "support/wraps.h"

#define WRAP_MPI(f, function, parameters, arguments) \
    WRAP_CALL(int, f, function, MPI_ERR_OTHER, parameters, arguments)

/* Creating and freeing communicators and groups; those that take no part in one get none. */
#define WRAP_MADE(f, function, none, part, parameters, arguments) \
    WRAP_HOLD(int, f, function, MPI_ERR_OTHER, WRAPS_REFERENCES, \
              made == MPI_SUCCESS && *part != none, parameters, arguments)

WRAP_MADE(MPI_Comm_dup, WRAP_MPI_DUP, MPI_COMM_NULL, copy, (MPI_Comm comm, MPI_Comm *copy),
          (comm, copy))
WRAP_MADE(MPI_Comm_group, WRAP_MPI_COMM_GROUP, MPI_GROUP_NULL, group,
          (MPI_Comm comm, MPI_Group *group), (comm, group))
WRAP_MADE(MPI_Group_incl, WRAP_MPI_INCL, MPI_GROUP_NULL, part,
          (MPI_Group group, int count, const int ranks[], MPI_Group *part),
          (group, count, ranks, part))
WRAP_MADE(MPI_Comm_create_group, WRAP_MPI_CREATE_GROUP, MPI_COMM_NULL, part,
          (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *part), (comm, group, tag, part))

#define WRAP_FREED(f, type) \
    WRAP(int, f, (type * object)) \
    { \
        --wraps_held[WRAPS_REFERENCES]; \
        return __real_##f(object); \
    }

WRAP_FREED(MPI_Group_free, MPI_Group)
WRAP_FREED(MPI_Comm_free, MPI_Comm)

WRAP(int, MPI_Test, (MPI_Request * request, int *done, MPI_Status *status))
{
    int ended;
    const int code = __real_MPI_Test(request, &ended, status);
    if (wraps_fails(WRAP_MPI_TEST))
        return MPI_ERR_OTHER;
    *done = ended;
    return code;
}

WRAP_MPI(MPI_Allreduce, WRAP_MPI_ALLREDUCE,
         (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
         (from, to, count, type, op, comm))
WRAP_MPI(MPI_Comm_set_errhandler, WRAP_MPI_ERRHANDLER, (MPI_Comm comm, MPI_Errhandler handler),
         (comm, handler))
WRAP_MPI(MPI_Comm_rank, WRAP_MPI_RANK, (MPI_Comm comm, int *rank), (comm, rank))
WRAP_MPI(MPI_Comm_size, WRAP_MPI_SIZE, (MPI_Comm comm, int *size), (comm, size))
WRAP_MPI(MPI_Comm_test_inter, WRAP_MPI_TEST_INTER, (MPI_Comm comm, int *flag), (comm, flag))
WRAP_MPI(MPI_Iallreduce, WRAP_MPI_IALLREDUCE,
         (const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
          MPI_Request *request),
         (from, to, count, type, op, comm, request))
WRAP_MPI(MPI_Iprobe, WRAP_MPI_IPROBE,
         (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
         (source, tag, comm, flag, status))
WRAP_MPI(MPI_Isend, WRAP_MPI_ISEND,
         (const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
          MPI_Request *request),
         (from, count, type, to, tag, comm, request))
WRAP_MPI(MPI_Recv, WRAP_MPI_RECV,
         (void *to, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Status *status),
         (to, count, type, source, tag, comm, status))
WRAP_MPI(MPI_Is_thread_main, WRAP_MPI_MAIN, (int *flag), (flag))
