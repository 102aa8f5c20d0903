#!/bin/sh
# coverage.sh GCOV SOURCE: what the tests have executed of SOURCE/src, from the .gcda files below
# the folder that it runs in: lines and branches by file, and functions with lines that were not
# executed, with the reasons in SOURCE/tests/coverage.reasons. Fails where one has none, and below
# the goals.
set -u
gcov=$1 source=$2
find src -name '*.gcda' | sort | while read -r data; do
    "$gcov" -b -c -t "$data" 2> /dev/null
done | LC_ALL=C awk -v reasons="$source/tests/coverage.reasons" -v lines_goal=98 \
    -v branches_goal=92 '
BEGIN {
    while ((getline line < reasons) > 0) {
        if (line ~ /^#/ || split(line, word, " ") < 4)
            continue
        allowed[word[1] " " word[2]] = word[3]
        sub(/^[^ ]+ [^ ]+ [0-9]+ /, "", line)
        reason[word[1] " " word[2]] = line
    }
}
/^ *-: *0:Source:/ {
    file = $0
    sub(/^.*Source:/, "", file)
    wanted = sub(/^.*\/src\//, "src/", file)
    next
}
!wanted { next }
/^function / { function_name = $2; next }
/^branch / {
    key = file SUBSEP number SUBSEP $2
    branch[key] += $3 == "taken" ? $4 : 0
    next
}
/^ *[-#=0-9]+\*?: *[0-9]+:/ {
    split($0, part, ":")
    number = part[2] + 0
    count = part[1]
    gsub(/[ *]/, "", count)
    if (count == "-" || number == 0)
        next
    line_count[file, number] += count ~ /[#=]/ ? 0 : count
    in_function[file, number] = function_name
}
END {
    for (key in line_count) {
        split(key, part, SUBSEP)
        ++lines[part[1]]
        covered[part[1]] += line_count[key] > 0
        if (line_count[key] == 0) {
            place = part[1] " " in_function[key]
            ++missing[place]
            where[place] = where[place] " " part[2]
        }
    }
    for (key in branch) {
        split(key, part, SUBSEP)
        ++branches[part[1]]
        taken[part[1]] += branch[key] > 0
    }
    for (file in lines) {
        printf "%-36s %5d of %5d lines %5.1f %%  %5d of %5d branches %5.1f %%\n", file,
            covered[file], lines[file], 100 * covered[file] / lines[file], taken[file],
            branches[file],
            branches[file] ? 100 * taken[file] / branches[file] : 100 | "sort"
        all_lines += lines[file]
        all_covered += covered[file]
        all_branches += branches[file]
        all_taken += taken[file]
    }
    close("sort")
    for (place in missing) {
        if (missing[place] <= allowed[place])
            printf "not executed: %s, %d lines: %s\n", place, missing[place], reason[place] | "sort"
        else
            printf "NO REASON: %s, %d lines, %d with a reason:%s\n", place, missing[place],
                allowed[place], where[place] | "sort"
        failed += missing[place] > allowed[place]
    }
    close("sort")
    of_lines = all_lines ? 100 * all_covered / all_lines : 0
    of_branches = all_branches ? 100 * all_taken / all_branches : 0
    printf "%d of %d lines, %.1f %%; %d of %d branches, %.1f %%; %d functions without a reason\n",
        all_covered, all_lines, of_lines, all_taken, all_branches, of_branches, failed
    exit failed > 0 || of_lines < lines_goal || of_branches < branches_goal
}'
