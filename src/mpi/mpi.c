#include "mpi/mpi.h"

#include <stdarg.h>
#include <stdio.h>

int sbn__mpi_fail(int status, const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return sbn_set_last_error(status, sentence);
}

int sbn__mpi_result(int code, const char *call)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS)
        return SBN_SUCCESS;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    /* Some implementations return a stack of calls, one per line. */
    for (char *at = text; *at; ++at)
        if (*at == '\n')
            *at = ' ';
    return sbn__mpi_fail(SBN_TRANSPORT_ERROR, "%s: %.400s", call, text);
}

int sbn__mpi_check_thread(const sbn_mpi *mpi)
{
    int finalized, is_main;
    MPI_Finalized(&finalized);
    if (finalized)
        return sbn__mpi_fail(SBN_INVALID_ARGUMENT, "MPI_Finalize has been called already");
    if (mpi->any_thread)
        return SBN_SUCCESS;
    const int status = sbn__mpi_result(MPI_Is_thread_main(&is_main), "MPI_Is_thread_main");
    if (!status && !is_main)
        return sbn__mpi_fail(SBN_INVALID_ARGUMENT,
                             "MPI's thread level lets only the thread that called MPI_Init make "
                             "this call; ask MPI_Init_thread for MPI_THREAD_SERIALIZED, or for "
                             "MPI_THREAD_MULTIPLE where several threads have groups");
    return status;
}
