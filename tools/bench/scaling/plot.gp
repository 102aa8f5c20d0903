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
palette = '#1f5fa8 #d9822b #5a9e4b #8a5ba8'
wire = system(sprintf("awk '/^# latency/ { print $3 \" us, \" $5 \" Mbit/s\" }' %s/wire.columns", folder))
set multiplot layout 1,2
set title 'combining a forward pass over ranks of one machine'
set ylabel 'microseconds'
plot for [i = 1:3] of('ranks', 2**i, 'combine-forward') using 2:4:($5 > 0 ? $5 : $4):6 \
    with yerrorlines pt 7 ps 0.4 lc rgb word(palette, i) title sprintf('%d ranks', 2**i)
set title 'a forward pass over a wire of '.wire
set yrange [100:1000000]
set xrange [10:3000]
plot for [i = 1:3] of('wire', 2**i, 'joined-forward') using 2:4:5:6 \
    with yerrorlines pt 7 ps 0.4 lc rgb word(palette, i) title sprintf('%d hosts', 2**i), \
    for [i = 1:3] of('wire', 2**i, 'hidden-forward') using 2:4 with lines dt 2 \
    lc rgb word(palette, i) title i == 1 ? 'not hidden' : ''
unset multiplot
