#!/bin/sh
# The order of the folders of src/ and what follows from it. Each rule is also tried on a copy of
# the tree into which a violation was planted, and has to refuse it.
#
#   up          a file of src/ includes only its own folder and the folders before it
#   tools       src/ includes nothing of tools/ and tests/; tools/ nothing of tests/; check comes
#               before bench and bench before syncbn; examples/ includes public headers and its own
#   circle      neither folders nor files, a header and the C file of its name taken together, include
#               each other in a circle
#   home        what a header declares, the C file of its name defines
#   top         no file lies directly in src/, but for local.mk
#   once        a collective is started in one place, and the clock is read in one place
#   mpi         MPI is seen by src/mpi, tools/bench/scaling, the tests and the examples only
#   opencl      src/base, src/safetensors, src/exact and src/collective call nothing of OpenCL
#   number      a kernel and a C file do not spell the same number: -D hands it to the kernel
#
# Environment: srcdir.

. "${srcdir:=.}/tests/support/tap.sh"

# faults ROOT: a line "RULE: FILE: what" for each violation in the tree below ROOT.
faults() {
    (
        cd "$1" || exit
        find src -type f | grep '^src/[^/]*$' | grep -v '^src/local\.mk$' |
            sed 's/.*/top: &: lies in no folder/'
        find src tools tests examples cl -name '*.[ch]' -o -name '*.cl' | sort > "$work/files"
        # shellcheck disable=SC2046
        awk '
        # uncommented(LINE): the line without its comments, across lines.
        function uncommented(line,    out, block, at) {
            out = ""
            while (line != "") {
                if (inside) {
                    at = index(line, "*/")
                    inside = !at
                    line = at ? substr(line, at + 2) : ""
                } else if ((block = index(line, "/*")) > 0) {
                    out = out substr(line, 1, block - 1) " "
                    line = substr(line, block + 2)
                    inside = 1
                } else {
                    out = out line
                    line = ""
                }
            }
            sub(/\/\/.*/, "", out)
            return out
        }
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
        function resolved(name,    own) {
            own = FILENAME
            sub(/[^\/]*$/, "", own)
            if ((own name) in exists)
                return own name
            if (name in exists)
                return name
            if (("src/" name) in exists)
                return "src/" name
            if (("tools/" name) in exists)
                return "tools/" name
            if (("tests/" name) in exists)
                return "tests/" name
            # The one test of the demo has this folder too.
            return ("examples/" name) in exists ? "examples/" name : ""
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
                edge["folders", folder(FILENAME), folder(to)] = 1
            if (stem(FILENAME) != stem(to))
                edge["files", stem(FILENAME), stem(to)] = 1
        }
        # What stays when all that nothing includes, and all that includes nothing, is taken away
        # again and again.
        function circles(kind,    key, part, from, to, taken) {
            do {
                split("", from)
                split("", to)
                taken = 0
                for (key in edge) {
                    split(key, part, SUBSEP)
                    if (part[1] == kind)
                        from[part[2]] = to[part[3]] = 1
                }
                for (key in edge) {
                    split(key, part, SUBSEP)
                    if (part[1] == kind && (!(part[3] in from) || !(part[2] in to))) {
                        delete edge[key]
                        taken = 1
                    }
                }
            } while (taken)
            for (key in edge) {
                split(key, part, SUBSEP)
                if (part[1] == kind)
                    print "circle: " part[2] ": " kind " include each other, here " part[3]
            }
        }
        # 0x40u, 64 and 64L are the same number.
        function number(text,    digit, i, value) {
            text = tolower(text)
            if (text ~ /^0x[0-9a-f]+[ul]*$/) {
                sub(/[ul]*$/, "", text)
                for (i = 3; i <= length(text); ++i) {
                    digit = index("0123456789abcdef", substr(text, i, 1)) - 1
                    value = value * 16 + digit
                }
                return value
            }
            sub(/[ulf]+$/, "", text)
            return text + 0
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
        FNR == 1 {
            inside = 0
        }
        {
            line = uncommented($0)
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
        FILENAME ~ /^src\// {
            starts += gsub(/transport(->|\.)start\(/, "&", line)
            clocks += gsub(/(^|[^A-Za-z0-9_])clock_gettime *\(/, "&", line)
        }
        FILENAME ~ /^cl\// && line ~ /^ *# *define +[A-Za-z0-9_]+ +[0-9.]/ {
            sub(/^ *# *define +/, "", line)
            split(line, part, /[ \t]+/)
            if (number(part[2]) > 1)
                kernels[part[1]] = number(part[2])
        }
        # Every name in src/; the numbers of src/program and src/plan, which the kernels are built and launched by, but for lengths of
        # arrays, and but for those that become -D; and the larger named ones of src/exact, which reads what kernels write.
        FILENAME ~ /^src\// {
            rest = line
            while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
                name = substr(rest, RSTART, RLENGTH)
                sub(/^SBN_/, "", name)
                spelled[name] = FILENAME
                rest = substr(rest, RSTART + RLENGTH)
            }
            named = line ~ /^ *# *define +[A-Za-z0-9_]+ +[0-9]/ || line ~ /[A-Z][A-Z0-9_]+ *= *[0-9]/
            if (FILENAME ~ /^src\/(program|device|plan)\// && FILENAME !~ /kernel_constants\.c$/ || named && FILENAME ~ /^src\/exact\//) {
                while (match(line, /(^|[^A-Za-z0-9_.\[])[0-9][0-9A-Fa-fxXuUlL]*/)) {
                    text = substr(line, RSTART, RLENGTH)
                    sub(/^[^0-9]/, "", text)
                    if (FILENAME !~ /^src\/exact\// || number(text) > 64)
                        valued[number(text)] = FILENAME
                    line = substr(line, RSTART + RLENGTH)
                }
            }
        }
        END {
            if (starts != 1)
                print "once: src: collectives are started in " starts + 0 " places"
            if (clocks != 1)
                print "once: src: the clock is read in " clocks + 0 " places"
            for (name in kernels) {
                if (name in spelled)
                    print "number: " spelled[name] ": " name " is also defined in cl/"
                # Small numbers mean too many things.
                if (kernels[name] > 64 && kernels[name] in valued)
                    print "number: " valued[kernels[name]] ": " kernels[name] \
                        " is also spelled in cl/, as " name
            }
            for (key in defined) {
                split(key, part, SUBSEP)
                if (stem(declared[part[2]]) != stem(part[1]))
                    print "home: " part[1] ": " part[2] " is declared in " declared[part[2]]
            }
            circles("folders")
            circles("files")
        }' $(cat "$work/files")
    )
}

all=$(faults "$srcdir")
for rule in up tools circle home top once mpi opencl number; do
    no_faults "$rule" "$(printf '%s\n' "$all" | grep "^$rule: ")"
done
files=$(wc -l < "$work/files")
no_faults "$files files were read" "$([ "$files" -gt 300 ] || echo 'expected at least 300')"

# planted RULE FILE LINE: the line is appended to a file of a copy, and the rule finds a violation
# that was not there before.
for part in src tools tests examples cl; do
    mkdir -p "$work/tree/$part"
    (cd "$srcdir/$part" && find . -name '*.[ch]' -o -name '*.cl' | tar cf - -T -) |
        (cd "$work/tree/$part" && tar xf -)
done
faults "$work/tree" > "$work/before"
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
planted up src/layer/create.c '#include "pass/pass.h"'
planted up src/tensor/use.c '#include "launch/layer_pass.h"'
planted up src/pass/end.c '#include "kinds/forward.h"'
planted up src/device/extra.h '# include "group/group.h"'
planted up src/base/error.c '#include "error_that_is_not_there.h"'
planted tools src/pass/pass.c '#include "check/job.h"'
planted tools src/pass/pass.c '#include "support/tap.h"'
planted tools tools/check/check.c '#include "bench/bench.h"'
planted tools tools/bench/bench.c '#include "support/tap.h"'
planted tools examples/minimal.c '#include "base/error.h"'
planted circle src/base/error.h '#include "layer/batchnorm.h"'
planted circle tools/check/check.h '#include "bench/bench.h"'
planted circle src/exact/format.h '#include "exact/statistics.h"'
planted circle src/pass/pass.c '#include "pass/begin.h"'
planted circle tools/check/job.c '#include "check/runner.h"'
planted circle examples/fashion/norm.h '#include "model.h"'
planted home src/exact/bigint.c 'int sbn__accumulator_length(void)'
planted top src/stray.c 'int stray;'
planted once src/pass/pass.c '    transport->start(context);'
planted once src/pass/pass.c '    clock_gettime(CLOCK_MONOTONIC, &now);'
planted mpi src/group/group.c '#include <mpi.h>'
planted mpi tools/bench/bench.c '#include <syncbn-mpi.h>'
planted opencl src/exact/big.c '#include <CL/cl.h>'
planted opencl src/base/memory.c '    clReleaseMemObject(buffer);'
planted opencl src/collective/ranks.c '#include "program/opencl.h"'
# The numbers of this header are not those of any kernel yet.
printf '%s\n' '#define SBN_PLANTED_ROWS 977' 'enum { SBN_PLANTED_LANES = 0x3d3u };' \
    > "$work/tree/src/plan/planted.h"
planted number cl/sum.cl '#define PLANTED_ROWS 978'
planted number cl/sum.cl '#define PLANTED 0x3d1u /* 977 */'
planted number cl/sum.cl '#define PLANTED 979'
echo "1..$count"
