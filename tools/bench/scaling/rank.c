#include "bench/scaling/rank.h"

#include <stdio.h>
#include <string.h>

#include "check/devices.h"

void must(int status, const char *what)
{
    if (status == SBN_SUCCESS)
        return;
    fprintf(stderr, "%s: %s %s\n", what, sbn_strerror(status), sbn_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void rank_open(rank *r, int *argc, char ***argv)
{
    device_list list;
    cl_int code = CL_DEVICE_NOT_FOUND;
    int level;
    MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
    *r = (rank){.transport = SBN_TRANSPORT_INIT};
    MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r->ranks);
    must(devices_list(&list), "listing devices");
    for (size_t i = 0; i < list.devices && !r->queue; ++i) {
        const device_info *d = &list.device[i];
        if (!d->usable || strcmp(list.platform[d->platform].name, "Portable Computing Language"))
            continue;
        r->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
        must(code, "clCreateContext");
        r->queue = clCreateCommandQueue(r->context, d->id, 0, &code);
    }
    devices_free(&list);
    must(code, "making a queue on PoCL's first device");
    must(sbn_mpi_create(MPI_COMM_WORLD, &r->mpi), "sbn_mpi_create");
    must(sbn_mpi_transport(r->mpi, &r->transport), "sbn_mpi_transport");
}

void rank_close(rank *r)
{
    must(sbn_mpi_destroy(r->mpi), "sbn_mpi_destroy");
    clReleaseCommandQueue(r->queue);
    clReleaseContext(r->context);
    MPI_Finalize();
}

sbn_group *rank_group(rank *r, const sbn_transport *transport)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *group;
    config.queues = &r->queue;
    config.replicas = 1;
    config.transport = transport;
    must(sbn_group_create(&config, &group), "sbn_group_create");
    return group;
}
