#!/bin/sh
# syncbn tune: what it prints, what it keeps and what a later group then uses; that it keeps nothing
# but a gain; and that the recorded bits come whatever the numbers are, in both forms.
# Environment: srcdir, SYNCBN (the command). Runs in the build directory.
set -u
. "${srcdir:=.}/tests/support/command.sh"
be_patient
unset SYNCBN_TUNING

XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME
"$SYNCBN" devices > "$work/devices"
grep -q '^     usable$' "$work/devices" || lacks 'there is no usable device'

# field NAME FILE: its values in JSON, one a line.
field() {
    sed -n "s/^ *\"$1\": \(.*[^,]\),\{0,1\}\$/\1/p" "$2"
}

# What was said and what there is: a gain is below 1 by more than 2 % and than noise; what is kept has
# gained in the last comparison; without a gain there is no file.
consistent() {
    sed '/"problems"/,/\]/d' "$1" > "$work/tried"
    field quotient "$work/tried" > "$work/quotients"
    field noise "$work/tried" > "$work/noises"
    field gain "$work/tried" > "$work/gains"
    paste "$work/quotients" "$work/noises" "$work/gains" > "$work/table"
    awk '$3 == "true" && !($1 < 0.9802 && -log($1) > $2 * 0.999) { bad = 1 } END { exit bad || NR < 5 }' \
        "$work/table" || return 1
    files=$(find "$XDG_CACHE_HOME/syncbn" -name '*.tuning' | wc -l)
    if [ "$(field kept "$1")" = null ]; then
        [ "$files" -eq 0 ]
    else
        [ "$files" -eq 1 ] && [ "$(tail -n 1 "$work/gains")" = true ] &&
            [ -s "$XDG_CACHE_HOME/syncbn/$(field file "$1" | tr -d '"')" ]
    fi
}

first='mb2ic8ih6iw6 mb2ic8ih6iw6,last'
# shellcheck disable=SC2086
for form in cpu gpu; do
    rm -rf "$XDG_CACHE_HOME/syncbn" && mkdir -p "$XDG_CACHE_HOME"
    check "tune, form $form" run 0 tune --devices 0 --form $form --seconds 0 --json "$work/json" $first
    check 'says which device' grep -q "^device 0: .*, form $form\$" "$work/out"
    check 'and what it has tried' grep -qE '^  groups=200 .*[0-9] of the time, noise [0-9]' "$work/out"
    check 'and what is kept' grep -qE '^  (kept: .*\.tuning in the cache|nothing is kept: no number)' "$work/out"
    check 'keeps nothing but a gain' consistent "$work/json"
    check 'again, after what was kept' run 0 tune --devices 0 --form $form --seconds 0 --json "$work/json" $first
    check 'keeps nothing but a gain' consistent "$work/json"
    check 'forgets' run 0 tune --devices 0 $([ $form = gpu ] || echo --form cpu) --forget
    check 'says so' grep -q '^  nothing is kept$' "$work/out"
    check 'and no file is left' [ "$(find "$XDG_CACHE_HOME" -type f | wc -l)" -eq 0 ]
done

# A cache that cannot be used.
rm -rf "$XDG_CACHE_HOME/syncbn" && mkdir "$XDG_CACHE_HOME/syncbn" && chmod 0777 "$XDG_CACHE_HOME/syncbn"
check 'a folder that others may write to' run 1 tune --devices 0 mb2ic2
check 'is refused' grep -q '^syncbn: nothing could be kept: expected' "$work/err"
rm -rf "$XDG_CACHE_HOME/syncbn"
check 'forgetting makes no folder' run 0 tune --devices 0 --forget
check 'as there was none' [ ! -e "$XDG_CACHE_HOME/syncbn" ]

check 'an argument that is no problem' refuses 'shape "fast"...' tune fast
check 'a form of one problem' \
    refuses 'mb2ic2,form=gpu: give the form by --form, which is for all problems' tune mb2ic2,form=gpu
check 'a problem that cannot be measured' refuses 'mb2ic2,ooo cannot be measured: ooo...' tune mb2ic2,ooo
# shellcheck disable=SC2046
check 'too many problems' refuses 'expected at most 16 problems, got 17' \
    tune $(i=0; while [ $i -lt 17 ]; do echo mb2ic2; i=$((i + 1)); done)

# Numbers from the environment: wrong ones are refused, and no numbers change a bit.
SYNCBN_TUNING=groups=0
export SYNCBN_TUNING
check 'wrong numbers' run 1 check --devices 0 mb2ic2
check 'are named' grep -q 'SYNCBN_TUNING: expected NAME=PERCENT,.* got "groups=0"' "$work/out"
# 65536 work-items: the sum of their lowest limbs would not fit an int64.
SYNCBN_TUNING=groups=10000,reduce=1,slices=10000
check 'a channel of many work-items' run 0 check --devices 0 --form gpu mb600003ic1 mb5000ic32
# So would the sums of a work-group whose work-items have many rows each.
SYNCBN_TUNING=groups=1,reduce=10000,slices=1
check 'many rows of a work-item' run 0 check --devices 0 --form gpu mb1100003ic1,data=one,passes=f
# Each time a third of the recorded problems, and all of them where CHECK=full is set.
third=0
bits() {
    grep '^mb' "$srcdir/tests/pass/golden" |
        awk -v full="${CHECK-}" -v third=$third 'full == "full" || NR % 3 == third' > "$work/list"
    third=$(((third + 1) % 3))
    run 0 check --devices 0 --form "$1" --file "$work/list" &&
        grep -q " 0 failed, $(grep -c . "$work/list") with the recorded bits;" "$work/out"
}
for form in cpu gpu; do
    for numbers in groups=1,reduce=1,slices=10000,apply=1,cache=1 \
        groups=10000,reduce=10000,slices=1,apply=10000,cache=10000 \
        groups=10000,reduce=1,slices=1,apply=10000,cache=1; do
        SYNCBN_TUNING=$numbers
        check "form $form, $numbers: the recorded bits" bits $form
    done
done
echo "1..$count"
