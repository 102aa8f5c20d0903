#!/bin/sh
# syncbn devices where there is no driver, or a driver without devices: what it advises, and its
# status. Runs in the build directory. Environment: SYNCBN (the command).
: "${SYNCBN:=tools/syncbn/syncbn}"
vendors=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

count=0
# result WHAT CONDITION...: passes when the command does.
result() {
    what=$1
    shift
    count=$((count + 1))
    if "$@"; then
        echo "ok $count - $what"
    else
        echo "not ok $count - $what"
        sed 's/^/# /' "$work/out" "$work/err"
    fi
}

# devices STATUS WHAT [NAME=VALUE...] [OPTION]
devices() {
    expected=$1 what=$2
    shift 2
    env "$@" > "$work/out" 2> "$work/err" < /dev/null
    status=$?
    result "$what: status $status, $expected expected" [ $status -eq "$expected" ]
}

says() {
    result "it says: $1" grep -qF -- "$1" "$work/out"
}

# only DRIVER: a folder with that driver alone; the check is left out where it is not installed.
only() {
    count=$((count + 1))
    if [ ! -e "$vendors/$1.icd" ]; then
        echo "ok $count # SKIP there is no $vendors/$1.icd"
        return 1
    fi
    echo "ok $count - $vendors/$1.icd"
    rm -rf "$work/vendors"
    mkdir "$work/vendors" && cp "$vendors/$1.icd" "$work/vendors"
}

devices 1 'no driver' OCL_ICD_VENDORS=/none "$SYNCBN" devices
says 'no OpenCL platform is installed'
says 'There is no OpenCL device that syncbn can use.'
for line in 'apt install pocl-opencl-icd' 'dnf install pocl' 'pacman -S pocl' 'brew install pocl' \
    'RUSTICL_ENABLE=radeonsi' 'POCL_CACHE_DIR' 'OCL_ICD_VENDORS'; do
    says "$line"
done
devices 1 'no driver, as JSON' OCL_ICD_VENDORS=/none "$SYNCBN" devices --json -
result 'JSON alone' grep -qE '^\{"platforms": \[\]\}$|^  "platforms": \[\]' "$work/out"

if only pocl; then
    devices 1 'PoCL without a folder to write to' -u POCL_CACHE_DIR -u XDG_CACHE_HOME HOME=/proc \
        OCL_ICD_VENDORS="$work/vendors" "$SYNCBN" devices
    says 'no devices: PoCL needs a home directory that it can write to, or POCL_CACHE_DIR'
    says 'apt install pocl-opencl-icd'
    devices 0 'PoCL with one' -u XDG_CACHE_HOME HOME=/proc POCL_CACHE_DIR="$work/cache" \
        OCL_ICD_VENDORS="$work/vendors" "$SYNCBN" devices
    result 'no advice where a device can be used' eval '! grep -q "There is no" "$work/out"'
fi
if only rusticl; then
    devices 1 'rusticl as it comes' -u RUSTICL_ENABLE OCL_ICD_VENDORS="$work/vendors" \
        "$SYNCBN" devices
    says "no devices: Mesa's rusticl shows a device only if RUSTICL_ENABLE names its driver"
fi
echo "1..$count"
