#!/bin/sh
# newest_onednn.sh FOLDER: the benchmark against PyPI's newest oneDNN, in a build of its own within
# FOLDER. That release runs on SYCL, whose CPU device is Intel's OpenCL runtime: both are installed
# there, some 1 GB, and nothing outside of it changes.
# Environment: srcdir, and what make bench takes, as MAKEFLAGS or variables of make in BENCH.
set -eu
: "${srcdir:=.}" "${BENCH=}"
mkdir -p "$1"
source=$(cd "$srcdir" && pwd) folder=$(cd "$1" && pwd)
python=$folder/python libraries=$folder/python/lib

[ -e "$libraries/libdnnl.so" ] || {
    python3 -m venv "$python"
    "$python/bin/pip" install --quiet onednn-devel
    # The linker takes these for needed libraries of the minor version of oneDNN itself.
    release=$("$python/bin/pip" show onednn | sed -n 's/^Version: \([0-9]*\.[0-9]*\)\..*/\1/p')
    "$python/bin/pip" install --quiet "intel-sycl-rt==$release.*" "intel-opencl-rt==$release.*" \
        "intel-cmplr-lib-rt==$release.*" "intel-cmplr-lib-ur==$release.*"
    # Its loader lacks ocl-icd's symbol versions.
    rm -f "$libraries"/libOpenCL.so*
}

# Drivers: the system's and Intel's.
mkdir -p "$folder/vendors"
cp /etc/OpenCL/vendors/pocl.icd "$folder/vendors"
echo "$libraries/libintelocl.so" > "$folder/vendors/intel.icd"
export OCL_ICD_VENDORS="$folder/vendors" LD_LIBRARY_PATH="$libraries" ONEDNN_VERBOSE=0

mkdir -p "$folder/build"
cd "$folder/build"
[ -e config.status ] ||
    "$source/configure" --quiet --disable-static --without-mpi --without-clblast \
        DNNL_CFLAGS="-I$python/include" DNNL_LIBS="-L$libraries -ldnnl" \
        LDFLAGS="-Wl,-rpath-link,$libraries"
make -s tools/syncbn/syncbn tools/bench/report/report

# PoCL's devices, as in make bench.
export POCL_DEVICES="${POCL_DEVICES-pthread pthread}"
devices=$(tools/syncbn/syncbn devices | awk '
    /^[^ ]/ { pocl = /Portable Computing Language/ }
    /^  [0-9]/ && pocl { list = list (list == "" ? "" : ",") $1 }
    END { print list }')
# shellcheck disable=SC2086
make bench BENCH_OPTIONS="--devices $devices" $BENCH
