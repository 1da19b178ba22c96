// SPDX-License-Identifier: MIT
#include "cases/rnn/sequences.h"

#include "cases/rnn/shape.h"
#include "ref/random.h"
#include "ref/rnn/rnn.h"

int64_t bench_rnn_distinct(const bench_case *c)
{
    enum { MOST = 8 };
    const bench_rnn *r = &c->as.rnn;
    const int64_t fewest = r->lengths ? 4 : 2;
    const double cost = 2 * (double)r->t * bench_rnn_weight_count(r), most = 32.0 * HUSK_REF_COMPLETE_COST;
    if (!bench_rnn_is_backward(c) || cost * (double)r->b <= most || r->b <= fewest)
        return r->b;
    const int64_t some = cost * MOST <= most ? MOST : cost * (double)fewest >= most ? fewest : (int64_t)(most / cost);
    return some < r->b ? some : r->b;
}

uint64_t bench_rnn_sequences_seed(const bench_case *c)
{
    return bench_case_seed(c) + 1000;
}

int64_t bench_rnn_like(const bench_case *c, uint64_t seed, int64_t count, int64_t sequence)
{
    if (sequence < count)
        return sequence;
    const int64_t first = c->as.rnn.lengths ? 1 : 0;
    return first + (int64_t)(husk_ref_random_bits(seed + 1, (uint64_t)sequence) % (uint64_t)(count - first));
}

float bench_rnn_sign(int64_t count, int64_t sequence)
{
    return sequence >= count && sequence % 4 == 3 ? -1.0f : 1.0f;
}

void bench_rnn_repeat_rows(const bench_case *c, float *data, int64_t outer, int64_t width, bool is_signed)
{
    const int64_t b = c->as.rnn.b, count = bench_rnn_distinct(c);
    const uint64_t seed = bench_rnn_sequences_seed(c);
    for (int64_t sequence = count; data && sequence < b; sequence++) {
        const int64_t like = bench_rnn_like(c, seed, count, sequence);
        const float sign = is_signed ? bench_rnn_sign(count, sequence) : 1.0f;
        for (int64_t o = 0; o < outer; o++) {
            const float *from = data + (o * b + like) * width;
            float *to = data + (o * b + sequence) * width;
            for (int64_t i = 0; i < width; i++)
                to[i] = sign * from[i];
        }
    }
}

int64_t bench_rnn_length(const bench_case *c, uint64_t seed, int64_t count, int64_t sequence)
{
    const bench_rnn *r = &c->as.rnn;
    sequence = bench_rnn_like(c, seed, count, sequence);
    if (!r->lengths || sequence == 0 || r->t == 0)
        return r->t;
    if (count < r->b)
        return r->t / count * sequence + (r->t % count * sequence + count - 1) / count;
    return 1 + (int64_t)(husk_ref_random_bits(seed, (uint64_t)sequence) % (uint64_t)r->t);
}
