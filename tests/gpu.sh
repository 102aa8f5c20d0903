#!/bin/sh
# Everything that a machine with a GPU can say about syncbn, by one command and without root: builds with what is
# there, then `syncbn devices`, the checks, the recorded bits, what the driver says of the kernels, what builds and
# each command of a pass take, and the benchmark on every kind of GPU, ten minutes each. Leaves a folder with report.txt,
# and in it report.tar.gz: the one file to send back.
#
#   tests/gpu.sh [options]
#     --out DIR        the folder (gpu-report); it must not exist, or be of a run before,
#                      whose files are then moved to before-1, before-2 and so on in it
#     --build DIR      a build directory that is there already
#     --seconds S      to time each problem of the benchmark (1)
#     --full           all lists of problems and of the benchmark, and on NVIDIA's other
#                      limits of registers: half an hour
#     --quick          a short list of each: shows that everything works
#     --rehearse       on every usable device, GPU or not, in the GPU form of the kernels:
#                      a dry run of this script
#
# Needs a C compiler, make, and in a git checkout autoconf, automake, libtool and pkg-config. The OpenCL loader and
# headers and jansson are taken from the system, from CUDA, from OPENCL_CFLAGS and OPENCL_LIBS (JANSSON_...);
# INSTALL.md has how to unpack Debian's packages without root. NVIDIA's driver is found without an .icd file. Packages:
#   Debian, Ubuntu  gcc make ocl-icd-opencl-dev opencl-c-headers libjansson-dev, and
#                   nvidia-opencl-icd (Ubuntu: libnvidia-compute-VERSION), AMD's
#                   rocm-opencl-runtime or Debian's rocm-opencl-icd, intel-opencl-icd
#   Fedora          gcc make ocl-icd-devel opencl-headers jansson-devel, and
#                   xorg-x11-drv-nvidia-cuda (RPM Fusion), rocm-opencl,
#                   intel-compute-runtime
#   Arch            gcc make ocl-icd opencl-headers jansson, and opencl-nvidia,
#                   rocm-opencl-runtime, intel-compute-runtime
#
# Exit status: 0 all right (goals of speed that were missed are only reported), 1 a
# check failed or something is missing, 2 wrong usage, 77 there is no GPU.
set -u

top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
out=gpu-report build='' seconds=1 quick=no full=no devices=gpu form=''

# wrong SENTENCE: of the usage.
wrong() {
    echo "gpu.sh: $1" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --out | --build | --seconds)
        [ $# -gt 1 ] || wrong "$1 lacks its value; see --help"
        eval "${1#--}=\$2"
        shift ;;
    --full) full=yes ;;
    --quick) quick=yes ;;
    --rehearse) devices='' form=gpu ;;
    --help | -h) sed -n '2,/^set -u$/s/^# \{0,1\}//p' "$0"; exit ;;
    *) wrong "there is no option $1; see --help" ;;
    esac
    shift
done

[ ! -e "$out" ] || grep -qs '^syncbn on ' "$out/report.txt" ||
    wrong "$out exists and is no report; choose another folder with --out"
[ -z "$build" ] || [ -d "$build" ] || wrong "$build is no folder"
case $seconds in
'' | . | *[!0-9.]* | *.*.*) wrong "--seconds $seconds: expected a number" ;;
esac
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 1
if [ -e "$out/report.txt" ]; then
    number=1
    while [ -e "$out/before-$number" ]; do number=$((number + 1)); done
    mkdir "$out/before-$number" || exit 1
    for old in "$out"/*; do
        case ${old##*/} in
        build | before-*) ;;
        *) mv "$old" "$out/before-$number" || exit 1 ;;
        esac
    done
fi
: > "$out/report.txt" || exit 1

# say TEXT: a line of the report, which is also what this script prints.
say() {
    printf '%s\n' "$*" | tee -a "$out/report.txt"
}

pack() {
    if (cd "$out" && find . -maxdepth 1 -type f ! -name '*.tar.gz' -printf '%f\n' | tar -czf report.tar.gz -T -); then
        say "The one file to send back: $out/report.tar.gz"
    else
        say 'stopped: report.tar.gz cannot be written'
        exit 1
    fi
}

die() {
    say "stopped: $*"
    pack
    exit 1
}

stop() { # SIGNAL
    trap - "$1"
    say "stopped by SIG$1"
    pack
    kill -s "$1" $$
}
for signal in HUP INT TERM; do
    # shellcheck disable=SC2064
    trap "stop $signal" "$signal"
done

# --- what the build needs -------------------------------------------------------------

# links HEADER FUNCTION FLAGS...: whether a program finds the header and the function.
links() {
    mkdir -p "$out/probe" || exit 1
    cat > "$out/probe/probe.c" << END
#include <$1>
int main(void)
{
    void (*volatile function)(void) = (void (*)(void))$2;
    return !function;
}
END
    shift 2
    ${CC:-cc} -DCL_TARGET_OPENCL_VERSION=120 -o "$out/probe/probe" "$out/probe/probe.c" "$@" \
        > /dev/null 2>&1
}

# shellcheck disable=SC2086
find_opencl() {
    if links CL/cl.h clGetPlatformIDs ${OPENCL_CFLAGS-} ${OPENCL_LIBS--lOpenCL}; then
        say "OpenCL: ${OPENCL_LIBS-of the system}"
        return
    fi
    for cuda in ${CUDA_HOME-} /usr/local/cuda; do
        flags="-I$cuda/include"
        libs="-L$cuda/lib64 -Wl,-rpath,$cuda/lib64 -lOpenCL"
        if links CL/cl.h clGetPlatformIDs "$flags" $libs; then
            say "OpenCL: of $cuda"
            OPENCL_CFLAGS=$flags OPENCL_LIBS=$libs
            export OPENCL_CFLAGS OPENCL_LIBS
            return
        fi
    done
    die 'the OpenCL headers or loader are missing: see --help and INSTALL.md, "Without root"'
}

# logged WHAT COMMAND...: its output in WHAT.log, shown upon failure.
logged() {
    what=$1
    shift
    "$@" > "$out/$what.log" 2>&1 < /dev/null && return
    tail -n 25 "$out/$what.log"
    die "$what failed; all of it is in $out/$what.log"
}

configure() {
    [ ! -e "$top/config.status" ] || die "$top was configured in place: run make distclean there first"
    if [ ! -e "$top/configure" ] || [ ! -e "$top/Makefile.in" ]; then
        command -v autoreconf > /dev/null ||
            die "$top has no configure: autoconf, automake, libtool and pkg-config are needed, or a release archive"
        (cd "$top" && logged autoreconf autoreconf -fi) || exit 1
    fi
    build=$out/build
    mkdir -p "$build" && cd "$build" || exit 1
    [ -e config.status ] ||
        logged configure "$top/configure" --quiet --disable-shared --without-mpi \
            --without-clblast --without-dnnl
}

# --- NVIDIA's driver, where no .icd file names it ---------------------------------------

nvidia_library() {
    {
        echo "${LD_LIBRARY_PATH-}" | tr : '\n'
        PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2> /dev/null | sed -n 's,.*=> \(.*\)/libnvidia-opencl\.so\..*,\1,p'
        printf '%s\n' /usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/lib64 /usr/lib \
            /usr/lib/*-linux-gnu /usr/lib/*-linux-gnu/nvidia/current /usr/lib/wsl/lib \
            /run/opengl-driver/lib
    } | while read -r folder; do
        for library in "$folder"/libnvidia-opencl.so.*; do
            [ -e "$library" ] && echo "$library" && return
        done
    done
}

name_drivers() {
    vendors=/etc/OpenCL/vendors
    library=$(nvidia_library)
    if [ -n "${OCL_ICD_VENDORS-}" ]; then
        say "drivers: OCL_ICD_VENDORS=$OCL_ICD_VENDORS"
    elif [ -n "$library" ] && ! grep -qs nvidia "$vendors"/*.icd; then
        mkdir -p "$out/vendors" || exit 1
        cp "$vendors"/*.icd "$out/vendors" 2> /dev/null
        echo "$library" > "$out/vendors/nvidia.icd"
        # ocl-icd reads the first of these, other loaders the second.
        OCL_ICD_VENDORS=$out/vendors OPENCL_VENDOR_PATH=$out/vendors
        # The driver loads more from where it lies.
        LD_LIBRARY_PATH=$(dirname "$library")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        export OCL_ICD_VENDORS OPENCL_VENDOR_PATH LD_LIBRARY_PATH
        say "drivers: those of $vendors, and $library"
    else
        say "drivers: those of $vendors"
    fi
}

# --- the steps --------------------------------------------------------------------------

failed=
# step NAME COMMAND...: its output in NAME.txt; failures are reported.
step() {
    name=$1
    shift
    "$@" > "$out/$name.txt" 2> "$out/$name.err"
    status=$?
    if [ $status -ne 0 ]; then
        failed="${failed:-FAILED:} $name"
        say "$name: exit status $status"
        { grep -E -A 6 '^FAIL|: FAILED$' "$out/$name.txt"; cat "$out/$name.err"; } | head -n 40 |
            tee -a "$out/report.txt"
    fi
    [ -s "$out/$name.err" ] || rm -f "$out/$name.err"
}

# check NAME OPTIONS...: problems, of which the summary is reported.
check() {
    what=$1
    shift
    step "$what" syncbn check "$@"
    say "$what: $(tail -n 1 "$out/$what.txt")"
}

# syncbn COMMAND ...: on the devices that are meant.
syncbn() {
    command=$1
    shift
    "$build/tools/syncbn/syncbn" "$command" ${devices:+--devices "$devices"} ${form:+--form $form} "$@"
}

# Why OpenCL may know no GPU where there is one.
hint() {
    ! ls /dev/nvidia[0-9]* > /dev/null 2>&1 || [ -n "$(nvidia_library)" ] ||
        say 'There is an NVIDIA GPU without its OpenCL driver. In a container: NVIDIA_DRIVER_CAPABILITIES=compute,utility.'
    for node in /dev/kfd /dev/dri/renderD*; do
        [ ! -e "$node" ] || { [ -r "$node" ] && [ -w "$node" ]; } ||
            say "$node cannot be opened: this user is not in its group, $(find "$node" -printf %g)."
    done
    [ -e /dev/kfd ] || ! ls /dev/dri/renderD* > /dev/null 2>&1 ||
        say 'There is /dev/dri without /dev/kfd: an AMD GPU in a container needs --device /dev/kfd --device /dev/dri.'
}

container=
[ ! -e /.dockerenv ] && [ ! -e /run/.containerenv ] || container=', in a container'
say "syncbn on $(uname -srm), user $(id -u)$container"
[ -n "$devices" ] ||
    say 'DRY RUN on any device (--rehearse): this says nothing about GPUs.'
if [ -n "$build" ]; then
    build=$(cd "$build" && pwd) || exit 1
    say "build: $build"
else
    command -v make > /dev/null || die 'make is missing'
    compiler=${CC:-cc}
    command -v "${compiler%% *}" > /dev/null || die "the C compiler ${CC:-cc} is missing"
    find_opencl
    # shellcheck disable=SC2086
    links jansson.h json_object ${JANSSON_CFLAGS-} ${JANSSON_LIBS--ljansson} ||
        die 'jansson is missing: see --help and INSTALL.md, "Without root"'
    say "jansson: ${JANSSON_LIBS-of the system}"
    configure
fi
cd "$build" || exit 1
logged make make tools/syncbn/syncbn tools/offline/library tools/offline/launches
name_drivers

# Compiled programs stay in the folder, and drivers' own caches: others would hide what a build takes.
XDG_CACHE_HOME=$out/cache CUDA_CACHE_PATH=$out/cache/cuda NEO_CACHE_DIR=$out/cache/neo
AMD_COMGR_CACHE_DIR=$out/cache/comgr
export XDG_CACHE_HOME CUDA_CACHE_PATH NEO_CACHE_DIR AMD_COMGR_CACHE_DIR

say
# It fails, after the list, where no device can be used.
tools/syncbn/syncbn devices --json "$out/devices.json" > "$out/devices.txt" ||
    [ -s "$out/devices.txt" ] || die 'syncbn devices failed'
tee -a "$out/report.txt" < "$out/devices.txt"
# "0 name, vendor": the devices that are meant and can be used.
awk -v type="${devices:-[a-z]}" '
    /^  [0-9]+  / { number = $1; $1 = ""; name = $0; getline; name = name ", " $0 }
    /, form [a-z]+$/ { is_meant = $0 ~ "^ *" type }
    /^     usable$/ && is_meant { print number name }' "$out/devices.txt" > "$out/devices.list" ||
    die 'devices.list cannot be written'
if [ ! -s "$out/devices.list" ]; then
    say 'There is no GPU here that OpenCL can use: nothing was run. (--rehearse is a dry run.)'
    hint
    exit 77
fi
! command -v nvidia-smi > /dev/null ||
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,pcie.link.gen.current,pcie.link.width.current \
        --format=csv,noheader 2> /dev/null | tee -a "$out/report.txt"

# Before anything else is compiled, so that the first build of each program is one.
say
say '--- what the driver says of the kernels, what builds and the commands of a pass take'
list=$top/tools/bench/lists/resnet50_batch2
if [ $quick = yes ]; then
    list=$out/launches.list
    printf 'mb2ic64ih14iw14\nmb2ic64ih14iw14,last,relu\n' > "$list"
fi
# shellcheck disable=SC2086
step launches "$build/tools/offline/launches" ${form:+--form $form} "$out/programs" "$list" $devices
grep -E '^(device|build)|work-group' "$out/launches.txt" | tee -a "$out/report.txt"
say "resources: $(grep -c 'work-group' "$out/launches.txt") kernels, $(
    grep -c '^  log: ' "$out/launches.txt") lines of the compiler's"
say "launches: $(grep -c '^pass: ' "$out/launches.txt") passes, each command of them"

golden=$top/tests/pass/golden
if [ $quick = yes ]; then
    golden=$out/golden.list
    grep '^mb' "$top/tests/pass/golden" | awk 'NR % 6 == 1 || /,add/' > "$golden"
    set -- --repeats 3 mb32ic64ih14iw14 mb32ic64ih14iw14,last mb2ic64
else
    set -- --seconds "$seconds"
    lists='gpu resnet50_batch2 fixed_cost'
    [ $full = no ] || lists='gpu resnet50_batch32 resnet50_batch2 large_planes vectors fixed_cost traps'
    for list in $lists; do
        set -- "$@" --file "$top/tools/bench/lists/$list"
    done
fi
if [ "$(grep -c . "$out/devices.list")" -gt 1 ]; then
    say
    say '--- the recorded bits, on all devices together'
    check bits_of_all --file "$golden"
fi
for number in $(sort -u -k 2 "$out/devices.list" | sort -n | cut -d ' ' -f 1); do
    devices=$number
    say
    say "--- device $number: the recorded bits, and the results within their tolerances"
    check "bits_$number" --json "$out/bits_$number.json" --file "$golden"
    check "bits_of_three_$number" --replicas 3 --file "$golden"
    for list in "$top"/tests/inputs/*; do
        name=${list##*/}
        [ $full = yes ] || [ "$name" = shapes_basic ] || continue
        check "check_${name}_$number" --file "$list"
    done

    say
    say "--- device $number: how fast"
    step "bench_$number" syncbn bench --json "$out/bench_$number.json" "$@"
    say "bench_$number: $(grep -c ': results right$' "$out/bench_$number.txt") problems timed, with right results"
    # Other limits of NVIDIA's registers than src/program/compiler_options.c has, which no GPU has judged.
    if [ $full = yes ] && grep -q "^$number .*NVIDIA" "$out/devices.list"; then
        for limit in 64 80 128 255; do
            step "bench_${number}_$limit" syncbn bench --build-options "-cl-nv-maxrregcount=$limit" \
                --json "$out/bench_${number}_$limit.json" --seconds "$seconds" --file "$top/tools/bench/lists/gpu"
        done
    fi
    if command -v python3 > /dev/null; then
        step "goals_$number" env PYTHONDONTWRITEBYTECODE=1 \
            python3 "$top/tools/bench/report.py" goals "$out/bench_$number.json"
        tee -a "$out/report.txt" < "$out/goals_$number.txt"
    fi
done

say
say "${failed:-All right}. All of it is in $out"
pack
[ -z "$failed" ]
