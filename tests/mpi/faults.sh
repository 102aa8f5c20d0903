#!/bin/sh
# Faults provoked for real on 4 ranks (tests/mpi/faults.c), each with the sentence on every rank, what
# the group does afterwards, and how the job ends. The jobs run side by side, because most of them wait.

. "${srcdir:=.}/tests/mpi/common.sh"

# A job that hangs is a failure; ranks that sleep would be ended by the job's abort. One that the
# machine stopped for a tenth of its timeout or more is run again.
start() { # NAME ARGUMENTS...
    name=$1
    shift
    { for attempt in 1 2 3; do
          mpi 4 timeout -k 5 -s TERM 100 tests/mpi/faults "$@" > "$work/$name" 2> "$work/$name.errors"
          echo $? > "$work/$name.status"
          grep -q ': stopped for ' "$work/$name.errors" || break
          [ $attempt -eq 3 ] || echo "# $name: $(grep ': stopped for ' "$work/$name.errors" | sed 1q): again"
      done; } &
}

# says NAME RANKS PREFIX TEXT...: each of the ranks has a line with all the texts.
says() {
    name=$1 ranks=$2 prefix=$3
    shift 3
    for rank in $ranks; do
        line=$(grep "^rank $rank: $prefix" "$work/$name") missing=
        for text in "$prefix" "$@"; do
            case $line in
            *"$text"*) ;;
            *) missing="rank $rank: expected \"$text\", got: " ;;
            esac
        done
        check "$name: $missing$line" [ -z "$missing" ]
    done
}

# ends NAME STATUS: the job's exit status.
ends() {
    status=$(cat "$work/$1.status")
    check "$1: expected status $2 of the job, got $status" [ "$status" -eq "$2" ]
    [ "$status" -eq "$2" ] || show "$work/$1" "$work/$1.errors"
}

# names_alone NAME: no other rank is named beside rank 1 by those who waited for it.
names_alone() {
    check "$1: nobody else is named" \
        [ "$(grep -cE '^rank [023]: .*for (rank 1,|ranks|rank [023])' "$work/$1")" -eq 0 ]
}

# The first one compiles the kernels, at which all together would be for longer than their timeout.
start words words
wait
for fault in sleep staggered aborted stop kill late between average_late average_between; do
    start $fault $fault
done
start local sleep local
start late_local late local
wait

check 'kill: the job fails' [ "$(cat "$work/kill.status")" -ne 0 ]
pending='end the job by MPI_Abort'
for fault in sleep staggered stop late between words; do
    says $fault '0 2 3' SBN_TIMEOUT 'waited 5 s in forward of layer "first" for rank 1'
    says $fault '0 2 3' 'afterwards: ' 'SBN_GROUP_FAILED' 'failed earlier' 'for rank 1'
    names_alone $fault
done
for fault in sleep staggered stop; do
    says $fault '0 2 3' 'the transport: ' SBN_TIMEOUT "$pending"
    ends $fault 3
done
says aborted 0 SBN_ABORTED 'sbn_group_abort was called while it waited in forward of layer "first" for rank 1'
says aborted '2 3' SBN_TIMEOUT 'waited 5 s in forward of layer "first" for rank 1'
names_alone aborted
ends aborted 3
says local '0 2 3' 'SBN_SUCCESS'
says local '0 2 3' 'afterwards: ' 'SBN_SUCCESS'
says local '0 2 3' 'local statistics'
ends local 3

# What the late rank sees. With the header of the others it sends its words and is told;
# with their words it succeeds, and waits in its next call.
told='ranks 0, 2, 3 called forward of layer "first" with 3 channels and reported SBN_TIMEOUT'
says late 1 SBN_REMOTE_ERROR "$told"
says late 1 'afterwards: ' SBN_GROUP_FAILED 'failed earlier' "$told"
says words 1 SBN_SUCCESS
says words 1 'afterwards: ' SBN_TIMEOUT 'in backward of layer "first" for ranks 0, 2, 3'
says late_local '0 1 2 3' SBN_SUCCESS
says late_local '0 1 2 3' 'afterwards: ' SBN_SUCCESS
says late_local '0 1 2 3' 'local statistics'
for fault in late late_local; do
    says $fault '0 1 2 3' 'in time: ' SBN_SUCCESS
    # All have joined all reductions: the job ends normally.
    says $fault '0 1 2 3' 'the transport: ' SBN_SUCCESS
    ends $fault 0
done
# It came after all: only the rank itself has something pending.
says words '0 2 3' 'the transport: ' SBN_SUCCESS
says words 1 'the transport: ' SBN_TIMEOUT "$pending"
ends words 3
# Which of the others had gone on without it is up to MPI: it succeeds, is told, or waits.
case $(grep '^rank 1: SBN' "$work/between") in
*SBN_SUCCESS*) says between 1 'afterwards: ' SBN_TIMEOUT 'in backward of layer "first" for rank' ;;
*SBN_REMOTE_ERROR*)
    says between 1 SBN_REMOTE_ERROR 'reported SBN_TIMEOUT'
    says between 1 'afterwards: ' SBN_GROUP_FAILED 'failed earlier' ;;
*)
    says between 1 SBN_TIMEOUT 'rank 1 waited 5 s in forward of layer "first" for rank'
    says between 1 'afterwards: ' SBN_GROUP_FAILED 'failed earlier' ;;
esac
case $(grep ': the transport: ' "$work/between") in
*SBN_TIMEOUT*) ends between 3 ;;
*) ends between 0 ;;
esac

# Averaging dies alone: batch norm goes on, on communicators of its own.
for fault in average_late average_between; do
    says $fault '0 2 3' SBN_TIMEOUT 'waited 5 s in averaging of 2 tensors, 6 floats for rank 1'
    names_alone $fault
    says $fault '0 1 2 3' 'again: ' SBN_GROUP_FAILED 'an exchange failed earlier'
    says $fault 1 SBN_TIMEOUT 'rank 1 waited 5 s in averaging of 2 tensors, 6 floats for rank'
    says $fault '0 1 2 3' 'afterwards: ' SBN_SUCCESS
    says $fault 1 'the transport: ' SBN_TIMEOUT "$pending"
    ends $fault 3
done
echo "1..$count"
