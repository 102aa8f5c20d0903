#!/bin/sh
# syncbn devices where there is no driver, or a driver without devices: what it advises, and its
# status. Runs in the build directory. Environment: SYNCBN (the command).
. "${srcdir:=.}/tests/support/command.sh"
vendors=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}

# devices STATUS WHAT DRIVERS [NAME=VALUE...]: OCL_ICD_VENDORS is DRIVERS.
devices() {
    expected=$1 what=$2 drivers=$3
    shift 3
    env "$@" OCL_ICD_VENDORS="$drivers" "$SYNCBN" devices > "$work/out" 2> "$work/err" < /dev/null
    status=$?
    check "$what: expected status $expected, got $status" [ $status -eq "$expected" ]
}

# only DRIVER: a folder with that driver alone; the check is left out where it is not installed.
only() {
    possible "$1" "there is no $vendors/$1.icd" [ -e "$vendors/$1.icd" ] || return
    rm -rf "$work/vendors"
    mkdir "$work/vendors" && cp "$vendors/$1.icd" "$work/vendors"
}

mkdir "$work/empty" "$work/missing"
devices 1 'no driver' "$work/empty"
it_says 'no OpenCL platform is installed'
it_says 'There is no OpenCL device that syncbn can use.'
for line in 'apt install pocl-opencl-icd' 'dnf install pocl' 'pacman -S pocl' 'brew install pocl' \
    'RUSTICL_ENABLE=radeonsi' 'POCL_CACHE_DIR' 'OCL_ICD_VENDORS'; do
    it_says "$line"
done
check 'no driver, as JSON' eval '(export OCL_ICD_VENDORS="$work/empty" && run 1 devices --json -)'
check 'JSON alone' grep -qE '^\{"platforms": \[\]\}$|^  "platforms": \[\]' "$work/out"

# A driver that is named and does not load: where, and why.
does_not_load() {
    devices 1 "$1" "$2"
    it_says "$3"
    check "$1: not as if nothing were installed" not_found 'apt install'
}
echo libsyncbn-no-driver.so > "$work/missing/some.icd"
loaders_words='libsyncbn-no-driver.so: cannot open shared object file: No such file or directory'
does_not_load 'a folder that is not there' "$work/none" "OCL_ICD_VENDORS is $work/none: No such file or directory"
named="$work/missing/some.icd names a driver that does not load: $loaders_words"
does_not_load 'a library that is not there' "$work/missing" "$named"
does_not_load 'a file that names it' "$work/missing/some.icd" "$named"
does_not_load 'its name' libsyncbn-no-driver.so "OCL_ICD_VENDORS names a driver that does not load: $loaders_words"
for name in '' some.icd; do
    devices 1 "the folder's file by the name '$name'" "$name" OPENCL_VENDOR_PATH="$work/missing"
    it_says "$named"
done
printf 'libsyncbn-no-driver.so \r\n' > "$work/missing/some.icd"
does_not_load 'a name with a blank and the end of a line of DOS' "$work/missing" \
    'does not load: libsyncbn-no-driver.so \?: cannot open shared object file'
# Any library loads; one that is no driver is not said to fail.
library=$(sed -n "s,^dlname='\(..*\)',.libs/\1,p" libsyncbn.la)
if [ -n "$library" ]; then
    mkdir "$work/a folder" && cp "$library" "$work/a folder/library.so"
    echo "$work/a folder/library.so" > "$work/missing/some.icd"
    devices 1 'a library in a folder with a blank in its name' "$work/missing"
    it_never_says 'does not load'
fi
: > "$work/missing/some.icd"
does_not_load 'a file without a name' "$work/missing" "$work/missing/some.icd names no driver: it is empty"
rm "$work/missing/some.icd" && mkdir "$work/missing/some.icd"
does_not_load 'a folder for a file' "$work/missing" "$work/missing/some.icd names no driver: Is a directory"

if only pocl; then
    devices 1 'PoCL without a folder to write to' "$work/vendors" -u POCL_CACHE_DIR -u XDG_CACHE_HOME HOME=/proc
    it_says 'no devices: PoCL needs a home directory that it can write to, or POCL_CACHE_DIR'
    it_says 'apt install pocl-opencl-icd'
    devices 0 'PoCL with one' "$work/vendors" -u XDG_CACHE_HOME HOME=/proc POCL_CACHE_DIR="$work/cache"
    check 'no advice where a device can be used' not_found 'There is no'
    echo libsyncbn-no-driver.so > "$work/vendors/some.icd"
    devices 0 'PoCL beside a driver that does not load' "$work/vendors" POCL_CACHE_DIR="$work/cache"
    it_says "$loaders_words"
fi
if only rusticl; then
    devices 1 'rusticl as it comes' "$work/vendors" -u RUSTICL_ENABLE
    it_says "no devices: Mesa's rusticl shows a device only if RUSTICL_ENABLE names its driver"
fi
echo "1..$count"
