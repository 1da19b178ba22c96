#!/bin/sh
# SPDX-License-Identifier: MIT
# workflow.sh CLBENCH github|gitlab: the CI job that `clbench init-ci` writes, step by step in a fresh Debian 12
# (tests/platforms/root.sh), for a project that has the kernels of examples/kernels and Husk in a folder husk. Every
# step has to end well and leave the files that the job keeps. Then one kernel is damaged, and the step that verifies
# has to fail, with an annotation where that is GitHub's way.
#
# Exit 77: this machine makes no root.
set -eu
[ $# -ge 2 ] || { sed -n '3,6s/^# //p' "$0" >&2; exit 2; }
clbench=$1 system=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
home=$root/build/platforms/workflow # what root.sh keeps there is its business, but build/ is that root's build/

rm -rf --one-file-system "$home"
project=$home/build/project
mkdir -p "$project/husk"
cp -R "$root/examples/kernels" "$project/kernels"
(cd "$root" && tar --exclude=./build --exclude=./.git -cf - .) | tar -C "$project/husk" -xf -
(cd "$project" && "$clbench" init-ci "$system" kernels/kernels.txt)

# The commands of a step, one step a file, in the order of the job.
case "$system" in
github) file=$project/.github/workflows/verify-kernels.yml ;;
*) file=$project/.gitlab-ci.yml ;;
esac
awk -v folder="$project" '
    function indent(line) { match(line, /^ */); return RLENGTH }
    /^ *run: \|$/ { step++; depth = indent($0); next }
    step && depth && NF && indent($0) > depth {
        print substr($0, depth + 3) > sprintf("%s/step%02d", folder, step); next
    }
    { depth = 0 }
    /^ *(before_)?script:$/ { listed = indent($0) + 1; next }
    listed && indent($0) >= listed && /^ *- / {
        sub(/^ *- /, ""); step++
        printf "%s", $0 > sprintf("%s/step%02d", folder, step); next
    }
    listed && indent($0) > listed { sub(/^ */, " "); printf "%s", $0 > sprintf("%s/step%02d", folder, step); next }
    { listed = 0 }' "$file"
ls "$project"/step* > /dev/null # there are some

cat > "$project/run_steps" <<'STEPS'
set -eu
export DEBIAN_FRONTEND=noninteractive
cd "$1"
for step in step*; do
    echo "== $step"
    cat "$step"
    echo
    sh -e "$step"
done
for file in kernels.xml kernels.json offline.xml measured.json measured.html; do
    [ -s "$file" ] || { echo "FAILED: there is no $file"; exit 1; }
done
grep -q '<testcase' kernels.xml
if grep '<failure\|<error' kernels.xml; then echo 'FAILED: a right kernel is wrong'; exit 1; fi
# A row that is wrong turns the job red.
sed -i 's/if (i < n)/if (i < n - 1)/; s/a \* x/a + x/' kernels/map.cl
verify=$(grep -l -- '--require' step*)
code=0
sh -e "$verify" > red 2>&1 || code=$?
[ "$code" = 3 ] || { cat red; echo "FAILED: a damaged kernel ended with $code"; exit 1; }
grep -q '<failure' kernels.xml
if [ "$2" = github ]; then
    grep -q '^::error file=kernels/kernels.txt,line=' red || { cat red; echo "FAILED: no annotation"; exit 1; }
fi
echo "the job is green, and red where it has to be"
STEPS
cd "$root" # where the steps begin, as root.sh has it
exec "$root/tests/platforms/root.sh" "$root" workflow sh "$root/build/project/run_steps" "$root/build/project" "$system"
