// SPDX-License-Identifier: MIT
// Augmentation is done here, on the host: every element of a batch passes through here once anyway, each image has a
// shift of its own, and what is gathered is the same on every device.
#include "train/data/gather.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/data/order.h"

enum { BYTES = 256 };

// ---- params ----

static husk_status check(const husk__column *inputs, const husk_feed_params *params, const husk__source *source)
{
    const bool is_number = inputs->given == HUSK_F32;
    const char *rule = NULL;
    if (params->channels < 0)
        rule = "channels: it is negative";
    else if (!is_number && (params->channels || params->scale != 0 || params->flip || params->shift))
        rule = "scale, channels, flip, shift: the dataset's inputs are ids and not numbers";
    else if ((params->mean || params->deviation) && params->channels == 0)
        rule = "channels: it is 0, and there is a mean or a deviation";
    else if (params->channels && inputs->elements % params->channels != 0)
        rule = "channels: they do not divide the numbers of an example";
    else if ((params->flip || params->shift) && inputs->rank < 2)
        rule = "flip, shift: examples are no images, which have two dimensions or more";
    else if ((params->flip || params->shift) && params->channels > 1 &&
             inputs->elements / params->channels %
                     (inputs->shape[inputs->rank - 2] * inputs->shape[inputs->rank - 1] + (inputs->elements == 0)) !=
                 0)
        rule = "channels: an image, the last two dimensions, is of one channel";
    else if (params->shift < 0 || params->shift > (1 << 20))
        rule = "shift: it is 0 to 2^20";
    for (int32_t c = 0; !rule && params->deviation && c < params->channels; ++c)
        if (!(fabsf(params->deviation[c]) > 0))
            rule = "deviation: it is 0 or NaN";
    return rule ? husk__source_fail(source, HUSK_INVALID_ARGUMENT, "params: %s", rule) : HUSK_OK;
}

static float normalise(const husk__gather *gather, int32_t channel, float number)
{
    return (number * gather->scale - gather->mean[channel]) / gather->deviation[channel];
}

static husk_status make_table(husk__gather *gather, const husk__source *source)
{
    gather->table = malloc((size_t)gather->channels * BYTES * sizeof *gather->table);
    if (!gather->table)
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the feed");
    for (int32_t c = 0; c < gather->channels; ++c)
        for (int byte = 0; byte < BYTES; ++byte)
            gather->table[c * BYTES + byte] =
                normalise(gather, c, (float)(gather->inputs->dtype == HUSK_I8 ? (int8_t)byte : byte));
    return HUSK_OK;
}

husk_status husk__gather_make(husk__gather *gather, const husk_dataset *dataset, const husk_feed_params *params,
                              const husk__source *source)
{
    *gather = (husk__gather){
        .inputs = husk__dataset_inputs(dataset),
        .channels = params->channels ? params->channels : 1,
        .scale = params->scale != 0 ? params->scale : 1,
        .flip = params->flip != 0,
        .shift = params->shift,
        .seed = params->seed,
    };
    husk_status status = check(gather->inputs, params, source);
    if (status)
        return status;
    gather->mean = calloc((size_t)gather->channels, sizeof *gather->mean);
    gather->deviation = calloc((size_t)gather->channels, sizeof *gather->deviation);
    if (!gather->mean || !gather->deviation)
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the feed");
    for (int32_t c = 0; c < gather->channels; ++c) {
        gather->mean[c] = params->mean ? params->mean[c] : 0;
        gather->deviation[c] = params->deviation ? params->deviation[c] : 1;
    }
    const bool is_bytes = gather->inputs->dtype == HUSK_U8 || gather->inputs->dtype == HUSK_I8;
    return is_bytes ? make_table(gather, source) : HUSK_OK;
}

void husk__gather_free(husk__gather *gather)
{
    free(gather->mean);
    free(gather->deviation);
    free(gather->table);
    gather->mean = gather->deviation = gather->table = NULL;
}

// ---- one example ----

// count numbers of one channel, from element on, each step elements after the last (1, or -1 to mirror).
static void read_run(const husk__gather *gather, int32_t channel, int64_t element, int64_t step, int64_t count,
                     float *to)
{
    if (gather->table) {
        const float *table = gather->table + channel * BYTES;
        const uint8_t *from = (const uint8_t *)gather->inputs->data + element;
        for (int64_t i = 0; i < count; ++i)
            to[i] = table[from[i * step]];
        return;
    }
    for (int64_t i = 0; i < count; ++i)
        to[i] = normalise(gather, channel, (float)husk__column_number(gather->inputs, element + i * step));
}

static void fill(float *to, int64_t count, float number)
{
    for (int64_t i = 0; i < count; ++i)
        to[i] = number;
}

// A row of an image, width numbers from element on, whose first is that of column `first` and may lie beside it.
static void read_row(const husk__gather *gather, int32_t channel, int64_t element, int64_t width, int64_t first,
                     bool mirrored, float *to)
{
    const int64_t before = first < 0 ? (-first < width ? -first : width) : 0;
    const int64_t past = first > 0 ? (first < width ? first : width) : 0, within = width - before - past;
    const float nothing = normalise(gather, channel, 0);
    fill(to, mirrored ? past : before, nothing);
    if (mirrored)
        read_run(gather, channel, element + width - 1 - before, -1, within, to + past);
    else
        read_run(gather, channel, element + past, 1, within, to + before);
    fill(to + (mirrored ? past : before) + within, mirrored ? before : past, nothing);
}

static void read_image(const husk__gather *gather, int64_t begin, bool mirrored, int64_t down, int64_t right, float *to)
{
    const husk__column *inputs = gather->inputs;
    const int64_t height = inputs->shape[inputs->rank - 2], width = inputs->shape[inputs->rank - 1];
    const int64_t rows = width ? inputs->elements / width : 0;
    for (int64_t row = 0; row < rows; ++row, to += width) {
        const int64_t y = row % height + down, plane = row / height;
        const int32_t channel = (int32_t)(row * width / (inputs->elements / gather->channels));
        if (y < 0 || y >= height)
            fill(to, width, normalise(gather, channel, 0));
        else
            read_row(gather, channel, begin + (plane * height + y) * width, width, right, mirrored, to);
    }
}

void husk__gather_example(const husk__gather *gather, int64_t example, uint64_t epoch, void *to)
{
    const husk__column *inputs = gather->inputs;
    const int64_t begin = inputs->first + example * inputs->step;
    if (inputs->given == HUSK_I32) {
        husk__column_read(inputs, example, to);
    } else if (gather->flip || gather->shift) {
        const int64_t choices = 2 * gather->shift + 1;
        const uint64_t index = (uint64_t)example;
        const bool mirrored = gather->flip && husk__draw(gather->seed, "husk_feed flip", epoch, index, 2) == 1;
        const int64_t down = husk__draw(gather->seed, "husk_feed down", epoch, index, choices) - gather->shift;
        const int64_t right = husk__draw(gather->seed, "husk_feed right", epoch, index, choices) - gather->shift;
        read_image(gather, begin, mirrored, down, right, to);
    } else {
        const int64_t part = inputs->elements / gather->channels;
        for (int32_t c = 0; c < gather->channels; ++c)
            read_run(gather, c, begin + c * part, 1, part, (float *)to + c * part);
    }
}
