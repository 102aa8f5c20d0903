#!/bin/sh
# What threaded groups promise, with ranks for threads: the same bits, the same
# sentences when ranks disagree, parts of a split, several layers in one call, hundreds
# of random passes, and what latency costs (printed); thread levels, and ranks without
# any device.

. "${srcdir:=.}/tests/mpi_common.sh"

tap 2 tests/mpi_arguments
# The odd ranks see no driver.
cat > "$work/mpi_no_device" << 'PROGRAM'
#!/bin/sh
case ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} in
*[13579]) OCL_ICD_VENDORS=/none; export OCL_ICD_VENDORS ;;
esac
exec ${SBN_TEST_TOOL-} tests/mpi_no_device
PROGRAM
chmod +x "$work/mpi_no_device"
tap 4 "$work/mpi_no_device"
tap 4 tests/mpi_split
# Under valgrind each rank would compile for minutes.
if [ "${SBN_TEST_UNDER-}" != valgrind ]; then
    tap 2 tests/mpi_threads single
    tap 2 tests/mpi_threads serialized
    tap 3 tests/mpi_threads multiple
    tap 4 tests/mpi_hub
    tap 7 tests/mpi_hub
    tap 5 tests/mpi_settings
    tap 4 tests/mpi_branches
    tap 3 tests/mpi_branches_disagree
    tap 4 tests/mpi_branches_refused
    tap 4 tests/mpi_soak 300
    tap 2 tests/mpi_latency
fi
echo "1..$count"
