// SPDX-License-Identifier: MIT
#include "worker/machine.h"

json_t *bench_machine_json(const husk_machine *m)
{
    const husk_machine_rates *r = &m->rates;
    return json_pack("{s:s, s:i, s:i, s:i, s:I, s:I, s:I, s:i, s:i, s:b, s:{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}}",
                     "isa", husk_isa_name(m->isa), "vector_width", (int)m->vector_width, "registers", (int)m->registers,
                     "cores", (int)m->cores, "l1", (json_int_t)m->l1, "l2", (json_int_t)m->l2, "l3", (json_int_t)m->l3,
                     "l3_cores", (int)m->l3_cores, "cache_line", (int)m->cache_line, "measured", m->is_measured,
                     "rates", "clock_ghz", r->clock_ghz, "fma_per_cycle", r->fma_per_cycle, "l2_rate", r->l2_rate,
                     "l3_rate", r->l3_rate, "memory_rate", r->memory_rate, "memory_rate_all", r->memory_rate_all,
                     "launch_ns", r->launch_ns, "wake_ns", r->wake_ns);
}

json_t *bench_machine_calibrate(husk_context *context, char reason[BENCH_REASON_TEXT])
{
    husk_machine machine;
    husk_error error = {0};
    const husk_status status = husk_context_calibrate(context, &machine, &error);
    if (status != HUSK_OK)
        bench_explain(reason, BENCH_REASON_TEXT, "%.900s", error.text);
    return status == HUSK_OK || status == HUSK_IO ? bench_machine_json(&machine) : NULL;
}
