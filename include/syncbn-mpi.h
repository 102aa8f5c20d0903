/*
 * syncbn over MPI: a group whose ranks are the ranks of a communicator, each with the devices of
 * its own process. 4 hosts with 2 devices each are 8 replicas in one group.
 *
 *   int level;
 *   sbn_mpi *mpi;
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
 * doc/mpi.md explains launching, ranks and devices, processor cores and messages.
 *
 * Threads. MPI is called only from the thread that calls syncbn. Below MPI_THREAD_SERIALIZED that
 * must be the thread that called MPI_Init; with MPI_THREAD_SERIALIZED one thread at a time; groups
 * that several threads use at the same time need MPI_THREAD_MULTIPLE. Ask for MPI_THREAD_FUNNELED
 * at least, because OpenCL drivers have threads of their own. A call that breaks these rules fails
 * with a sentence, except sbn_group_destroy and sbn_data_parallel_destroy: what they end has MPI's
 * communicators still, and all its unfinished reductions count as pending in sbn_mpi_destroy.
 * sbn_group_abort calls no MPI.
 *
 * Progress. Reductions advance only within calls: begin, sbn_pass_progress, sbn_pass_end. A call
 * that waits tests and yields the processor; after 10 ms it sleeps 0.1 ms at a time.
 *
 * Errors of MPI end the group with SBN_TRANSPORT_ERROR and MPI's own sentence. Your communicator
 * keeps its error handler: it is duplicated, and only the duplicates return errors. Open MPI 4.1
 * gives those of a reduction to MPI_COMM_WORLD's handler, which by default ends the job. If a rank
 * is killed, MPI ends the job.
 *
 * Timeouts. sbn_timeout_action says what happens. A second before the end of the timeout (or half
 * the timeout, if that is shorter), or after sbn_group_abort, the waiting rank asks the others how
 * far they are. Ranks that answer are not named. A rank that sleeps, is stopped, or computes
 * elsewhere cannot answer: it is named even if it began the pass and has not called progress or end
 * since.
 *
 * How to end a job after a timeout or sbn_group_abort. End the passes, and destroy group and
 * transport as usual, on all ranks. If sbn_mpi_destroy returns SBN_SUCCESS, the late ranks have
 * come to the pass that the others gave up, and MPI_Finalize is safe. If it returns SBN_TIMEOUT,
 * some rank never joined a reduction, because it did not come, came with another call, or gave up
 * when several passes had begun (it has SBN_SUCCESS itself then): nothing can cancel that, and
 * MPI_Finalize may wait for ever.
 * Then save what is worth saving, and call
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
 * Makes a transport for ONE group over the ranks of `comm`, an intracommunicator. Another group
 * needs another transport, or sbn_group_split. Collective over `comm`; blocks as MPI_Comm_dup does.
 * `comm` itself is not used afterwards.
 *
 * Errors. SBN_INVALID_ARGUMENT: among others MPI is not initialised, the wrong thread, no
 * intracommunicator, more ranks than SBN_MAX_WORLD_SIZE. SBN_OUT_OF_MEMORY on any rank;
 * SBN_TRANSPORT_ERROR with MPI's sentence. *mpi is then NULL.
 */
SBN_API int sbn_mpi_create(MPI_Comm comm, sbn_mpi **mpi);

/*
 * Fills the table for sbn_group_create; transport->size must be set (SBN_TRANSPORT_INIT). `mpi`
 * must outlive the group.
 */
SBN_API int sbn_mpi_transport(sbn_mpi *mpi, sbn_transport *transport);

/*
 * Ends a transport whose group has been destroyed, before MPI_Finalize. Collective: waits up to a
 * second for the other ranks. If one comes later, the duplicates of the communicator are left
 * behind, because messages may be under way. Accepts NULL.
 *
 * Errors. SBN_TIMEOUT: a reduction that some rank never joined is pending. Those of parts
 * (sbn_group_split, sbn_data_parallel_create) count if they were still pending a second after the
 * part had ended. The duplicates are not freed, and MPI_Finalize may not return: see above.
 */
SBN_API int sbn_mpi_destroy(sbn_mpi *mpi);

#ifdef __cplusplus
}
#endif

#endif
