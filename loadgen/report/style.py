"""The look of the report: one style sheet for light, dark, telephone and paper.

Owns: colours, type and spacing. Knows nothing about content. The colours are Okabe and Ito's, which
people with any colour vision tell apart; shape or words always say the same as the colour.
"""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --back: #fbfbf9; --card: #fff; --ink: #1c2024; --soft: #5b636b; --rule:
  #dfe2e0;
  --blue: #0072b2; --wash: #0072b21f; --amber: #c67f00; --red: #c04a00; --green: #00755a; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --card: #1c2125; --ink: #e8eaec; --soft:
  #a2abb3;
    --rule: #343b41; --blue: #56b4e9; --wash: #56b4e92b; --amber: #e69f00; --red: #ff8142; --green:
    #2fc39a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 24px 64px; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; }
h2 { font-size: 1.15rem; margin: 40px 0 12px; }
h3 { font-size: 1rem; margin: 0 0 10px; }
p { margin: 6px 0; }
code { font: .92em ui-monospace, monospace; overflow-wrap: anywhere; }
.soft, .axis, .empty, figcaption { color: var(--soft); font-size: .88rem; }
.verdict { margin: 16px 0 0; padding: 12px 16px; border-left: 5px solid var(--green); background:
  var(--card); }
.verdict.plain { border-color: var(--rule); margin: 0 0 16px; }
div.verdict.invalid + figure { margin-top: 16px; }
.verdict.invalid { border-color: var(--red); }
.verdict strong { font-size: 1.05rem; }
.verdict ul { margin: 6px 0 0; padding-left: 20px; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 12px; margin:
  20px 0 0; padding: 0; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; padding: 12px 14px; }
.tile dt { color: var(--soft); font-size: .88rem; }
.tile dd { margin: 0; }
.tile .big { font-size: 1.55rem; line-height: 1.3; font-weight: 600; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 16px; }
figure { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; margin: 0 0 16px;
  padding: 16px; min-width: 0; }
.wide { overflow-x: auto; background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
.wide:focus-visible { outline: 2px solid var(--blue); }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 12px; text-align: right; border-bottom: 1px solid var(--rule); white-space: nowrap;
  vertical-align: top; }
tr:last-child > * { border-bottom: 0; }
th { font-weight: 600; }
th:first-child { position: sticky; left: 0; background: var(--card); }
th:first-child, td.text, th.text { text-align: left; }
td.text { white-space: normal; overflow-wrap: anywhere; }
td small { display: block; color: var(--soft); font-size: .8em; }
.pairs th { width: 30%; white-space: normal; }
.terms dt { font-weight: 600; margin-top: 10px; }
.terms dd { margin: 0; color: var(--soft); max-width: 85ch; }
.notes { padding-left: 20px; }
.chart { margin-right: 14px; }
.marks { position: relative; margin-left: 48px; font-size: .8rem; }
.marks span { position: absolute; padding: 0 6px; white-space: nowrap; border-left: 2px solid; color:
  var(--ink); line-height: 1.25em; }
.marks span.left { transform: translateX(-100%); margin-left: 2px; border-left: 0; border-right: 2px
  solid; }
.marks span.slo { color: var(--red); }
.plot { position: relative; margin: 0 0 22px 48px; }
.plot svg { display: block; width: 100%; height: 100%; overflow: visible; border-bottom: 1px solid
  var(--soft); }
.plot .y span, .plot .x span { position: absolute; font-size: .76rem; color: var(--soft); white-space:
  nowrap; }
.plot .y span { right: calc(100% + 7px); transform: translateY(50%); }
.plot .x span { top: calc(100% + 3px); transform: translateX(-50%); }
.axis { margin: 0 0 6px; font-size: .8rem; }
.axis.below { text-align: center; margin: 0 0 0 48px; }
svg path { vector-effect: non-scaling-stroke; fill: none; }
.grid { stroke: var(--rule); stroke-width: 1; }
.line { stroke: var(--blue); stroke-width: 2; }
.line.waiting { stroke: var(--red); stroke-dasharray: 5 3; }
.mark.stage { stroke: var(--soft); stroke-dasharray: 1 3; }
.marks span.stage { border-color: var(--soft); }
.names td { min-width: 150px; }
svg .area { fill: var(--wash); }
.dots { stroke: var(--blue); stroke-width: 5; stroke-linecap: round; opacity: .6; }
.mark { stroke: var(--ink); stroke-width: 1; opacity: .75; }
.mark.p95 { stroke-dasharray: 7 3; }
.mark.p99 { stroke-dasharray: 2 3; }
.mark.slo { stroke: var(--red); stroke-width: 2; stroke-dasharray: 6 4; opacity: 1; }
.wait { fill: var(--amber); }
.stream { fill: var(--blue); }
.bad { fill-opacity: .25; stroke: var(--red); stroke-width: 1; vector-effect: non-scaling-stroke; }
.stop { stroke: var(--red); stroke-width: 3; }
.key { display: flex; flex-wrap: wrap; gap: 4px 18px; margin: 0 0 10px; padding: 0; list-style: none;
  font-size: .85rem; }
.key i { display: inline-block; width: 22px; height: 12px; margin-right: 6px; vertical-align: -1px;
  background: var(--blue); }
.key .thin i { height: 5px; vertical-align: 3px; background: var(--amber); }
.key .broken i { background: none; border: 1px solid var(--red); border-right-width: 4px; }
@media (max-width: 520px) { main { padding: 18px 14px 48px; } figure { padding: 12px; } h1 { font-size:
  1.4rem; }
    th, td { padding: 6px 8px; } .tiles { grid-template-columns: 1fr 1fr; } .tile .big { font-size:
    1.3rem; } }
@media print { :root { --back: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #ccc; --blue: #0072b2;
  --wash: #0072b21f; --amber: #c67f00; --red: #c04a00; --green: #00755a; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } main { max-width: none; padding: 0; }
  figure, .tile, tr { break-inside: avoid; } h2 { break-after: avoid; } .wide { overflow: visible; }
  body { font-size: 12px; } }
"""
