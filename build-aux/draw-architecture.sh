#!/bin/sh
# draw-architecture.sh SRCDIR
#
# Writes the folders of src/ and their includes to standard output, as a graph for Graphviz:
#
#   draw-architecture.sh . | tred | dot -Tsvg > doc/architecture.svg
#
# tred leaves out the arrows that follow from others.
set -eu
cd "$1"

echo 'digraph syncbn {'
echo '    rankdir = BT; ranksep = 0.35; nodesep = 0.3;'
echo '    node [shape = box, fontname = "sans-serif", fontsize = 12, height = 0.35, margin = "0.12,0.05"];'
echo '    edge [arrowsize = 0.7];'
for folder in $(ls -d src/*/*.h | cut -d/ -f2 | sort -u); do
    echo "    $folder [label = \"src/$folder\"];"
done
# Not of cl/: its list of arguments is a part of launch.
grep -Ho '^#include "[a-z]*/' src/*/*.[ch] | grep -v '"cl/' |
    sed 's|^src/\([a-z]*\)/.*"\([a-z]*\)/$|\1 \2|' | sort -u |
    while read -r from to; do
        [ "$from" = "$to" ] || echo "    $from -> $to;"
    done
echo '}'
