# SPDX-License-Identifier: MIT
# Draws a log of husk_log_write, each column over the first, the axis by the column's name:
#     gnuplot -e "log='digits.log'" plot_log.gp > digits.svg
if (!exists("log")) { print "gnuplot -e \"log='FILE'\" plot_log.gp > FILE.svg"; exit status 2 }
stats log nooutput
if (STATS_records < 1) { print log, " has no rows"; exit status 1 }
names = system(sprintf("head -n 1 -- '%s'", log))
columns = words(names) - 1 # the first word is the comment sign
if (columns < 2) { print log, " has one column only"; exit status 1 }
set terminal svg size 800, 240 * (columns - 1) dynamic font "sans,11"
set datafile missing "nan"
set grid
set key off
set xlabel word(names, 2) noenhanced
set multiplot layout columns - 1, 1
do for [c = 2 : columns] {
    set ylabel word(names, c + 1) noenhanced
    plot log using 1:c with lines linewidth 1.5
}
unset multiplot
