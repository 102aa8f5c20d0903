#!/bin/sh
# intel-runtime.sh FOLDER: installs Intel's OpenCL runtime for CPUs, by PyPI's packages, into FOLDER,
# and writes FOLDER/vendors with an .icd file for it and one for PoCL. Nothing outside of it changes.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
libraries=$folder/python/lib

[ -e "$folder/complete" ] || {
    python3 -m venv "$folder/python"
    # intel-cmplr-lib-rt has libraries that it needs and does not ask for.
    "$folder/python/bin/pip" install --quiet --disable-pip-version-check intel-opencl-rt intel-cmplr-lib-rt
    # Its loader lacks ocl-icd's symbol versions, and would be found first.
    rm -f "$libraries"/libOpenCL.so*
    : > "$folder/complete"
}

mkdir -p "$folder/vendors"
# The package's own .icd file names a folder of its packager's.
echo "$libraries/libintelocl.so" > "$folder/vendors/intel.icd"
cp /etc/OpenCL/vendors/pocl.icd "$folder/vendors/pocl.icd"
