#!/bin/sh
# The command's own line: help and version in every spelling, each mistake in its own words, and
# --json alike in all commands: a file, or - for standard output and nothing else there; what cannot be written is
# refused before anything runs, and a file is replaced whole or not at all. Kernels compile without a warning.
# Environment: srcdir, SYNCBN (the command). Runs in the build directory.
set -u
. "${srcdir:=.}/tests/support/command.sh"
# tune keeps and removes plans where XDG_CACHE_HOME says, and never the user's own.
unset HOME

# prints FIRST ARGUMENTS...: succeeds, and the output's first line begins so.
prints() {
    first=$1
    shift
    run 0 "$@" && [ ! -s "$work/err" ] && [ "$(head -c ${#first} "$work/out")" = "$first" ]
}

for word in help --help -h; do
    check "$word" prints 'usage: syncbn devices' "$word"
    check "$word names every command" [ "$(grep -cE '^(devices|check|bench|tune|inspect)  ' "$work/out")" -eq 5 ]
done
for command in devices check bench tune inspect; do
    check "help $command" prints "usage: syncbn $command" help "$command"
    cp "$work/out" "$work/help"
    check "$command --help" prints "usage: syncbn $command" "$command" --help
    check "they are the same" cmp -s "$work/help" "$work/out"
    check "and know --json FILE" grep -q '^  --json FILE ' "$work/out"
    check "and have examples" grep -q "^  syncbn $command" "$work/out"
    check "$command -h" prints "usage: syncbn $command" "$command" -h
done
check 'help help' prints 'usage: syncbn devices' help help
version=$(sed -n 's/^PACKAGE_VERSION = //p' Makefile)
for word in version --version -V; do
    check "$word" prints "syncbn ${version:?}" "$word"
done

commands='devices, check, bench, tune, inspect, help and version'
check 'no command' refuses 'a command is missing: devices, check, bench, tune or inspect; see syncbn help'
check 'an unknown command' refuses "there is no command foo; there are $commands" foo
check 'help of an unknown command' refuses "there is no command foo; there are $commands" help foo
check 'a command with two letters swapped' refuses 'there is no command chekc: did you mean check?' chekc
check 'help of it' refuses 'there is no command inspct: did you mean inspect?' help inspct
for option in -x --json; do
    check "$option before the command" refuses "there is no option $option of syncbn itself; \
options follow the command, as in syncbn devices --json FILE" $option - devices
done
check 'help of two' refuses 'help takes one command, got 2' help check bench
check 'version and more' refuses 'version takes no argument "now"' version now
for command in devices check bench tune inspect; do
    see="see syncbn $command --help"
    check "$command: an unknown option" refuses "$command has no option --fast; $see" "$command" --fast
    check "$command: an unknown option with a value" refuses "$command has no option --fast; $see" "$command" --fast=3
    check "$command: a mistyped option" \
        refuses "$command has no option --jsno: did you mean --json?" "$command" --jsno -
    check "$command: an unknown letter" refuses "$command has no option -x; $see" "$command" -x
    check "$command: a value that is missing" refuses "--json lacks its value; $see" "$command" --json
    check "$command: a value too many" refuses "--help takes no value; $see" "$command" --help=3
    check "$command: an unknown option that colours a terminal" \
        refuses "$command has no option --?[31m; $see" "$command" "$(printf '%s\033[31m' --)"
    check "$command: an option for a file" \
        refuses '--json --help: expected a file'"'"'s name, or - for standard output' "$command" --json --help
    check "$command: no name" \
        refuses '--json : expected a file'"'"'s name, or - for standard output' "$command" --json=
done
for command in check bench; do
    see="see syncbn $command --help"
    for option in devices form build-options file; do
        check "$command: --$option alone" refuses "--$option lacks its value; $see" "$command" mb2ic2 "--$option"
    done
    check "$command: an unknown type of device" \
        refuses '--devices tpu: there is no such type of device; there are cpu, gpu and accelerator' \
        "$command" --devices tpu
    check "$command: an unknown form" refuses '--form fpga: expected auto, cpu or gpu' "$command" --form fpga
    kinds='normal, large_mean, one, tiny_var, outlier, constant, zero, denormal, wide, huge, nan, inf, ninf, exact, border, step, peak, infs, zeros, largest'
    check "$command: an unknown kind of data" refuses "data=foo: expected one of $kinds" "$command" mb2ic2,data=foo
done
check 'an unknown letter among others' refuses 'check has no option -z; see syncbn check --help' check --tap -zv
check 'a letter that long options alone have' \
    refuses 'check has no option -g; see syncbn check --help' check --tap -vgv
check 'the start of several options' \
    refuses '--d: several options of check begin so; see syncbn check --help' check --d 0
check 'a value for a switch' refuses '--tap takes no value; see syncbn check --help' check --tap=1
check 'a folder for a list' refuses "$work cannot be read: Is a directory" check --file "$work"
echo '# nothing' > "$work/list"
for command in check bench tune; do
    check "$command: a list without problems" \
        refuses 'there is no problem in the files that --file names' $command --file "$work/list"
done
for other in tap digests; do
    check "JSON and --$other on one output" \
        refuses "--json - and --$other both write to standard output" check --json - --$other mb2ic2
done
# A NUL, or a CR that ends no line, would hide what stands behind it; what stands behind a problem is check's alone.
for line in 'mb8ic8\rmb9ic9,nonsense\r|carriage return' 'mb8ic8\000mb9ic9\n|NUL' '# one\rmb8ic8\r\n|carriage return'; do
    printf "mb2ic2\r\n${line%|*}" > "$work/list"
    check "a list with a ${line#*|} in a line" refuses \
        "$work/list:2: expected a line of text, got one with a ${line#*|} in it" check --file "$work/list"
done
printf 'mb2ic2 the first layer,\n%02000d\n' 1 > "$work/list"
for command in bench tune; do
    check "$command: a line with words, and one that is too long" refuses \
        "$work/list:2: the line is too long" $command --file "$work/list"
done
check 'check: words that are no digests' refuses "$work/list:1: \"the\" is no digest..." check --file "$work/list"
echo mb4ic4 > "$work/other"
for command in check bench tune; do
    echo mb2ic2 > "$work/list"
    check "$command: the report in place of the list" refuses \
        "--json $work/./list: expected a file for the report, or - for standard output, got a list that --file names" \
        $command --json "$work/./list" --file "$work/other" --file "$work/list"
    check 'which stays' [ "$(cat "$work/list")" = mb2ic2 ]
done

# JSON, in all commands. inspect needs no device.
if "$SYNCBN" devices | grep -q '^     usable$'; then
    commands='devices check bench tune inspect'
else
    [ "${CI-}" != true ] || check 'there is a usable device' false
    commands='devices inspect'
fi
cp "$srcdir/tests/model/data/network_f32.safetensors" "$work/checkpoint"
# What each command is given besides.
arguments() {
    case $1 in
    check) echo mb2ic2 ;;
    bench) echo '--repeats 1 mb2ic2' ;;
    tune) echo '--seconds 0 mb2ic2' ;;
    inspect) echo "$work/checkpoint" ;;
    esac
}
is_json() {
    [ "$(head -n 1 "$1")" = '{' ] && [ "$(tail -n 1 "$1")" = '}' ]
}
is_text() {
    [ -s "$work/out" ] && ! grep -q '^{' "$work/out"
}
# of STATUS OPTIONS...: runs $command with options and its arguments.
of() {
    expected=$1
    shift
    run "$expected" "$command" "$@" $(arguments "$command")
}
replaces() { # PATH
    echo old > "$work/file"
    of 0 --json "$1" && is_json "$work/file"
}
appends() {
    { echo old >&3 && of 0 --json /dev/fd/3 && echo new >&3; } 3> "$work/file" &&
        [ "$(sed -n '1p;$p' "$work/file" | paste -s -)" = "$(printf 'old\tnew')" ] &&
        sed '1d;$d' "$work/file" > "$work/rest" && is_json "$work/rest"
}
permissions() {
    ls -l "$1" | cut -c 1-10
}
for command in $commands; do
    check "$command: text" of 0
    check 'and no JSON' is_text
    check "$command --json -" of 0 --json -
    check 'and nothing else' is_json "$work/out"
    check "and the library's version" grep -q "^  \"version\": \"$version\",\$" "$work/out"
    rm -f "$work/file"
    check "$command --json FILE" of 0 --json "$work/file"
    check 'has JSON in the file' is_json "$work/file"
    check 'and the text as ever' is_text
    touch "$work/new"
    check 'with the permissions of a new file' [ "$(permissions "$work/file")" = "$(permissions "$work/new")" ]
    chmod 600 "$work/file"
    check 'an earlier file is replaced' replaces "$work/file"
    check 'and keeps its permissions' [ "$(permissions "$work/file")" = -rw------- ]
    check 'an open file is added to' appends
    ln -sf file "$work/link"
    check 'and behind a link' replaces "$work/link"
    check 'which stays one' [ -L "$work/link" ]
    ln -sf none "$work/dangling"
    check 'but not behind a link to nothing' of 1 --json "$work/dangling"
    check 'which stays one, too' [ -L "$work/dangling" ]
    check "$command: a folder that is missing" of 1 --json "$work/none/file"
    check 'refused before anything runs' [ ! -s "$work/out" ]
    check 'with one sentence' [ "$(cat "$work/err")" = \
        "syncbn: --json $work/none/file: it cannot be written: No such file or directory" ]
    check "$command: one whose name colours a terminal" of 1 --json "$(printf '%s/\033[31m/file' "$work")"
    check 'which stays as it is' [ "$(cat "$work/err")" = \
        "syncbn: --json $work/?[31m/file: it cannot be written: No such file or directory" ]
    check "$command: a folder for a file" of 1 --json "$work"
    check 'refused before anything runs' [ ! -s "$work/out" ]
    if [ -w /dev/full ]; then
        check "$command: no space left" of 1 --json /dev/full
        check 'is said' grep -q '^syncbn: --json /dev/full: it cannot be written: No space' "$work/err"
        "$SYNCBN" "$command" $(arguments "$command") > /dev/full 2> "$work/err"
        status=$?
        check "$command: no space on standard output: expected exit status 1, got $status" [ $status -eq 1 ]
        check 'is said' grep -q '^syncbn: standard output cannot be written' "$work/err"
    fi
done
check 'no temporary file is left' [ "$(find "$work" -name 'file.*' | wc -l)" -eq 0 ]

# check: a line for each problem, or the figures of all results. Progress: bench says where it is where no table does.
if [ "$commands" != 'devices inspect' ]; then
    check 'check of two problems' run 0 check mb2ic2 mb4ic4ih7iw7,last,split3-0-1,data=large_mean
    check 'a line for each' [ "$(grep -cE '^ok    [0-9.e-]{1,7} +[a-z_]+ +mb[24]ic[^ ]*$' "$work/out")" -eq 2 ]
    check 'and how many' grep -qE '^2 problems, 0 failed; [0-9.]+ s$' "$work/out"
    check 'check --verbose' run 0 check --verbose mb2ic2
    check 'the figures of all results' grep -qE '^      mean .*  y .*  dx .*  running_var [0-9.e-]+$' "$work/out"
    check 'no problem is missing in JSON for an option that is not UTF-8' \
        run 1 check --json - --build-options "$(printf -- '-Dfor=(\377')" mb2ic2
    check 'it is there' eval 'grep -q "\"problem\": \"mb2ic2\"" "$work/out" && grep -q "\"error\": \"" "$work/out"'
    for format in tap digests; do
        check "--$format: what a compiler says is a comment" run 1 check --$format --build-options '-Dfor=(' mb2ic2
        check 'all of it' [ "$(grep -cv -e '^#' -e '^1\.\.1$' -e '^not ok 1 - ' "$work/out")" -eq 0 ]
    done
    check 'the line that repeats a failure' run 1 check --build-options "-Dfor=( -DIT=it's" mb2ic2
    check 'quotes an apostrophe' grep -qF "again: syncbn check --devices $("$SYNCBN" check --tap mb2ic2 |
        sed -n 's/^# device \([0-9]*\): .*/\1/p' | paste -sd,) --build-options '-Dfor=( -DIT=it'\\''s' mb2ic2" "$work/out"
    "$SYNCBN" check --digests mb2ic2 | sed "s/mb2/mb$(printf %01000d 2)/" > "$work/long"
    check 'digests behind a problem as long as one may be' run 0 check --file "$work/long"
    check 'are compared' grep -q '1 with the recorded bits' "$work/out"
    "$SYNCBN" check --devices 0 --digests mb4ic4 > "$work/one"
    check 'those of one device are compared on two' run 0 check --devices 0,0 --file "$work/one"
    check 'one that must be refused' run 0 check mb1ic4
    check 'is no failure' grep -qE '^ok    refused, as it must be  mb1ic4$' "$work/out"
    # PoCL prints how many warnings there were, in the middle of a call.
    if possible 'kernels compile without a warning' 'device 0 is not PoCL' \
        eval '"$SYNCBN" devices | sed -n 1p | grep -q "Portable Computing Language"'; then
        mkdir "$work/cache"
        check 'kernels anew' \
            eval 'POCL_CACHE_DIR=$work/cache run 0 check --devices 0 --form cpu mb2ic16ih9iw9,relu,add'
        check 'no warning' [ ! -s "$work/err" ]
    fi
    check 'bench --json -' run 0 bench --json - --repeats 1 mb2ic2 mb4ic2
    check 'a line for each problem' [ "$(cat "$work/err")" = "[1/2] mb2ic2
[2/2] mb4ic2" ]
    check 'bench with its table' run 0 bench --repeats 1 mb2ic2
    check 'no line besides' [ ! -s "$work/err" ]
fi

# A report that fails keeps the earlier file.
echo old > "$work/file"
check 'a run that fails' run 1 inspect --json "$work/file" "$work/none"
check 'leaves the earlier file' [ "$(cat "$work/file")" = old ]
check 'a checkpoint where the report goes' refuses "--json $work/a.safetensors: expected a file for the report, \
or - for standard output, got a checkpoint's name" inspect --json "$work/a.safetensors" "$work/file"
mv "$work/checkpoint" "$work/m"
check 'and one of another name' eval '(SYNCBN=$(realpath "$SYNCBN") && cd "$work" &&
    refuses "--json m: expected a file..." inspect --json m file)'
echo "1..$count"
