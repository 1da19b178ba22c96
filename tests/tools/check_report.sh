#!/bin/sh
# SPDX-License-Identifier: MIT
# check_report.sh CLBENCH FOLDER [RESULT.json...]: looks at a report with a browser, as wide as a desk's screen and as a
# telephone: nothing may be said on its console, nothing may be wider than the window (but what scrolls by itself), and
# no text may be cut off. The pictures go to FOLDER: desktop.png and phone.png. Without RESULT the report is of results
# that are kept in tests/bench/data. Without Chromium it says so and leaves with 77.
set -eu
clbench=$1
folder=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
kept=$root/tests/bench/data
[ $# -gt 0 ] || set -- "$kept/cpu_result.json" "$kept/old_form_result.json" "$kept/earlier_result.json"

browser=""
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v $name || true)
done
if [ -z "$browser" ]; then
    echo "there is no Chromium here to look at the report with (Debian: apt-get install chromium)"
    exit 77
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$clbench" report "$@" -o "$work/report.html"

# What the page says of itself once it is laid out: a line a fault on the console. What is in an element that scrolls
# (.r-wide) may be wider than the window; its frame may not.
cat > "$work/look.js" << 'END'
window.addEventListener('load', function () {
  var faults = [], width = document.documentElement.clientWidth;
  function name(e) {
    var kind = typeof e.className === 'string' && e.className ? '.' + e.className : '';
    return e.tagName.toLowerCase() + kind + ' "' + e.textContent.trim().slice(0, 50).replace(/\s+/g, ' ') + '"';
  }
  if (document.documentElement.scrollWidth > width)
    faults.push('the page is ' + document.documentElement.scrollWidth + ' wide in a window of ' + width);
  document.querySelectorAll('body *').forEach(function (e) {
    var box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (box.width === 0 || e.closest('svg') && e.tagName !== 'svg') return;
    if (!e.parentElement.closest('.r-wide') && (box.right > width + 1 || box.left < -1))
      faults.push(name(e) + ' reaches from ' + Math.round(box.left) + ' to ' + Math.round(box.right) + ' of ' + width);
    if (!/auto|scroll/.test(style.overflowX) && style.display !== 'inline' && e.clientWidth > 0 &&
        e.scrollWidth > e.clientWidth + 1)
      faults.push(name(e) + ': its text is ' + e.scrollWidth + ' wide and has room for ' + e.clientWidth);
  });
  document.querySelectorAll('svg').forEach(function (picture) {
    var frame = picture.getBoundingClientRect();
    picture.querySelectorAll('text').forEach(function (text) {
      var box = text.getBoundingClientRect();
      if (box.width > 0 && getComputedStyle(text).visibility === 'visible' && (box.left < frame.left - 1 ||
          box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1))
        faults.push('the picture cuts off "' + text.textContent.slice(0, 60) + '"');
    });
  });
  faults.slice(0, 20).forEach(function (fault) { console.log('FAULT ' + fault); });
  console.log('LOOKED at ' + document.querySelectorAll('body *').length + ' elements, ' + width + ' wide');
});
END
sed '/<\/body>/,$d' "$work/report.html" > "$work/page.html"
{
    echo '<script>'
    cat "$work/look.js"
    echo '</script></body></html>'
} >> "$work/page.html"

# A window is at least 500 wide, so the page is in a frame of the wanted width.
failures=0
look() { # look NAME WIDTH HEIGHT
    echo "<!DOCTYPE html><html><body style='margin:0'><iframe src='page.html'" \
        "style='border:0;width:$2px;height:$3px'></iframe></body></html>" > "$work/frame.html"
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$work/profile" --enable-logging=stderr --v=0 --virtual-time-budget=5000 \
        --window-size="$2,$3" --screenshot="$folder/$1.png" "file://$work/frame.html" > "$work/log.txt" 2>&1 ||
        failures=$((failures + 1))
    sed -n 's/.*:CONSOLE[^"]*"\(.*\)", source:.*/\1/p' "$work/log.txt" > "$work/console.txt"
    sed "s/^/$1: /" "$work/console.txt"
    if ! grep -q "^LOOKED at [0-9]* elements, $2 wide" "$work/console.txt"; then
        tail -n 5 "$work/log.txt"
        echo "$1: the browser did not lay out the page"
        failures=$((failures + 1))
    fi
    # Anything else on the console is an error of the page's own.
    if grep -qv '^LOOKED' "$work/console.txt" || [ ! -s "$folder/$1.png" ]; then failures=$((failures + 1)); fi
}
look desktop 1280 2400
look phone 390 2400
echo "pictures: $folder/desktop.png $folder/phone.png"
[ "$failures" = 0 ]
