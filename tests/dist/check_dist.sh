#!/bin/sh
# SPDX-License-Identifier: MIT
# check_dist.sh MPIEXEC RANKS STAGES REFUSALS LAYER EXAMPLE WHICH: runs of tests/dist/ranks.c, stages.c and refusals.c,
# and of examples/train_distributed.c. WHICH: alike, scaled, pruned, drift, refused, calls, example, stages, four,
# failures, rules, lost, overlap, pipeline.
set -eu
LC_ALL=C
export LC_ALL
mpiexec=$1
ranks=$2
stages=$3
refusals=$4
layer=$5
example=$6
which=$7
program=$ranks
if [ "$mpiexec" = - ]; then
    echo "MPI was not found when this was configured (Debian: openmpi-bin libopenmpi-dev)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Ranks beside each other on few cores, by whatever user: Open MPI 4, and 5 (PRRTE).
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none
export POCL_MAX_PTHREAD_COUNT=1 POCL_CPU_MAX_CU_COUNT=1

checkpoint=""
# What is said of a rank that is killed; MPICH's launcher names its process. Open MPI's calls itself OpenRTE and gives
# www.open-mpi.org.
killed='rank 1 with PID .* exited on signal 9'
"$mpiexec" --version | grep -qi 'open.mpi' || killed='PID .* RUNNING AT'

run() { # run COUNT WHAT OUTPUT: the losses go to OUTPUT, what the ranks say of errors to OUTPUT.errors
    "$mpiexec" -n "$1" "$program" "$2" $checkpoint > "$3" 2> "$3.errors" || return $?
}

succeed() {
    if ! run "$@"; then
        cat "$3" "$3.errors"
        echo "$1 ranks, $2: it failed"
        exit 1
    fi
    grep -v '^parts' "$3" > "$3.losses"
    [ "$(wc -l < "$3.losses")" -ge 3 ] || { echo "$1 ranks, $2: losses are missing"; exit 1; }
}

# Losses agree within 1e-5; and they fall, or there would be nothing to agree about.
agree() { # agree ONE MANY
    paste -d ' ' "$1.losses" "$2.losses" | awk -v what="$2" '
        { d = $2 - $5; d = d < 0 ? -d : d; if (d / $2 > worst) worst = d / $2; if (NR == 1) first = $2; last = $2 }
        END {
            printf "%s: %d losses, from %g to %g, differ by %.2g at most\n", what, NR, first, last, worst
            exit !(NR >= 6 && worst <= 1e-5 && last < 0.9 * first)
        }'
}

same() { # the same bits
    cmp "$1.losses" "$2.losses" || { echo "two runs differ"; exit 1; }
}

# fail COUNT WHAT SECONDS TEXT...: within that time, and all the texts are said
fail() {
    count=$1
    what=$2
    limit=$3
    shift 3
    begin=$(date +%s%N)
    code=0
    run "$count" "$what" "$work/$what" || code=$?
    took=$((($(date +%s%N) - begin) / 1000000))
    if [ "$code" -eq 0 ] || [ "$took" -gt $((limit * 1000)) ]; then
        cat "$work/$what.errors"
        echo "$what: exit status $code after $took ms, at most $limit s are allowed"
        exit 1
    fi
    cat "$work/$what" >> "$work/$what.errors" # where MPICH's launcher speaks
    for text in "$@"; do
        if ! grep -q "$text" "$work/$what.errors"; then
            cat "$work/$what.errors"
            echo "$what: nobody said: $text"
            exit 1
        fi
    done
    echo "$what: ended after $took ms: $(grep -m 1 "$1" "$work/$what.errors")"
}

cd "$work"
case "$which" in
alike) # one rank with the whole batch, two with the halves
    succeed 1 train one
    succeed 2 train two
    agree one two
    succeed 2 train again
    same two again
    ;;
scaled) # by powers of two, which change no bit of f32; by rank 0's, whatever the others'
    succeed 2 train two
    succeed 2 scale scaled
    same two scaled
    fail 2 unscaled 20 "rank 1: husk_parallel_create: this rank's graph has no loss scale, rank 0's has one" \
        'rank 0: .*rank 1 (.*graph has no loss scale'
    ;;
pruned) # a run that ends after three steps and goes on from rank 0's checkpoint, which rank 0 alone loads
    succeed 2 pruned whole
    checkpoint=$work/checkpoint
    succeed 2 pruned_part part
    succeed 2 pruned rest
    checkpoint=""
    grep -q '^fc2.weight of rank 1: ' whole || { echo "rank 1 has said nothing"; exit 1; }
    if [ "$(grep -c '^loss of rank' rest)" -ne 6 ]; then
        echo "what goes on has not three steps of two ranks"
        exit 1
    fi
    tail -n "$(wc -l < rest.losses)" whole.losses > whole_rest.losses
    same whole_rest rest
    # Rank 0's masks in all ranks, or none.
    succeed 1 masks one
    succeed 2 masks two
    agree one two
    succeed 2 train dense
    succeed 2 others_masks others
    same dense others
    fail 2 prunes 20 'rank 0: husk_parallel_settle: rank 1 (.*) has other masks of pruning than rank 0'
    ;;
drift) # with .mixed: the second rank's last bits differ, or its masks, until the first one's are everybody's
    for what in drift prunes_mixed; do
        succeed 2 "$what" "$what"
        sort -u "$what" | awk '
            /^before of rank/ && !($NF in before) { before[$NF] = 1; apart++ }
            /^after of rank/ && !($NF in after) { after[$NF] = 1; ends++ }
            /^before of rank 0/ { first = $NF }
            END { exit !(apart == 2 && ends == 1 && first in after) }' || { cat "$what"; exit 1; }
    done
    ;;
refused)
    fail 2 clips 20 'rank 0: husk_parallel_create: rank 1 (.*) updates by "grad_norm grid:64[a-z ]*, .* by "grad_norm '
    fail 2 clips_cold 20 'rank 0: husk_parallel_settle: rank 1 (.*) updates by "grad_norm grid:64[a-z ]*, '
    succeed 2 clips_mixed clips_mixed
    fail 2 names 20 'rank 1: husk_parallel_create: .*parameters of other names'
    fail 2 silence 20 'rank 0: husk_dist_create: rank 1 (.*: params: silence_ms: at least 100'
    fail 2 size 20 'rank 0: husk_dist_create: rank 1 (.*: params: size is 1, not '
    fail 2 parts 20 'rank 1: husk_parallel_create: params: part_bytes' 'rank 0: .*rank 1 (.*params: part_bytes'
    fail 2 buckets 20 'rank 0: husk_parallel_create: .*cut into [0-9]* buckets, those of rank 0 .* (bucket_bytes)'
    ;;
calls) # that change nothing
    program=$refusals
    run 2 calls calls || { cat calls.errors; exit 1; }
    fail 2 dist_size 20 'rank 0: husk_dist_create: rank 0 (.*: params: size is 1, not '
    fail 2 absent 20 'rank 0: husk_dist_create: not all ranks have come to it for 1.0 s (patience_ms)'
    fail 2 absent_memory 20 'rank 0: husk_dist_create: not all ranks have come to it for 1.0 s (patience_ms)'
    fail 2 no_thread 20 'rank 0: husk_dist_create: no thread could be started' 'receives: 3, cancelled: 3'
    # By its program or, where the run is ended before that can speak, by the library.
    fail 2 parallel_memory 20 'rank 0.*: rank 1 (.*: host memory does not suffice'
    fail 2 pipeline_memory 20 'rank 0.*: rank 1 (.*: host memory does not suffice'
    ;;
rules) # said by whichever rank is first
    program=$refusals
    fail 2 part_bytes 20 'husk_parallel_create: params: part_bytes: 4096 to 2^30'
    fail 2 parallel_size 20 'husk_parallel_create: params: size is 1, not '
    fail 2 gradients 20 'husk_parallel_create: graph: it has no gradients: it has to be compiled with a loss'
    p='husk_pipeline_create: '
    fail 2 pipeline_size 20 "${p}params: size is 1, not "
    fail 2 no_micro_batch 20 "${p}params: micro_batches: 0; 1 to 512"
    fail 2 many_micro_batches 20 "${p}params: micro_batches: 513; 1 to 512"
    fail 2 nine_links 20 "${p}params: previous: 9 links; at most 8"
    fail 2 no_links 20 "${p}params: next: it is NULL"
    fail 2 nameless 20 "${p}params: previous: link 0: .*name: it is NULL"
    fail 2 unknown 20 "${p}params: next: link 0: .*there is no value z"
    fail 2 no_gradient 20 "${p}params: previous: link 0: .*there is no value dz"
    fail 2 other_shape 20 "${p}params: next: y and dy have different shapes"
    fail 2 other_dtype 20 "${p}params: previous: codes is i32, dx is f32"
    fail 2 unknown_loss 20 "${p}params: loss: .*there is no value nothing"
    fail 2 loss_of_many 20 "${p}params: loss: y is no number"
    fail 2 first_stage 20 "${p}rank 0 (.*) is the first stage, and wants something from one before"
    fail 1 last_stage 20 "${p}rank 0 (.*) is the last stage, and has something for one behind"
    fail 2 no_loss 20 "${p}rank 1 (.*) is the last stage, and names no loss"
    fail 2 early_loss 20 "${p}rank 0 (.*) names a loss, and is not the last stage"
    fail 2 one_link 20 "${p}rank 0 (.*) has 0 links to rank 1 (.*), which wants 1"
    fail 2 other_micro_batches 20 "${p}rank 1 (.*) has another number of micro-batches than rank 0"
    ;;
example)
    [ "$example" != - ] || exit 77
    # MPI's plugins are gone when leaks are looked for, so that theirs have no name (tests/dist/keep_plugins.c).
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
    "$mpiexec" -n 1 "$example" # each has to know what it sets itself, 97 in a hundred
    "$mpiexec" -n 4 "$example"
    "$mpiexec" -n 2 "$example" "$work/digits"
    [ -s "$work/digits" ]
    # What is asked goes on from there; the last of those batches has no image for some of eight ranks.
    "$mpiexec" -n 8 "$example" "$work/digits" | tee eight
    grep -q '^3[0-9]* of 359 images are known' eight
    if "$mpiexec" -n 3 "$example" 2> three; then exit 1; fi
    grep '^rank 0: 3 ranks do not divide a batch of 32' three
    ;;
four)
    succeed 1 train one
    succeed 4 train four
    agree one four
    succeed 4 train again
    same four again
    succeed 1 accumulate one_accumulate
    succeed 4 accumulate four_accumulate
    agree one_accumulate four_accumulate
    succeed 3 statistics statistics
    ;;
failures)
    HUSK_TEST_VERSION=1
    export HUSK_TEST_VERSION
    fail 2 train 20 'rank 0: husk_dist_create: rank 1 (.*) has version 0.0.7 of the library, rank 0 (.*) has '
    unset HUSK_TEST_VERSION
    HUSK_TEST_DRIVER=1
    export HUSK_TEST_DRIVER
    fail 2 train 20 'rank 0: husk_parallel_create: rank 1 (.*) has driver "0.7", rank 0 (.*) ".*" (params.mixed'
    succeed 2 mixed mixed
    unset HUSK_TEST_DRIVER
    fail 2 shapes 20 'rank 1: husk_parallel_create: .*other shapes'
    fail 2 finite 20 'rank 1: .*the first tensor with NaN or infinity is the input x' 'rank 0: .*rank 1 (.*the input x'
    fail 2 fail 20 'rank 0: .*rank 1 (.*the data is gone' 'rank 1: .*the data is gone' \
        'rank 0: [1-9][0-9]* parts are on their way'
    fail 2 counts 20 'rank 0: husk_dist_sum: ' # by either rank, whichever is first
    if grep 'values that are not there' counts.errors; then
        echo "counts: other numbers of values were summed"
        exit 1
    fi
    fail 2 nothing 20 'rank 1: husk_dist_broadcast: rank 0 (.*) has come with 0 bytes, this rank with 8'
    if grep 'values that are not there' nothing.errors; then
        echo "nothing: other numbers of bytes were given"
        exit 1
    fi
    fail 2 longer 20 'rank 1: husk_dist_broadcast: .*rank 0 (.*) has come with more than the 8 bytes of this rank'
    fail 2 differ 20 'rank 0: husk_parallel_settle: rank 1 (.*has other parameters'
    fail 2 leave 20 'rank 0: .*rank 1 (.*has come to husk_dist_release, and is still needed'
    fail 2 late 20 'rank 0: .*rank 1 (.*has not come to it for 1.0 s'
    fail 2 linger 30 'ends the run: .*rank 1 (.*has not come to husk_dist_release for 5.0 s'
    if OPENCL_LAYERS=$layer HUSK_TEST_FAULTS='fail=-5 clCreateBuffer' "$ranks" layers > /dev/null 2>&1; then
        echo "(this OpenCL loader has no layers: no call fails)"
    else
        export OPENCL_LAYERS="$layer"
        refused='husk_optimizer.*the device refuses the launch: clEnqueueNDRangeKernel answered CL_OUT_OF_RESOURCES'
        fail 2 kernel 20 "rank 1: .*$refused" "rank 0: .*rank 1 (.*$refused"
        fail 2 no_masks 20 'rank 1: .*husk_graph_set_mask: .*CL_OUT_OF_RESOURCES' \
            'rank 0: .*rank 1 (.*husk_graph_set_mask: .*clEnqueueCopyBuffer'
        fail 2 read 20 'rank 1: .*CL_OUT_OF_RESOURCES' 'rank 0: .*rank 1 (.*clEnqueueReadBuffer'
    fi
    ;;
lost) # a rank that dies, and one that only stops: its silence is noticed by the others, not by mpiexec
    succeed 2 train whole
    checkpoint=$work/checkpoint
    fail 2 kill 10 "$killed"
    succeed 2 train rest
    tail -n "$(wc -l < rest.losses)" whole.losses > whole_rest.losses
    same whole_rest rest
    checkpoint=""
    fail 4 kill 10 "$killed"
    if [ "${killed#rank}" != "$killed" ]; then # not noticed by mpirun, which then ends well
        begin=$(date +%s)
        OMPI_MCA_orte_enable_recovery=1 run 4 kill unnoticed || true
        grep -m 1 'rank 1 (.*has not been heard from' unnoticed.errors
        [ $(($(date +%s) - begin)) -le 10 ] || { echo "it took more than 10 s"; exit 1; }
    fi
    fail 4 stop 10 'rank 1 (.*has not been heard from'
    ;;
stages) # the whole network in one rank, and its halves in two
    program=$stages
    succeed 1 train one
    succeed 2 train two
    agree one two
    same one two
    succeed 2 train again
    same two again
    succeed 2 turned turned
    same two turned
    fail 2 view 20 'rank 0: husk_pipeline_create: params: next: past.view is not packed: husk_graph_copy makes it so'
    ;;
pipeline)
    program=$stages
    succeed 1 train one
    succeed 3 train three
    agree one three
    same one three
    succeed 4 train four
    agree one four
    same one four
    succeed 4 train again
    same four again
    fail 2 link 20 'rank 0: husk_pipeline_create: .*link 0: .* gives f32 \[4, 64\], rank 1 (.* wants f32 \[4, 32\]'
    fail 3 depth 20 'rank 1: .*micro_batches has to be 2 in this stage' 'rank 0: .*rank 1 (.*has to be 2 in this'
    fail 2 load 20 'rank 0: .*rank 1 (.*load has failed at micro-batch 2: .*there is no value nothing'
    fail 2 load_else 20 \
        "rank 1 (.*load has failed at micro-batch 2: a file could not be read or written; the graph's last failure"
    fail 2 kill 10 "$killed"
    ;;
overlap) # gradients are on their way while backward goes on
    succeed 2 overlap overlap
    grep '^parts' overlap
    awk '/^parts/ { sub(/%/, "", $NF); exit !($NF >= 20) }' overlap
    ;;
*)
    echo "unknown: $which"
    exit 2
    ;;
esac
