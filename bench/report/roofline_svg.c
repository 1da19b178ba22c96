// SPDX-License-Identifier: MIT
// The picture itself. Sizes are in the units of its viewBox.

#include "report/roofline_svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"

#define WIDTH      1080.0
#define HEIGHT     700.0
#define LEFT       76.0
#define RIGHT      (WIDTH - 28.0)
#define TOP        112.0
#define BOTTOM     (HEIGHT - 62.0)
#define LEGEND_ROW 20.0
#define LETTER     7.6 // width of a letter of the labels, on average
#define MAX_BOXES  1024
#define MAX_LABELS 8
#define LABEL_TEXT 48

typedef struct box {
    double x0, y0, x1, y1;
} box;

typedef struct canvas {
    FILE *file;
    const bench_roofline *r;
    double x_low, x_high, y_low, y_high; // of the axes, as powers of ten
    box boxes[MAX_BOXES];                // what labels must keep clear of
    int box_count;
} canvas;

// The colours of the operators, for a light page and a dark one: distinguishable without seeing red or green, and their
// shapes differ, too. No variables: not everything that shows SVG knows them.
static const char style[] =
    "<style>svg{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    ".title{font-size:19px;font-weight:600}.small{font-size:12px}"
    ".label,.halo{font-size:11.5px}.halo{stroke-width:3.5px;stroke-linejoin:round}"
    ".grid{stroke-width:1}.roof{stroke-width:2;fill:none;stroke-linejoin:round}"
    ".lower{stroke-width:1.4;stroke-dasharray:7 4}.lead{stroke-width:.8}"
    ".p path{stroke-width:1.1;fill-opacity:.9}.p:hover path{stroke-width:1.8;fill-opacity:1}.p .hit{fill-opacity:0}\n"
    ".page{fill:#fff}text{fill:#1b1f24}.soft{fill:#5b6570}.halo{stroke:#fff;fill:#fff}.grid{stroke:#e6e9ed}"
    ".roof{stroke:#2b323a}.lead{stroke:#5b6570}.p path,.k path{stroke:#fff}.p:hover path{stroke:#1b1f24}"
    ".s0{fill:#0072b2}.s1{fill:#b8460b}.s2{fill:#00805d}.s3{fill:#a3399a}"
    ".s4{fill:#8a6a00}.s5{fill:#4d5a66}.s6{fill:#1b1f24}"
    "\n@media(prefers-color-scheme:dark){"
    ".page{fill:#14181d}text{fill:#eceff3}.soft{fill:#a4aeb9}.halo{stroke:#14181d;fill:#14181d}.grid{stroke:#2a3038}"
    ".roof{stroke:#d5dbe2}.lead{stroke:#a4aeb9}.p path,.k path{stroke:#14181d}.p:hover path{stroke:#eceff3}"
    ".s0{fill:#5ab6f0}.s1{fill:#ff9455}.s2{fill:#36cfa0}.s3{fill:#ea8fdc}"
    ".s4{fill:#e8c53c}.s5{fill:#b6c2ce}.s6{fill:#eceff3}"
    "}</style>\n";

// Around (0, 0): circle, square, triangle, diamond, triangle on its tip, plus, cross.
static const char *const shapes[] = {
    "M-5.2,0A5.2,5.2 0 1 1 5.2,0A5.2,5.2 0 1 1 -5.2,0Z",
    "M-4.6,-4.6H4.6V4.6H-4.6Z",
    "M0,-6L5.8,4.4H-5.8Z",
    "M0,-6.4L6.4,0L0,6.4L-6.4,0Z",
    "M0,6L5.8,-4.4H-5.8Z",
    "M-2,-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z",
    "M-5.7,-3L-3,-5.7L0,-2.7L3,-5.7L5.7,-3L2.7,0L5.7,3L3,5.7L0,2.7L-3,5.7L-5.7,3L-2.7,0Z",
};
#define SERIES ((int)(sizeof shapes / sizeof *shapes))

// Of the operators that are there, each has its own, as long as there are enough.
static int style_of(const canvas *c, int series)
{
    bool is_there[BENCH_OP_COUNT + 1] = {false};
    int rank = 0;
    for (size_t i = 0; i < c->r->count; i++)
        is_there[c->r->points[i].series] = true;
    for (int i = 0; i < series; i++)
        rank += is_there[i];
    return rank < SERIES - 1 ? rank : SERIES - 1;
}

static void write_text(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else if ((unsigned char)*text >= ' ' || *text == '\n')
            fputc(*text, file);
    }
}

static double at_x(const canvas *c, double intensity)
{
    return LEFT + (log10(intensity) - c->x_low) / (c->x_high - c->x_low) * (RIGHT - LEFT);
}

static double at_y(const canvas *c, double gflops)
{
    return BOTTOM - (log10(gflops) - c->y_low) / (c->y_high - c->y_low) * (BOTTOM - TOP);
}

static void keep_clear(canvas *c, box b)
{
    if (c->box_count < MAX_BOXES)
        c->boxes[c->box_count++] = b;
}

static bool is_clear(const canvas *c, box b)
{
    if (b.x0 < LEFT + 2 || b.x1 > RIGHT || b.y0 < TOP || b.y1 > BOTTOM - 2)
        return false;
    for (int i = 0; i < c->box_count; i++) {
        const box *o = &c->boxes[i];
        if (b.x0 < o->x1 && o->x0 < b.x1 && b.y0 < o->y1 && o->y0 < b.y1)
            return false;
    }
    return true;
}

// ---- axes and roofs ----

static void find_range(canvas *c)
{
    double x_least = INFINITY, x_most = 0, y_least = INFINITY, y_most = c->r->fma_gflops;
    for (size_t i = 0; i < c->r->count; i++) {
        const bench_roofline_point *p = &c->r->points[i];
        x_least = fmin(x_least, p->intensity);
        x_most = fmax(x_most, p->intensity);
        y_least = fmin(y_least, p->gflops);
        y_most = fmax(y_most, p->gflops);
    }
    // The slowest memory's roof is to be seen up to where it meets the top.
    x_most = fmax(x_most, c->r->fma_gflops / c->r->roofs[c->r->roof_count - 1].gbytes_per_s);
    c->x_low = log10(x_least / 1.8);
    c->x_high = log10(x_most * 1.8);
    c->y_low = log10(y_least / 1.8);
    c->y_high = log10(y_most * 1.5);
}

static void draw_tick(const canvas *c, double value, bool is_x)
{
    const double x = is_x ? at_x(c, value) : LEFT, y = is_x ? BOTTOM : at_y(c, value);
    if (is_x)
        fprintf(c->file, "<path class=\"grid\" d=\"M%.1f,%.1fV%.1f\"/>", x, TOP, BOTTOM);
    else
        fprintf(c->file, "<path class=\"grid\" d=\"M%.1f,%.1fH%.1f\"/>", LEFT, y, RIGHT);
    fprintf(c->file, "<text class=\"soft small\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.6g</text>\n",
            is_x ? x : LEFT - 8, is_x ? BOTTOM + 18 : y + 4, is_x ? "middle" : "end", value);
}

// 1, 2 and 5 of every power of ten; over more than four powers 1 alone.
static void draw_ticks(const canvas *c, double low, double high, bool is_x)
{
    static const double steps[] = {1, 2, 5};
    for (int power = (int)floor(low); power <= (int)ceil(high); power++)
        for (int i = 0; i < (high - low > 4 ? 1 : 3); i++) {
            const double value = steps[i] * pow(10, power);
            if (log10(value) >= low && log10(value) <= high)
                draw_tick(c, value, is_x);
        }
}

static void draw_axes(const canvas *c)
{
    draw_ticks(c, c->x_low, c->x_high, true);
    draw_ticks(c, c->y_low, c->y_high, false);
    fprintf(c->file,
            "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">operations executed a byte that has "
            "to move (operational intensity)</text>\n",
            (LEFT + RIGHT) / 2, HEIGHT - 18);
    fprintf(c->file,
            "<text class=\"soft\" transform=\"translate(22,%.1f) rotate(-90)\" text-anchor=\"middle\">GFLOP/s "
            "executed</text>\n",
            (TOP + BOTTOM) / 2);
}

// The name of a slanted roof, along it, above or below; it begins near the line's lower end.
static void name_slope(canvas *c, double x0, double y0, double x1, double y1, bool is_above, const char *name)
{
    const double length = hypot(x1 - x0, y1 - y0), dx = (x1 - x0) / length, dy = (y1 - y0) / length;
    const double begin = 12, away = is_above ? 6 : -18, wide = LETTER * (double)strlen(name);
    const double tx = x0 + begin * dx + away * dy, ty = y0 + begin * dy - away * dx;
    fprintf(c->file, "<text class=\"label\" transform=\"translate(%.1f,%.1f) rotate(%.2f)\">", tx, ty,
            atan2(dy, dx) * 180 / acos(-1));
    write_text(c->file, name);
    fputs("</text>\n", c->file);
    for (double at = 0; at < wide; at += 6) {
        const double x = tx + at * dx, y = ty + at * dy;
        keep_clear(c, (box){x - 4, y - 12, x + 6, y + 4});
    }
}

static void draw_slope(canvas *c, double bandwidth, bool is_lower, const char *name)
{
    const double left = fmax(pow(10, c->x_low), pow(10, c->y_low) / bandwidth), ridge = c->r->fma_gflops / bandwidth;
    const double x0 = at_x(c, left), y0 = at_y(c, left * bandwidth), x1 = at_x(c, ridge),
                 y1 = at_y(c, c->r->fma_gflops);
    if (ridge <= left)
        return;
    fprintf(c->file, "<path class=\"roof%s\" d=\"M%.1f,%.1fL%.1f,%.1f", is_lower ? " lower" : "", x0, y0, x1, y1);
    if (!is_lower)
        fprintf(c->file, "H%.1f", RIGHT);
    fputs("\"/>\n", c->file);
    const double length = hypot(x1 - x0, y1 - y0);
    for (double at = 0; at < length; at += 5) { // labels do not cross the lines either
        const double x = x0 + (x1 - x0) * at / length, y = y0 + (y1 - y0) * at / length;
        keep_clear(c, (box){x - 3, y - 3, x + 3, y + 3});
    }
    name_slope(c, x0, y0, x1, y1, !is_lower, name);
}

static void draw_roofs(canvas *c)
{
    char name[64];
    const double y = at_y(c, c->r->fma_gflops);
    for (int i = 0; i < c->r->roof_count; i++)
        draw_slope(c, c->r->roofs[i].gbytes_per_s, i > 0, c->r->roofs[i].name);
    snprintf(name, sizeof name, "multiply-adds: %.0f GFLOP/s", c->r->fma_gflops);
    fprintf(c->file, "<text class=\"label\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", RIGHT - 6, y - 7,
            name);
    keep_clear(c, (box){RIGHT - 6 - LETTER * (double)strlen(name), y - 20, RIGHT, y + 3});
    keep_clear(c, (box){at_x(c, c->r->fma_gflops / c->r->roofs[0].gbytes_per_s), y - 3, RIGHT, y + 3});
}

// ---- points, labels, legend ----

static void draw_point(canvas *c, const bench_roofline_point *p)
{
    char median[32];
    const double x = at_x(c, p->intensity), y = at_y(c, p->gflops);
    bench_format_ns(p->median_ns, median, sizeof median);
    fprintf(c->file, "<g class=\"p s%d\" transform=\"translate(%.1f,%.1f)\"><title>", style_of(c, p->series), x, y);
    write_text(c->file, p->text);
    fputc('\n', c->file);
    write_text(c->file, p->variant);
    fprintf(c->file, "%s%s, %.4g GFLOP/s executed, %.3g operations a byte", p->variant[0] ? ": " : "", median,
            p->gflops, p->intensity);
    if (!isnan(p->percent))
        fprintf(c->file, ", %.0f%% of the peak", p->percent);
    fprintf(c->file, "</title><circle class=\"hit\" r=\"10\"/><path d=\"%s\"/></g>\n", shapes[style_of(c, p->series)]);
    keep_clear(c, (box){x - 7, y - 7, x + 7, y + 7});
}

// The case without what hardly tells it from others, cut at a word.
static void short_text(const bench_roofline_point *p, char text[LABEL_TEXT])
{
    char copy[BENCH_CASE_TEXT], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", p->text);
    text[0] = '\0';
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (!strncmp(word, "packed=", 7) || !strncmp(word, "pad=", 4))
            continue;
        if (strlen(text) + strlen(word) + 2 > LABEL_TEXT)
            return;
        bench_append(text, LABEL_TEXT, "%s%s", text[0] ? " " : "", word);
    }
}

// The line from a point to its label; near the point other points may be in its way.
static bool lead_is_clear(const canvas *c, double x0, double y0, double x1, double y1)
{
    const double length = hypot(x1 - x0, y1 - y0);
    for (double at = 11; at < length; at += 3) {
        const double x = x0 + (x1 - x0) * at / length, y = y0 + (y1 - y0) * at / length;
        if (!is_clear(c, (box){x - 1, y - 1, x + 1, y + 1}))
            return false;
    }
    return true;
}

// To the right, to the left, above and below, ever further away; nowhere rather than over something else.
static void draw_label(canvas *c, const bench_roofline_point *p)
{
    static const double directions[][2] = {{1, 0},      {-1, 0},     {0.8, -0.6},  {0.8, 0.6},   {-0.8, -0.6},
                                           {-0.8, 0.6}, {0.3, 0.95}, {-0.3, 0.95}, {0.3, -0.95}, {-0.3, -0.95}};
    char text[LABEL_TEXT];
    short_text(p, text);
    const double x = at_x(c, p->intensity), y = at_y(c, p->gflops), wide = LETTER * (double)strlen(text);
    for (double away = 11; away < 130; away += 8)
        for (size_t i = 0; i < sizeof directions / sizeof *directions; i++) {
            const double ex = x + away * directions[i][0], ey = y + away * directions[i][1];
            const bool to_left = directions[i][0] < 0;
            const box b = {to_left ? ex - wide : ex, ey - 8, to_left ? ex : ex + wide, ey + 7};
            if (!is_clear(c, b) || !lead_is_clear(c, x, y, ex, ey))
                continue;
            if (away > 14)
                fprintf(c->file, "<path class=\"lead\" d=\"M%.1f,%.1fL%.1f,%.1f\"/>", x + 7 * directions[i][0],
                        y + 7 * directions[i][1], ex - (to_left ? -2 : 2), ey);
            static const char *const classes[] = {"halo", "label"}; // the first keeps the grid away
            for (int k = 0; k < 2; k++) {
                fprintf(c->file, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", classes[k], ex, ey + 4,
                        to_left ? "end" : "start");
                write_text(c->file, text);
                fputs("</text>\n", c->file);
            }
            keep_clear(c, b);
            return;
        }
}

// What makes a point worth a label: each picks the point where it is largest.
static double by_rate(const bench_roofline_point *p)
{
    return p->gflops;
}
static double by_slowness(const bench_roofline_point *p)
{
    return -p->gflops;
}
static double by_intensity(const bench_roofline_point *p)
{
    return p->intensity;
}
static double by_lightness(const bench_roofline_point *p)
{
    return -p->intensity;
}
static double by_percent(const bench_roofline_point *p)
{
    return isnan(p->percent) ? -1 : p->percent;
}
static double by_waste(const bench_roofline_point *p)
{
    return isnan(p->percent) ? -1e9 : -p->percent;
}

static void draw_labels(canvas *c)
{
    static double (*const extremes[])(const bench_roofline_point *) = {
        by_rate, by_waste, by_slowness, by_waste, by_percent, by_intensity, by_lightness, by_waste};
    bool *labelled = calloc(c->r->count, sizeof *labelled);
    for (size_t i = 0; labelled && i < sizeof extremes / sizeof *extremes; i++) {
        size_t best = 0, taken = 0;
        for (size_t k = 0; k < c->r->count; k++) {
            taken += labelled[k];
            if (labelled[best] || (!labelled[k] && extremes[i](&c->r->points[k]) > extremes[i](&c->r->points[best])))
                best = k;
        }
        if (labelled[best] || taken == c->r->count)
            continue;
        labelled[best] = true;
        draw_label(c, &c->r->points[best]);
    }
    free(labelled);
}

// As many rows as it takes, the last one above the plot, from top on; how many those are. draw: or only count.
static int put_legend(const canvas *c, double top, bool draw)
{
    double x = LEFT;
    int row = 0;
    for (int series = 0; series <= BENCH_OP_COUNT; series++) {
        char text[64];
        size_t count = 0;
        for (size_t i = 0; i < c->r->count; i++)
            count += c->r->points[i].series == series;
        if (!count)
            continue;
        snprintf(text, sizeof text, "%s (%zu)",
                 series < BENCH_OP_COUNT ? bench_op_text((bench_op_kind)series) : "other", count);
        const double wide = 40 + 7.2 * (double)strlen(text);
        if (x > LEFT && x + wide > WIDTH) {
            x = LEFT;
            row++;
        }
        const double y = top + LEGEND_ROW * row;
        if (draw) {
            fprintf(c->file, "<g class=\"k s%d\" transform=\"translate(%.1f,%.1f)\"><path d=\"%s\"/></g>",
                    style_of(c, series), x + 7, y, shapes[style_of(c, series)]);
            fprintf(c->file, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x + 19, y + 4, text);
        }
        x += wide;
    }
    return row + 1;
}

void bench_roofline_draw(const bench_roofline *roofline, FILE *file)
{
    canvas c = {.file = file, .r = roofline};
    find_range(&c);
    // A legend of several rows moves what is above it further up, and the picture's edge with it.
    const double edge = LEGEND_ROW * (1 - put_legend(&c, 0, false));
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 %.0f %.0f %.0f\" role=\"img\" "
            "aria-labelledby=\"%s\">\n<title id=\"%s\">Roofline of ",
            edge, WIDTH, HEIGHT - edge, roofline->id, roofline->id);
    write_text(file, roofline->title);
    fputs("</title>\n", file);
    fputs(style, file);
    fprintf(file, "<rect class=\"page\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\"/>\n", edge, WIDTH, HEIGHT - edge);
    fprintf(file, "<text class=\"title\" x=\"%.0f\" y=\"%.0f\">", LEFT, edge + 36);
    write_text(file, roofline->title);
    fprintf(file, "</text>\n<text class=\"soft\" x=\"%.0f\" y=\"%.0f\">", LEFT, edge + 58);
    write_text(file, roofline->subtitle);
    fputs("</text>\n", file);
    draw_axes(&c);
    draw_roofs(&c);
    for (size_t i = 0; i < roofline->count; i++)
        draw_point(&c, &roofline->points[i]);
    draw_labels(&c);
    put_legend(&c, edge + 88, true);
    fputs("</svg>\n", file);
}
