/*
 * syncbn over MPI: a group whose ranks are the ranks of a communicator, each
 * with the devices of its own process. 4 hosts with 2 devices each are 8
 * replicas, one group.
 *
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
 * What goes over the wire. A pass is one MPI_Iallreduce of 17 words of 64 bits
 * (who calls what; it runs while the device reduces) and one of 2 + 8 words
 * per channel going forward, 2 + 9 going backward; channels that need the wide
 * format cost one more of 2 + 19 words per channel. The layers of one call
 * (sbn_forward_branches) share these. MPI_INT64_T and MPI_SUM: exact, so
 * neither the tree of the reduction nor the number of ranks shows in the
 * results. What <syncbn/data_parallel.h> exchanges goes over duplicates of its own.
 *
 * Threads. MPI is called from the thread that calls syncbn and from nowhere
 * else: no hidden threads, no callbacks. Below MPI_THREAD_SERIALIZED that must
 * be the thread that called MPI_Init; with MPI_THREAD_SERIALIZED one thread at
 * a time; groups used by several threads at once need MPI_THREAD_MULTIPLE. Ask
 * for MPI_THREAD_FUNNELED at least: OpenCL drivers have threads of their own.
 * A call against these rules fails with a sentence.
 *
 * Progress. Reductions advance only within calls: begin, sbn_pass_progress,
 * sbn_pass_end. Waiting tests and yields the processor, so that more ranks
 * than cores do not stop each other.
 *
 * Errors. The communicator is duplicated, and only the duplicates return
 * errors; the caller's keeps its error handler. An error of MPI ends the group
 * with SBN_TRANSPORT_ERROR and MPI's own sentence. A rank that is killed ends
 * the job: MPI does that.
 *
 * Ranks that do not come. After the group's timeout the pass ends with
 * SBN_TIMEOUT. A second before (or half the timeout, if that is shorter), and
 * only then, the waiting rank asks the others how far they are: whoever has not
 * answered by the end that it has begun the pass is named. A rank that sleeps, is
 * stopped, or computes elsewhere cannot answer and is named too, even if it
 * began the pass and has not called progress or end since; a rank that waits as
 * well is not.
 *
 * A rank that comes after that is told in the same call: SBN_REMOTE_ERROR with
 * the ranks that reported SBN_TIMEOUT, or, with SBN_TIMEOUT_LOCAL, it goes on
 * with its own statistics at once. Where the others had agreed on the pass
 * before and waited for its sums, it succeeds with what they had sent and learns
 * in its next call, by a timeout of its own.
 *
 * How to end after a timeout. Where the late ranks have come to the pass that
 * the others gave up, every reduction has been joined by all ranks:
 * sbn_mpi_destroy returns SBN_SUCCESS, and MPI_Finalize is safe on this rank,
 * whether its group is dead or goes on alone. (Call it on all ranks: a late rank's
 * reductions need the others to be within MPI.) Otherwise a reduction that some
 * rank never joined stays pending in MPI: sbn_mpi_destroy returns SBN_TIMEOUT,
 * nothing can cancel the reduction, and MPI_Finalize may wait for it for ever.
 * Then save what is worth saving and leave by
 *
 *   MPI_Abort(MPI_COMM_WORLD, status);     any status, 0 for a job that may end so
 *
 * which ends every rank, sleeping and stopped ones too.
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
 * Makes a transport for ONE group over the ranks of `comm`, an
 * intracommunicator; another group needs another (or sbn_group_split).
 * Collective over comm, and blocking, as MPI_Comm_dup is. `comm` itself is not
 * used afterwards. Errors: SBN_INVALID_ARGUMENT (MPI is not initialised, the
 * wrong thread, no intracommunicator, more ranks than SBN_MAX_WORLD_SIZE),
 * SBN_OUT_OF_MEMORY on any rank, SBN_TRANSPORT_ERROR with MPI's sentence;
 * *mpi is then NULL.
 */
SBN_API int sbn_mpi_create(MPI_Comm comm, sbn_mpi **mpi);

/* Fills the table for sbn_group_create; `mpi` must outlive the group. */
SBN_API int sbn_mpi_transport(sbn_mpi *mpi, sbn_transport *transport);

/*
 * Ends a transport whose group has been destroyed, before MPI_Finalize.
 * Collective. SBN_TIMEOUT: reductions that other ranks have not joined are
 * pending, here or in what sbn_group_split and sbn_data_parallel_create made of it;
 * the duplicates are not freed, and MPI_Finalize may not return: see above.
 * NULL is no error.
 */
SBN_API int sbn_mpi_destroy(sbn_mpi *mpi);

#ifdef __cplusplus
}
#endif

#endif
