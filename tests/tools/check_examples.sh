#!/bin/sh
# SPDX-License-Identifier: MIT
# check_examples.sh WHICH MODE PROGRAM: the examples that train, with what they say and answer.
#
#   cifar10    short: a generated set for forty steps, and files in CIFAR-10's format, one of them cut off; whole: the
#              generated set as it is
#   sentiment  short: the packages of this machine, repeated ones, and a folder laid out as IMDb's; whole: three seeds
#   text       short: sixty steps on one licence; whole: as it is, twice, and the same is written
#
# Exit status 77 where the machine lacks the text.
set -u
which=$1
mode=$2
program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

complain() {
    echo "$1"
    status=1
}

# wants STATUS ARGUMENT...: the program ends with this status.
wants() {
    wanted=$1
    shift
    "$program" "$@" > "$work/out" 2> "$work/err"
    ended=$?
    cat "$work/out" "$work/err"
    [ $ended -eq "$wanted" ] || complain "$program $*: status $ended, not $wanted"
}

says() {
    grep -q -- "$1" "$work/out" "$work/err" || complain "it does not say: $1"
}

# What is no option, has no value or none that it takes is refused; no program goes by another one's arguments.
if [ "$mode" = short ]; then
    for wrong in "--step 3" "--steps" "--steps 3x" "--seed -1" "--seed 99999999999999999999"; do
        # shellcheck disable=SC2086 # an option and its value
        wants 2 $wrong
        says '--log FILE\|no whole number'
    done
fi

case "$which:$mode" in
cifar10:short)
    wants 0 --epochs 2 --steps 40 --log "$work/log"
    says 'a generated set, not CIFAR-10: 1600 images to learn, 500'
    says '^epoch 1: loss '
    [ "$(wc -l < "$work/log")" -eq 3 ] || complain "the log has not got two rows"
    # Black images, all of them of class 0.
    for file in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do
        head -c $((3073 * 16)) /dev/zero > "$work/$file.bin"
    done
    wants 0 --epochs 8 "$work"
    says "$work: 80 images to learn, 16 to be asked about"
    says 'of the others 100.00%'
    head -c 5000 /dev/zero > "$work/data_batch_3.bin"
    wants 2 "$work"
    says 'husk_cifar10_read: .*data_batch_3.bin'
    ;;
cifar10:whole)
    wants 0
    awk -F'others ' '/^epoch/ { split($2, part, "%"); last = part[1] } END { exit !(last >= 95) }' "$work/out" ||
        complain "it knows less than 95%"
    ;;
sentiment:short)
    for part in train test; do
        for label in pos neg; do
            mkdir -p "$work/imdb/$part/$label"
            number=0
            while [ $number -lt 160 ]; do
                case $label in
                pos) words="great lovely fine moving" ;;
                neg) words="awful dull bad boring" ;;
                esac
                # shellcheck disable=SC2086 # words
                set -- $words
                shift $((number % 4))
                echo "I saw film number $number with my friends, a $1 one" > "$work/imdb/$part/$label/$number.txt"
                number=$((number + 1))
            done
        done
    done
    wants 0 "$work/imdb"
    says '320 texts to learn, 320 to be asked about'
    says '^good     precision 1.000, recall 1.000'
    wants 2 "$work"
    says 'husk_corpus_read_folder: '
    # 200 texts, each of them twice, with a word that no other has: what is asked was not learnt, nor its word known.
    awk 'BEGIN { for (i = 0; i < 400; i++)
        printf "Package: p%d\nSection: %s\nDescription: all of word%d\n\n", i, i % 2 ? "libs" : "doc", i % 200 }' \
        > "$work/packages"
    "$program" --steps 1 --packages "$work/packages" > "$work/out" 2> "$work/err"
    cat "$work/out" "$work/err"
    says '^160 texts to learn, 40 to be asked about, 164 words'
    [ -r /var/lib/dpkg/status ] || exit 77
    # Of how many it knows which: the packages of this machine decide, and of few not even that it learns.
    [ "$(grep -c '^Package:' /var/lib/dpkg/status)" -ge 1000 ] || exit 0
    wants 0 --steps 60
    says '^library  precision [01][.]'
    ;;
sentiment:whole)
    [ -r /var/lib/dpkg/status ] || exit 77
    for seed in 1 2 3; do
        wants 0 --seed $seed
    done
    ;;
text:short)
    text=/usr/share/common-licenses/GPL-3
    [ -r $text ] || exit 77
    wants 0 --steps 60 --write 100 --log "$work/log" $text
    says '^[0-9]* bytes, [0-9]* of them different'
    says '^perplexity of the rest: [0-9]'
    grep -q '^60 ' "$work/log" || complain "the log has no row of the last step"
    wants 2 "$work/nothing"
    says 'husk_text_read: .*nothing'
    ;;
text:whole)
    [ -r /usr/share/common-licenses/Artistic ] || exit 77
    wants 0
    awk '/^perplexity/ { last = $NF } END { exit !(last > 1 && last < 6) }' "$work/out" ||
        complain "the perplexity is 6 or more"
    cp "$work/out" "$work/first"
    wants 0
    cmp "$work/first" "$work/out" || complain "two runs of one seed are not the same"
    ;;
*) exit 2 ;;
esac
exit $status
