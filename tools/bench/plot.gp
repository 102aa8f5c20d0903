# gnuplot -e 'data="columns"; picture="speed.png"' plot.gp
# Bars for each shape and layout: the share of the copy's speed, forward and backward.
set terminal pngcairo size 1500,1050 font 'sans,10'
set output picture
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.9 noborder
set xtics rotate by -40 scale 0 nomirror
set rmargin 12
set ytics 0.5
set grid ytics lc rgb '#dddddd'
set yrange [0:*]
set key tmargin right horizontal
set bmargin 8
label(row) = sprintf('%s%s', stringcolumn(1), stringcolumn(2) eq 'last' ? ' last' : '')
set multiplot layout 2,1
do for [pass = 0:1] {
    set title pass == 0 ? 'forward in training, three passes over the tensor' \
                        : 'backward, five passes over the tensor'
    set ylabel 'share of the speed of a copy'
    plot data using (column(4 + 3 * pass)):xtic(label(0)) title 'syncbn' lc rgb '#1f5fa8', \
         '' using (column(5 + 3 * pass)) title 'unordered sums' lc rgb '#9bbfe0', \
         '' using (column(6 + 3 * pass)) title "oneDNN's fastest layout" lc rgb '#d9822b', \
             1 with lines lc rgb '#444444' dt 2 notitle
}
unset multiplot
