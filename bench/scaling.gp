# gnuplot -e 'folder="bench/scaled"; picture="scaling.svg"' scaling.gp
# Left: combining a forward pass over ranks of one machine. Right: a forward pass over hosts and a
# wire of known latency and bandwidth, and what remains of it when other work hides it.
set terminal svg size 960,400 font 'sans,12' background '#ffffff'
set output picture
set logscale xy
set format y '10^{%T}'
set grid ytics lc rgb '#dddddd'
set key left top Left reverse samplen 2
set xlabel 'channels'
set xrange [10:15000]
of(file, ranks, series) = sprintf("< awk '$1 == %d && $3 == \"%s\"' %s/%s.columns", ranks, series, folder, file)
palette = '#1f5fa8 #5b8fc7 #9bbfe0 #d9822b #b8561b'
set multiplot layout 1,2
set title 'combining a forward pass, ranks of 2 cores'
set ylabel 'microseconds'
plot for [i = 1:5] of('ranks', 2**i, 'combine-forward') using 2:4:($5 > 0 ? $5 : $4):6 \
    with yerrorlines pt 7 ps 0.4 lc rgb word(palette, i) title sprintf('%d ranks', 2**i)
set title 'a forward pass over a wire: 2 ms, 50 Mbit/s'
set xrange [10:3000]
plot for [i = 1:4] of('wire', 2**i, 'joined-forward') using 2:4:5:6 \
    with yerrorlines pt 7 ps 0.4 lc rgb word(palette, i) title sprintf('%d hosts', 2**i), \
    for [i = 1:4] of('wire', 2**i, 'hidden-forward') using 2:4 with lines dt 2 \
    lc rgb word(palette, i) title i == 1 ? 'not hidden' : ''
unset multiplot
