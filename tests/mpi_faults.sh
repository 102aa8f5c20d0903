#!/bin/sh
# Faults provoked for real on 4 ranks (tests/mpi_faults.c), each with the sentence on
# every rank, what the group does afterwards, and how the job ends. Those that wait for
# a timeout run side by side.

. "${srcdir:=.}/tests/mpi_common.sh"

# A job that hangs is a failure; ranks that sleep would be ended by the job's abort.
limit=100
start() { # NAME ARGUMENTS...
    name=$1
    shift
    { mpi 4 timeout -k 5 -s TERM $limit tests/mpi_faults "$@" > "$work/$name" 2> "$work/$name.errors"
      echo $? > "$work/$name.status"; } &
}

# says NAME RANKS PREFIX TEXT...: each of the ranks has a line with all the texts.
says() {
    name=$1 ranks=$2 prefix=$3
    shift 3
    for rank in $ranks; do
        line=$(grep "^rank $rank: $prefix" "$work/$name")
        for text in "$@"; do
            case $line in
            *"$text"*) ;;
            *)
                report 'not ok' "$name: rank $rank: \"$text\" was expected, came: $line"
                continue 2 ;;
            esac
        done
        report ok "$name: $line"
    done
}

# ends NAME STATUS: the job's exit status; "failed" for any but 0.
ends() {
    status=$(cat "$work/$1.status")
    case $2:$status in
    failed:0) report 'not ok' "$1: the job ends with status 0" ;;
    failed:* | "$status:$status") report ok "$1: the job ends with status $status" ;;
    *)
        report 'not ok' "$1: the job ends with status $status, $2 was expected"
        sed 's/^/# /' "$work/$1.errors" ;;
    esac
}

start sleep sleep
start local sleep local
start staggered staggered
start stop stop
wait

for fault in sleep staggered stop; do
    says $fault '0 2 3' SBN_TIMEOUT 'waited 10 s in forward of layer "first" for rank 1'
    # The sentence ends there: no other rank is named.
    says $fault '0 2 3' 'afterwards: ' 'SBN_GROUP_FAILED' 'failed earlier' 'for rank 1'
    if grep -q 'for rank 1,' "$work/$fault"; then
        report 'not ok' "$fault: more than rank 1 is named"
    else
        report ok "$fault: nobody else is named"
    fi
    says $fault '0 2 3' 'the transport: ' SBN_TIMEOUT 'end the job by MPI_Abort'
    ends $fault 3
done
says local '0 2 3' 'SBN_SUCCESS'
says local '0 2 3' 'afterwards: ' 'SBN_SUCCESS'
says local '0 2 3' 'local statistics'
ends local 3

for fault in skip swap two two_alike channels device late_device kill; do
    start $fault $fault
    wait
done

second='rank 1 called forward of layer "second" with 3 channels'
says skip '0 1 2 3' SBN_DISAGREEMENT ": $second" '; ranks 0, 2, 3 called forward of layer "first"'
says swap '0 1 2 3' 'SBN_DISAGREEMENT.*second.*first' ": $second" '; ranks 0, 2, 3 called'
says swap '0 1 2 3' 'SBN_DISAGREEMENT.*first.*second' ': rank 1 called forward of layer "first"' \
    '; ranks 0, 2, 3 called forward of layer "second"'
says two '0 1 2 3' SBN_DISAGREEMENT ": $second" '; rank 3 called backward of layer "first"' \
    '; ranks 0, 2 called forward of layer "first"'
says two_alike '0 1 2 3' SBN_DISAGREEMENT 'ranks 1, 3 called forward of layer "second"' \
    'ranks 0, 2 called forward of layer "first"'
says channels '0 1 2 3' SBN_DISAGREEMENT ': rank 1 called forward of layer "odd" with 2 channels' \
    '; ranks 0, 2, 3 called forward of layer "odd" with 3 channels'
remote=': rank 1 called forward of layer "first" with 3 channels and reported CL_OUT_OF_RESOURCES'
says device '0 2 3' SBN_REMOTE_ERROR "$remote"
says device 1 CL_OUT_OF_RESOURCES 'replica 0: forward_reduce'
says late_device '0 2 3' SBN_REMOTE_ERROR "$remote"
says late_device 1 CL_OUT_OF_RESOURCES 'replica 0: clGetEventInfo'
for fault in skip swap two two_alike channels device late_device; do
    says $fault '0 1 2 3' 'afterwards: ' SBN_SUCCESS
    says $fault '0 1 2 3' 'the transport: ' SBN_SUCCESS
    ends $fault 0
done
ends kill failed
echo "1..$count"
