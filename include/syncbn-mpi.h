/*
 * syncbn over MPI: a group whose ranks are the ranks of a communicator, each with the
 * devices of its own process. 4 hosts with 2 devices each are 8 replicas in one group.
 *
 *   sbn_transport transport = SBN_TRANSPORT_INIT;
 *   MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
 *   sbn_mpi_create(MPI_COMM_WORLD, &mpi);
 *   sbn_mpi_transport(mpi, &transport);
 *   config.transport = &transport;         the rest is as in one process
 *   sbn_group_create(&config, &group);
 *   ...
 *   sbn_group_destroy(group);
 *   sbn_mpi_destroy(mpi);
 *   MPI_Finalize();
 *
 * Messages. A pass is one MPI_Iallreduce of 17 words of 64 bits (who calls what; it runs
 * while the device reduces) and one of 2 + 8 words per channel forward, 2 + 9 backward.
 * Channels that need the wide format add one of 2 + 19 words per channel. The layers of
 * one call (sbn_forward_branches) share these. The operation is MPI_SUM of MPI_INT64_T,
 * which is exact: neither the tree of the reduction nor the number of ranks affects the
 * results. The exchanges of <syncbn/data_parallel.h> use communicators of their own.
 *
 * Threads. MPI is called only from the thread that calls syncbn; there are no hidden
 * threads and no callbacks. Below MPI_THREAD_SERIALIZED that must be the thread that
 * called MPI_Init; with MPI_THREAD_SERIALIZED one thread at a time; groups that several
 * threads use at the same time need MPI_THREAD_MULTIPLE. Ask for MPI_THREAD_FUNNELED at
 * least, because OpenCL drivers have threads of their own. A call that breaks these
 * rules fails with a sentence. sbn_group_abort calls no MPI.
 *
 * Progress. Reductions advance only within calls: begin, sbn_pass_progress, sbn_pass_end.
 * A call that waits tests and yields the processor, after 10 ms by sleeping for 0.1 ms at a
 * time, so that more ranks than cores do not block each other.
 *
 * Errors. The communicator is duplicated, and only the duplicates return errors; the
 * caller's communicator keeps its error handler. An error of MPI ends the group with
 * SBN_TRANSPORT_ERROR and MPI's own sentence. If a rank is killed, MPI ends the job.
 *
 * Timeouts. When a pass has waited for the group's timeout it ends with SBN_TIMEOUT. A
 * second before (or half the timeout, if that is shorter) the waiting rank asks the others
 * how far they are. The sentence names the ranks that are not known to have begun the pass.
 * A rank that sleeps, is stopped, or computes elsewhere cannot answer: it is named too, even
 * if it began the pass and has not called progress or end since. A rank that waits as well is
 * not named. sbn_group_abort does the same without waiting for the timeout, or for answers.
 *
 * A rank that comes after that is told in the same call: SBN_REMOTE_ERROR with the ranks that
 * reported SBN_TIMEOUT, or, with SBN_TIMEOUT_LOCAL, it goes on with its own statistics at once.
 * If the others had agreed on the pass before and waited for its sums, it succeeds with what
 * they had sent, and its next call ends by a timeout of its own.
 *
 * How to end a job after a timeout or sbn_group_abort. End the passes and destroy group and
 * transport as usual, on all ranks. If the late ranks have come to the pass that the others gave
 * up, every reduction has been joined by all ranks: sbn_mpi_destroy returns SBN_SUCCESS, and
 * MPI_Finalize is safe on this rank, whether its group has failed or goes on alone. Otherwise a
 * reduction that some rank never joined stays pending in MPI: sbn_mpi_destroy returns
 * SBN_TIMEOUT, nothing can cancel the reduction, and MPI_Finalize may wait for it for ever. Then
 * save what is worth saving, and call
 *
 *   MPI_Abort(MPI_COMM_WORLD, status);     any status, 0 for a job that may end so
 *
 * which ends every rank, also sleeping and stopped ones.
 */
#ifndef SYNCBN_MPI_H
#define SYNCBN_MPI_H

#include <mpi.h>

#include <syncbn/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbn_mpi sbn_mpi;

/*
 * Makes a transport for ONE group over the ranks of `comm`, an intracommunicator. Another
 * group needs another transport, or sbn_group_split. Collective over `comm`; blocks as
 * MPI_Comm_dup does. `comm` itself is not used afterwards.
 *
 * Errors: SBN_INVALID_ARGUMENT (MPI is not initialised, the wrong thread, no
 * intracommunicator, more ranks than SBN_MAX_WORLD_SIZE), SBN_OUT_OF_MEMORY on any rank,
 * SBN_TRANSPORT_ERROR with MPI's sentence; *mpi is then NULL.
 */
SBN_API int sbn_mpi_create(MPI_Comm comm, sbn_mpi **mpi);

/*
 * Fills the table for sbn_group_create; transport->size must be set. `mpi` must outlive
 * the group.
 */
SBN_API int sbn_mpi_transport(sbn_mpi *mpi, sbn_transport *transport);

/*
 * Ends a transport whose group has been destroyed, before MPI_Finalize. Collective.
 * Accepts NULL.
 *
 * SBN_TIMEOUT: reductions that other ranks have not joined are pending, here or in what
 * sbn_group_split and sbn_data_parallel_create made of this transport; the duplicates are
 * not freed, and MPI_Finalize may not return: see above.
 */
SBN_API int sbn_mpi_destroy(sbn_mpi *mpi);

#ifdef __cplusplus
}
#endif

#endif
