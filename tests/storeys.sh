#!/bin/sh
# The order of the folders of src/ and what follows from it. Each rule is also tried on a copy of the tree into which a
# violation was planted, and has to refuse it. Environment: srcdir.
#
#   up          a file of src/ includes only its own folder and the folders before it
#   tools       src/ includes nothing of tools/ and tests/; tools/ nothing of tests/; check comes
#               before bench and bench before syncbn; examples/ includes public headers and its own
#   circle      neither folders nor files, a header and the C file of its name taken together, include
#               each other in a circle
#   home        what a header declares, the C file of its name defines
#   mpi         MPI is seen by src/mpi, tools/bench/scaling, the tests and the examples only
#   opencl      src/base, src/safetensors, src/exact and src/collective call nothing of OpenCL

. "${srcdir:=.}/tests/support/tap.sh"

# faults ROOT: a line "RULE: FILE: what" for each violation in the tree below ROOT.
faults() {
    (
        cd "$1" || exit
        find src tools tests examples cl -name '*.[ch]' | sort > "$work/files"
        # shellcheck disable=SC2046
        awk '
        function folder(file,    part) {
            split(file, part, "/")
            return part[1] "/" part[2]
        }
        function stem(file) {
            sub(/\.[^.]*$/, "", file)
            return file
        }
        function top(file) {
            return substr(file, 1, index(file, "/") - 1)
        }
        function fault(rule, what) {
            print rule ": " FILENAME ": " what
        }
        # The file that #include "NAME" means, as -iquote is ordered in Makefile.am.
        function resolved(name,    own, below, n, i) {
            own = FILENAME
            sub(/[^\/]*$/, "", own)
            # The one test of the demo has examples/, too.
            n = split(own ",,src/,tools/,tests/,examples/", below, ",")
            for (i = 1; i <= n; ++i)
                if ((below[i] name) in exists)
                    return below[i] name
            return ""
        }
        function quoted(name,    to) {
            to = resolved(name)
            if (to == "") {
                fault("up", "there is no " name)
                return
            }
            if (top(FILENAME) == "src" && top(to) == "src" && \
                (!(folder(FILENAME) in storey) || !(folder(to) in storey) || \
                 storey[folder(to)] > storey[folder(FILENAME)]))
                fault("up", "includes " to)
            # The list of arguments that kernels and C share.
            if (to == "cl/common/arguments.h")
                return
            if (top(FILENAME) == "src" && top(to) != "src" || \
                top(FILENAME) == "tools" && top(to) != "src" && \
                (top(to) != "tools" || storey[folder(to)] > storey[folder(FILENAME)]) || \
                top(FILENAME) == "examples" && top(to) != "examples")
                fault("tools", "includes " to)
            if (folder(FILENAME) != folder(to))
                print "edge: folders " folder(FILENAME) " " folder(to)
            if (stem(FILENAME) != stem(to))
                print "edge: files " stem(FILENAME) " " stem(to)
        }
        BEGIN {
            n = split("base safetensors exact program device plan collective group layer tensor launch pass kinds " \
                      "model parallel mpi", names, " ")
            for (i = 1; i <= n; ++i)
                storey["src/" names[i]] = i
            storey["tools/check"] = 1
            storey["tools/bench"] = storey["tools/offline"] = 2
            storey["tools/syncbn"] = 3
            for (i = 1; i < ARGC; ++i)
                exists[ARGV[i]] = 1
        }
        /^ *\*/ { next }
        {
            line = $0
            sub(/\/[*\/].*/, "", line)
        }
        FILENAME ~ /^src\/(exact|collective)\// && line ~ /"program\/opencl\.h"/ {
            fault("opencl", line)
        }
        line ~ /^ *# *include *"/ {
            split(line, part, "\"")
            quoted(part[2])
            next
        }
        line ~ /^ *# *include *<(mpi|syncbn-mpi)\.h>/ && \
        FILENAME !~ /^(src\/mpi|tools\/bench\/scaling|tests|examples)\// {
            fault("mpi", line)
        }
        FILENAME ~ /^src\/(base|safetensors|exact|collective)\// && \
        (line ~ /<CL\// || line ~ /(^|[^A-Za-z0-9_])(cl_[a-z]|cl[A-Z])/) {
            fault("opencl", line)
        }
        # A function at the beginning of a line: headers declare it, C files define it.
        FILENAME ~ /^src\// && line ~ /^[a-z]/ && line !~ /^(static|typedef|extern) / && \
        match(line, /sbn__[a-z0-9_]+\(/) {
            name = substr(line, RSTART, RLENGTH - 1)
            if (FILENAME ~ /\.h$/)
                declared[name] = FILENAME
            else
                defined[FILENAME, name] = 1
        }
        END {
            for (key in defined) {
                split(key, part, SUBSEP)
                if (stem(declared[part[2]]) != stem(part[1]))
                    print "home: " part[1] ": " part[2] " is declared in " declared[part[2]]
            }
        }' $(cat "$work/files") > "$work/found"
        grep -v '^edge: ' "$work/found"
        for kind in folders files; do
            sed -n "s/^edge: $kind //p" "$work/found" | tsort 2>&1 > "$work/order" |
                sed "s/^tsort: -: /circle: $kind: /"
        done
    )
}

all=$(faults "$srcdir")
for rule in up tools circle home mpi opencl; do
    no_faults "$rule" "$(printf '%s\n' "$all" | grep "^$rule: ")"
done
files=$(wc -l < "$work/files")
no_faults "$files files were read" "$([ "$files" -gt 300 ] || echo 'expected at least 300')"

mkdir "$work/tree" && (cd "$srcdir" && tar cf - -T "$work/files") | (cd "$work/tree" && tar xf -)
faults "$work/tree" > "$work/before"
# planted RULE FILE LINE: the line is appended to a file of a copy, and the rule finds a violation that was not there.
planted() {
    mkdir -p "$(dirname "$work/tree/$2")"
    [ ! -e "$work/tree/$2" ] || cp "$work/tree/$2" "$work/kept"
    printf '%s\n' "$3" >> "$work/tree/$2"
    faults "$work/tree" > "$work/after"
    no_faults "planted in $2, refused: $3" \
        "$(grep -vxF -f "$work/before" "$work/after" | grep -q "^$1: " || echo "not found: $1")"
    if [ -e "$work/kept" ]; then mv "$work/kept" "$work/tree/$2"; else rm "$work/tree/$2"; fi
}
planted up src/base/error.c '#include "device/device.h"'
planted up src/device/extra.h '# include "group/group.h"'
planted up src/base/error.c '#include "error_that_is_not_there.h"'
planted tools src/pass/pass.c '#include "check/job.h"'
planted tools tools/check/check.c '#include "bench/bench.h"'
planted tools tools/bench/bench.c '#include "support/tap.h"'
planted tools examples/minimal.c '#include "base/error.h"'
planted circle tools/check/check.h '#include "bench/bench.h"'
planted circle src/pass/pass.c '#include "pass/begin.h"'
planted home src/exact/bigint.c 'int sbn__accumulator_length(void)'
planted mpi src/group/group.c '#include <mpi.h>'
planted mpi tools/bench/bench.c '#include <syncbn-mpi.h>'
planted opencl src/base/memory.c '    clReleaseMemObject(buffer);'
planted opencl src/collective/ranks.c '#include "program/opencl.h"'
# closure: of lines "FROM TO", all that follow.
closure() {
    awk '{ edge[$1, $2]; node[$1]; node[$2] }
        END {
            for (k in node) for (i in node) for (j in node) if (((i, k) in edge) && ((k, j) in edge)) edge[i, j]
            for (e in edge) { split(e, end, SUBSEP); print end[1], end[2] }
        }' | sort
}
sed -n 's/.*<title>\([a-z]*\)&#45;&gt;\([a-z]*\)<.*/\1 \2/p' "$srcdir/doc/architecture.svg" | closure > "$work/drawn"
sh "$srcdir/build-aux/draw-architecture.sh" "$srcdir" | sed -n 's/^ *\([a-z]*\) -> \([a-z]*\);/\1 \2/p' |
    closure > "$work/included"
no_faults 'doc/architecture.svg shows what includes what' \
    "$([ -s "$work/drawn" ] || echo 'no arrow was read'; diff "$work/drawn" "$work/included")"
echo "1..$count"
