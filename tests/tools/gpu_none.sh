#!/bin/sh
# tests/gpu.sh where there is no GPU: it says so and runs nothing; and its dry run on a CPU, whose reports are looked
# at. With PoCL alone, by an ICD folder of its own. Environment: srcdir. Runs in the build directory.

. "${srcdir:=.}/tests/support/tap.sh"
be_patient
umask 002 # users' own, where each has a group: compiled programs are kept all the same
unset MAKEFLAGS MAKELEVEL MFLAGS

pocl=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}/pocl.icd
[ -e "$pocl" ] || skip_all "there is no $pocl"
mkdir "$work/vendors" && cp "$pocl" "$work/vendors" || exit 1
OCL_ICD_VENDORS=$work/vendors
POCL_DEVICES='pthread pthread' POCL_MAX_PTHREAD_COUNT=1 # three replicas abort PoCL 3.1: doc/devices.md
export OCL_ICD_VENDORS POCL_DEVICES POCL_MAX_PTHREAD_COUNT

# gpu STATUS OPTIONS...
gpu() {
    expected=$1
    shift
    sh "$srcdir/tests/gpu.sh" "$@" > "$work/out" 2> "$work/err" < /dev/null
    status=$?
    check "gpu.sh $1: expected exit status $expected, got $status" [ $status -eq "$expected" ]
}

gpu 0 --help
it_says ' 77 there is no GPU\.$'
gpu 2 --out "$work"
check 'a folder that is no report' grep -q 'exists and is no report' "$work/err"

gpu 2 --seconds fast
gpu 2 --seconds 1.2.3
gpu 77 --out "$work/none" --build .
it_says '^There is no GPU here that OpenCL can use: nothing was run'
check 'it leaves the devices and no results' \
    eval '[ -s "$work/none/devices.json" ] && [ ! -e "$work/none/bits_0.txt" ] &&
          [ ! -e "$work/none/bench_0.json" ]'

mkdir -p "$work/any/cache" && : > "$work/any/cache/of-a-run-before" && cp "$work/none/report.txt" "$work/any" &&
    : > "$work/any/old.err"
export CC=none
gpu 1 --out "$work/any"
unset CC
it_says '^The one file to send back: .*/any/report.tar.gz$'
gpu 0 --rehearse --quick --out "$work/any" --build .
check 'it starts without compiled programs' [ ! -e "$work/any/cache/of-a-run-before" ]
check 'the files of runs before are kept' \
    eval '[ -e "$work/any/before-1/cache/of-a-run-before" ] && [ -s "$work/any/before-2/report.tar.gz" ]'
check 'and keeps those that it compiles' eval 'ls "$work/any/programs"/* > "$work/programs"'
it_says '^DRY RUN on any device .*: this says nothing about GPUs'
problems=$(grep '^mb' "$srcdir/tests/pass/golden" | awk 'NR % 6 == 1 || /,add/' | grep -c .)
it_says "^bits_of_all: $problems problems, 0 failed"
it_says "^bits_0: $problems problems, 0 failed, $problems with the recorded bits;"
it_says "^bits_of_three_0: $problems problems, 0 failed"
it_says '^check_shapes_basic_0: [1-9][0-9]* problems, 0 failed'
it_says '^bench_0: 3 problems timed, with right results$'
it_never_says '^bits_1:' # of the same kind
it_says '^build: mb2ic1,relu,add, without compiled programs: [0-9.]+ s$'
it_says '^build: mb2ic1,f16, with them: [0-9.]+ s$'
it_says '^launches: 32 passes, each command of them$'
check 'each command has its times' grep -qE \
    '^  forward_apply_rows +replica 0: start +[0-9.]+, took +[0-9.]+, gap before +[0-9.-]+$' "$work/any/launches.txt"
goals=
if command -v python3 > /dev/null; then
    goals=goals_0.txt
    it_says '^workspace, .* met '
else
    skip 'the goals of the benchmark' 'python3 is not installed'
fi
it_says '^All right. All of it is in '
check 'the report is what it printed' cmp "$work/out" "$work/any/report.txt"
it_says '^resources: [1-9][0-9]* kernels, [0-9]* lines'
it_says '^  forward_apply_rows: work-group 256 of at most [0-9]+, multiple [0-9]+, [0-9]+ B local, [0-9]+ B private$'
it_says '^The one file to send back: .*/any/report.tar.gz$'
mkdir "$work/sent" && cp "$work/any/report.tar.gz" "$work/sent" || exit 1
unpack=$(sed -n 's/^    \(tar .*report.*\)/\1/p' "$srcdir/doc/devices.md")
check "doc/devices.md: $unpack" eval '(cd "$work/sent" && $unpack) && [ -s "$work/sent/bench_0.json" ]'
tar -xzf "$work/any/report.tar.gz" -C "$work/sent"
no_faults 'the file to send back has all' "$(
    for file in report.txt devices.json launches.txt bits_0.json bench_0.json $goals make.log; do
        [ -s "$work/sent/$file" ] || echo "missing: $file"
    done
    [ ! -e "$work/sent/old.err" ] || echo "of a run before: old.err")"
check 'the kernels are those of the GPU form' grep -q '"problem": "[^"]*,form=gpu"' "$work/sent/bench_0.json"
# Without --quick it measures the benchmark's lists: they are where it looks for them.
lists=$(sed -n "s/^.*lists='\([a-z0-9_ ]*\)'$/\1/p" "$srcdir/tests/gpu.sh")
folder=$(sed -n 's|.*--file "$top/\(.*\)/$list"$|\1|p' "$srcdir/tests/gpu.sh")
no_faults "the benchmark's lists are there" "$(for list in ${lists:-none}; do
    [ -s "$srcdir/$folder/$list" ] || echo "missing: $folder/$list"
done)"
echo "1..$count"
