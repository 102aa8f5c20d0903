# What scripts that print TAP share; sourced, not run. $work is a folder for files, which goes with the script; $count
# is how many checks there were: a script ends with echo "1..$count". Environment: srcdir.

: "${srcdir:=.}"
# Some tests install into $work, and libtool installs into no path that has white space.
case ${TMPDIR-} in
*[[:space:]]*) unset TMPDIR ;;
esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0

# Of PATIENT_TESTS: lets tests with deadlines go first.
be_patient() {
    renice -n 19 -p $$ > "$work/renice" 2>&1
}

# report ok|'not ok' WHAT
report() {
    count=$((count + 1))
    echo "$1 $count - $2"
}

# show FILE...: their last lines, as comments; of those that there are.
show() {
    for shown in "$@"; do
        [ ! -e "$shown" ] || tail -n 40 "$shown" | sed 's/^/# /'
    done
}

# check WHAT CONDITION...: passes when the condition, a command, holds. A failure shows $work/out and
# $work/err, where a script keeps what it runs prints.
check() {
    what=$1
    shift
    if "$@"; then
        report ok "$what"
    else
        report 'not ok' "$what"
        show "$work/out" "$work/err"
    fi
}

# check_run WHAT COMMAND...: the same of a command whose output goes to $work/out.
check_run() {
    what=$1
    shift
    check "$what" kept "$@"
}
kept() {
    "$@" > "$work/out" 2>&1 < /dev/null
}

# it_says PATTERN, it_never_says PATTERN: of $work/out.
it_says() {
    check "it says: $1" grep -qE -- "$1" "$work/out"
}
it_never_says() {
    check "it does not say: $1" not_found "$1"
}
not_found() {
    ! grep -qE -- "$1" "$work/out"
}

# no_faults WHAT FAULTS: passes when FAULTS is empty.
no_faults() {
    if [ -z "$2" ]; then
        report ok "$1"
    else
        report 'not ok' "$1"
        printf '%s\n' "$2" | sed 's/^/# /'
    fi
}

# renumber WHAT FILE STATUS: what other programs printed as TAP, and the exit status, as checks of this script. A crash
# leaves checks of their plans without a line, and one behind the last of them only its status.
renumber() {
    while IFS= read -r line; do
        case $line in
        *' # SKIP '*) report ok "$1 # SKIP ${line#* # SKIP }" ;;
        'ok '*) report ok "$1: ${line#* - }" ;;
        'not ok '*) report 'not ok' "$1: ${line#* - }" ;;
        '#'*) echo "$line" ;;
        esac
    done < "$2"
    planned=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$2" | awk '{ sum += $1 } END { if (NR) print sum }')
    ran=$(grep -cE '^(not )?ok ' "$2")
    if [ "$ran" != "$planned" ]; then
        report 'not ok' "$1: $ran of ${planned:-?} checks ran, exit status $3"
    elif [ "$3" -ne 0 ]; then
        grep -q '^not ok ' "$2" || report 'not ok' "$1: exit status $3"
    fi
}

# skip WHAT REASON: one check.
skip() {
    report ok "$1 # SKIP $2"
}

# has TOOL: whether this system has it.
has() {
    command -v "$1" > /dev/null
}

# possible WHAT REASON CONDITION...: whether the condition, a command, holds; where it does not, WHAT is skipped.
possible() {
    what=$1 reason=$2
    shift 2
    kept "$@" || { skip "$what" "$reason" && false; }
}

# skip_all REASON: the script, before its first check.
skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

# lacks REASON: ends the script for want of what continuous integration has: with CI=true a failure.
lacks() {
    [ "${CI-}" = true ] || [ $count -gt 0 ] || skip_all "$1"
    if [ "${CI-}" = true ]; then report 'not ok' "$1"; else skip 'the rest' "$1"; fi
    echo "1..$count"
    exit
}

# needs_demo: examples/train_fashion, which is $demo, and its images. It trains with optimised kernels.
needs_demo() {
    demo=examples/train_fashion
    export POCL_EXTRA_BUILD_FLAGS=
    [ -x $demo ] || lacks 'the demo was not built: CLBlast or zlib is missing'
    [ -d /usr/share/datasets/fashion-mnist ] || lacks 'the package dataset-fashion-mnist is not installed'
}

# short_images COUNT: the demo's images in $work/images, so many of them to test by, for these take most of the time.
short_images() {
    data=/usr/share/datasets/fashion-mnist images=$1
    mkdir "$work/images" && ln -s "$data"/train-* "$work/images" || exit 1
    shorten t10k-images-idx3-ubyte.gz 16 784
    shorten t10k-labels-idx1-ubyte.gz 8 1
}
# shorten FILE HEADER BYTES: the bytes of its header, which has the number of items, and of each item.
shorten() {
    gzip -dc "$data/$1" > "$work/all" || exit 1
    { head -c 4 "$work/all" && printf "\\000\\000\\$(printf %03o $((images / 256)))\\$(printf %03o $((images % 256)))" &&
        tail -c +9 "$work/all" | head -c $(($2 - 8 + images * $3)); } | gzip -1 > "$work/images/$1"
}
