// SPDX-License-Identifier: MIT
// What is the same in every report: how it looks, and how its tables are sorted.
#include "report/page.h"

// Names begin with r-, so that the picture's own style and this one leave each other alone.
static const char *const style[] = {
    ":root{--page:#fff;--ink:#1b1f24;--soft:#5b6570;--line:#dfe3e8;--card:#f6f7f9;--good:#00704f;--bad:#b3261e;",
    "--warn:#8a5a00;--bar:#0072b2;--bar2:#b8460b;--bar3:#8a6a00;--bar4:#a3399a}\n",
    "@media(prefers-color-scheme:dark){:root{--page:#14181d;--ink:#eceff3;--soft:#a4aeb9;--line:#333b44;",
    "--card:#1c2228;",
    "--good:#36cfa0;--bad:#ff8a80;--warn:#e8c53c;--bar:#5ab6f0;--bar2:#ff9455;--bar3:#e8c53c;--bar4:#ea8fdc}}\n",
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}",
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,",
    "'DejaVu Sans',sans-serif}main{max-width:1120px;margin:0 auto;padding:24px 20px 60px}",
    "h1{font-size:26px;line-height:1.25;margin:0 0 4px}h2{font-size:21px;margin:44px 0 8px;padding-top:16px;",
    "border-top:1px solid var(--line);overflow-wrap:anywhere}h3{font-size:17px;margin:28px 0 8px}p{margin:6px 0}",
    ".r-soft{color:var(--soft)}.r-lead{font-size:18px;margin:10px 0}.r-good{color:var(--good)}.r-bad{color:var(--bad);",
    "font-weight:600}.r-warn{color:var(--warn)}a{color:var(--bar)}nav a{display:block;overflow-wrap:anywhere}\n",
    "dl.r-facts{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;background:var(--card);",
    "padding:12px 16px;",
    "border-radius:8px;margin:12px 0}.r-facts dt{color:var(--soft)}.r-facts dd{margin:0;overflow-wrap:anywhere}\n",
    ".r-wide{overflow-x:auto;margin:10px 0}.r-wide>svg{min-width:760px;width:100%;height:auto;display:block}",
    "table{border-collapse:collapse;font-size:14px}th,td{padding:4px 10px 4px 0;text-align:left;vertical-align:middle;",
    "border-bottom:1px solid var(--line);white-space:nowrap}td.r-n,th.r-n{text-align:right;font-variant-numeric:",
    "tabular-nums}td.r-case{white-space:normal;min-width:190px;font-family:ui-monospace,SFMono-Regular,Menlo,'DejaVu ",
    "Sans Mono',monospace;font-size:12.5px}th button{all:unset;cursor:pointer;font-weight:600}",
    "th button:focus-visible{outline:2px solid var(--bar)}th[aria-sort=ascending] button::after{content:' \\2191'}",
    "th[aria-sort=descending] button::after{content:' \\2193'}\n",
    ".r-bars{display:grid;grid-template-columns:minmax(72px,max-content) 1fr;gap:6px 12px;align-items:center}",
    ".r-track{position:relative;height:20px;background:var(--card);border-radius:3px}",
    ".r-fill{height:100%;border-radius:3px;background:var(--bar)}.r-fill.r-b1{background:var(--bar2)}",
    ".r-fill.r-b2{background:var(--bar3)}.r-fill.r-b3{background:var(--bar4)}",
    ".r-one{position:absolute;top:-3px;bottom:-3px;width:2px;background:var(--ink)}",
    ".r-value{display:grid;grid-template-columns:1fr 62px;gap:8px;align-items:center;",
    "font-variant-numeric:tabular-nums;",
    "font-size:14px}.r-name{overflow-wrap:anywhere}\n",
    ".r-dist rect,.r-dist circle{fill:var(--bar)}.r-dist circle{fill-opacity:.45}",
    ".r-dist path{stroke:var(--bad);stroke-width:1.5}",
    ".r-key::before{content:'';display:inline-block;width:.7em;height:.7em;margin-right:5px;border-radius:2px;",
    "background:var(--bar)}.r-k1::before{background:var(--bar2)}.r-k2::before{background:var(--bar3)}",
    ".r-k3::before{background:var(--bar4)}",
    "ol.r-top{margin:4px 0 12px;padding-left:22px}ol.r-top code{font-size:12.5px;overflow-wrap:anywhere}",
    "code{font-family:ui-monospace,SFMono-Regular,Menlo,'DejaVu Sans Mono',monospace}\n",
    "@media(max-width:640px){main{padding:16px 14px 40px}h1{font-size:22px}dl.r-facts{grid-template-columns:1fr;gap:0}",
    ".r-facts dd{margin-bottom:7px}",
    // A picture or a table that begins at the edge looks whole, unless it says that it goes on.
    ".r-wide:has(>svg)::before,.r-wide:has(>.r-sort)::before{content:'\\2194  more to the side';position:sticky;",
    "left:0;color:var(--soft);font-size:13px}}\n",
    "@media print{:root{--page:#fff;--ink:#000;--soft:#444;--line:#bbb;--card:#f4f4f4;--good:#00523a;--bad:#8c1d18;",
    "--bar:#0072b2;--bar2:#b8460b;--bar3:#8a6a00;--bar4:#a3399a}body{font-size:11px}main{max-width:none;padding:0}",
    "h2,h3{break-after:avoid}tr,.r-value,dl{break-inside:avoid}.r-wide{overflow:visible}.r-wide>svg{min-width:0}",
    ".r-wide::before{display:none}",
    "table{font-size:9px}th,td{padding-right:5px}td.r-case{font-size:8px;min-width:0}thead{display:table-header-group}",
    ".r-track,.r-fill,.r-one{print-color-adjust:exact;-webkit-print-color-adjust:exact}nav{display:none}}\n",
};

static const char *const script[] = {
    "document.querySelectorAll('table.r-sort').forEach(function(table){\n",
    " var heads=table.tHead.rows[0].cells,body=table.tBodies[0];\n",
    " Array.prototype.forEach.call(heads,function(head,column){\n",
    "  var button=head.querySelector('button');if(!button)return;\n",
    "  button.addEventListener('click',function(){\n",
    "   var up=head.getAttribute('aria-sort')!=='ascending';\n",
    "   Array.prototype.forEach.call(heads,function(other){other.removeAttribute('aria-sort')});\n",
    "   head.setAttribute('aria-sort',up?'ascending':'descending');\n",
    "   var rows=Array.prototype.slice.call(body.rows);\n",
    "   rows.sort(function(a,b){\n",
    "    var x=a.cells[column].getAttribute('data-v'),y=b.cells[column].getAttribute('data-v');\n",
    "    if(x===''||y==='')return(x==='')-(y==='');\n", // what was not measured comes last, either way
    "    var order=head.className==='r-n'?x-y:x<y?-1:x>y?1:0;\n",
    "    return up?order:-order});\n",
    "   rows.forEach(function(row){body.appendChild(row)});\n",
    "  });\n",
    " });\n",
    "});\n",
};

void bench_report_style(FILE *file)
{
    fputs("<style>\n", file);
    for (size_t i = 0; i < sizeof style / sizeof *style; i++)
        fputs(style[i], file);
    fputs("</style>\n", file);
}

void bench_report_script(FILE *file)
{
    fputs("<script>\n", file);
    for (size_t i = 0; i < sizeof script / sizeof *script; i++)
        fputs(script[i], file);
    fputs("</script>\n", file);
}

void bench_report_text(FILE *file, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", file);
        else if (*text == '>')
            fputs("&gt;", file);
        else if (*text == '&')
            fputs("&amp;", file);
        else if (*text == '"')
            fputs("&quot;", file);
        else
            fputc(*text, file);
    }
}
