#!/bin/sh
# The table of statuses against the library's header and OpenCL's, but for those of objects shared with graphics: each
# status that both number has the same name.
# Other versions of OpenCL's headers have other errors: with CI=true one that only one of them has is a fault, too.
# Environment: srcdir, CC, OPENCL_CFLAGS, CI.

. "${srcdir:=.}/tests/support/tap.sh"

# shellcheck disable=SC2086
folder=$(echo '#include <CL/cl.h>' | ${CC:-cc} ${OPENCL_CFLAGS-} -E - 2> "$work/err" |
    sed -n 's,^# [0-9]* "\(.*\)/cl\.h".*,\1,p' | head -n 1)
[ -n "$folder" ] || skip_all "OpenCL's headers are not found"

# "-5 CL_OUT_OF_RESOURCES": of the headers, and of the registry what they lack.
{
    sed -n 's/^    \(SBN_[A-Z_]*\) = \([-0-9]*\).*/\2 \1/p' "$srcdir/include/syncbn/error.h"
    cat "$folder"/cl.h "$folder"/cl_ext.h | tr -d '()' |
        awk '$1 == "#define" && $2 ~ /^CL_/ && $2 !~ /_MIN|_BUILD_(NONE|ERROR|IN_)|_LIST_END/ &&
             $3 ~ /^-[0-9]+$/ { print $3, $2 }'
    echo '-1106 CL_PIPE_FULL_INTEL
-1107 CL_PIPE_EMPTY_INTEL
-1126 CL_CANCELLED_IMG'
} | sort -u > "$work/headers"
tr -d '\n' < "$srcdir/src/base/status.c" | awk '{ gsub(/ENTRY[(]/, "\n"); print }' |
    sed -n 's/^ *\([-0-9]*\), *\([A-Z0-9_]*\),.*/\1 \2/p' > "$work/table"

# Two names may have one number.
no_faults 'every status of the headers has its name' "$(awk -v all="${CI-}" '
    FNR == NR { name[$1] = $2; next }
    { known[$1] = 1; right[$1 " " $2] = 1 }
    (all == "true" || / SBN_/) && !($1 in name) { print $0 ": not in the table" }
    END {
        for (number in name)
            if ((all == "true" || number in known) && !((number " " name[number]) in right))
                print number, name[number] ": no error"
    }' "$work/table" "$work/headers")"
check "the table has $(grep -c . "$work/table") statuses, the headers $(grep -c . "$work/headers")" \
    [ "$(grep -c . "$work/table")" -ge 95 ]
echo "1..$count"
