// SPDX-License-Identifier: MIT
#include "worker/tuning.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/text.h"

enum { MAX_CANDIDATES = 64 };

static void put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text);
    json_object_set_new(object, key, value ? value : json_string("(text that is not UTF-8)"));
}

static json_t *candidates_json(bench_husk_session *s, const husk_plan *plan, husk_error *error)
{
    husk_tuning_candidate candidates[MAX_CANDIDATES];
    size_t count = 0;
    json_t *list = json_array();
    if (husk_tuning_candidates(s->context, plan, candidates, MAX_CANDIDATES, &count, error) != HUSK_OK)
        return list;
    for (size_t i = 0; i < count && i < MAX_CANDIDATES; i++) {
        char form[128];
        snprintf(form, sizeof form, "%s:%s", candidates[i].variant, candidates[i].configuration);
        json_array_append_new(list, json_pack("{s:s, s:f, s:b}", "variant", form, "predicted_ns",
                                              candidates[i].predicted_ns, "foreign", candidates[i].is_foreign));
    }
    return list;
}

json_t *bench_tuning_json(bench_husk_session *s, char reason[BENCH_REASON_TEXT])
{
    husk_error error = {0};
    husk_tuning_key *key = calloc(1, sizeof *key);
    const husk_plan *plan = s->job ? bench_husk_plan(s->job) : NULL;
    json_t *reply = NULL;
    if (key && husk_tuning_key_get(s->context, plan, key, &error) == HUSK_OK) {
        reply = json_object();
        put_text(reply, "device", key->device);
        put_text(reply, "platform", key->platform);
        put_text(reply, "driver", key->driver);
        put_text(reply, "family", key->family);
        put_text(reply, "op", key->op);
        put_text(reply, "problem", key->problem);
        put_text(reply, "class", key->shape_class);
        put_text(reply, "kernels", key->kernels);
        put_text(reply, "path", key->path);
        put_text(reply, "predicted", key->variant);
        json_object_set_new(reply, "candidates", key->op[0] ? candidates_json(s, plan, &error) : json_array());
        put_text(reply, "answer", "ok");
    } else {
        bench_explain(reason, BENCH_REASON_TEXT, "%.900s", error.text);
    }
    free(key);
    return reply;
}

json_t *bench_kernels_json(const bench_husk_session *s, char reason[BENCH_REASON_TEXT])
{
    husk_error error = {0};
    husk_tuning_key *key = calloc(1, sizeof *key);
    json_t *reply = NULL;
    if (key && husk_tuning_key_get(s->context, NULL, key, &error) == HUSK_OK)
        reply = json_pack("{s:s, s:s}", "answer", "ok", "kernels", key->kernels);
    else
        bench_explain(reason, BENCH_REASON_TEXT, "%.900s", error.text);
    free(key);
    return reply;
}
