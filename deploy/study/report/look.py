"""The look of a study's page, over that of a load test's report.

Owns: the eight looks of series, points with their words, bars. Knows nothing about content. The colours are
Okabe and Ito's, which people with any colour vision tell apart; markers and names say the same.
"""

from __future__ import annotations

LOOK = """
:root { --purple: #9a4f7f; --sky: #2a7fae; }
@media (prefers-color-scheme: dark) { :root { --purple: #e0a3c8; --sky: #8fd0f5; } }
.look0 { color: var(--soft); } .look1 { color: var(--blue); } .look2 { color: var(--red); }
.look3 { color: var(--green); } .look4 { color: var(--purple); } .look5 { color: var(--amber); }
.look6 { color: var(--sky); } .look7 { color: var(--ink); }
.words { background: var(--card); border: 1px solid var(--rule); border-left: 5px solid var(--blue);
  padding: 12px 16px 12px 34px; margin: 16px 0; }
.words li { margin: 4px 0; }
nav { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 14px 0; font-size: .92rem; }
nav a, .notes a { color: var(--blue); }
label.pick { display: inline-block; margin: 8px 0; } select { font: inherit; padding: 4px 8px; }
a:focus-visible, select:focus-visible, summary:focus-visible, button:focus-visible { outline: 3px solid
  var(--amber); outline-offset: 2px; }
h3 { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: baseline; }
.what { font: inherit; font-size: .8rem; color: var(--blue); background: none; border: 1px solid var(--rule);
  border-radius: 10px; padding: 0 8px; cursor: help; }
figure { position: relative; }
.definition { display: none; background: var(--ink); color: var(--back); padding: 8px 12px; border-radius:
  6px; font-size: .88rem; position: absolute; z-index: 9; left: 16px; right: 16px; max-width: 70ch; }
h3:has(.what:hover) + .definition, h3:has(.what:focus) + .definition { display: block; }
.tag { font-size: .75rem; border: 1px solid var(--rule); border-radius: 10px; padding: 0 8px; color:
  var(--soft); font-weight: 400; }
.tag.projected, .tag.calibrated { border-style: dashed; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; list-style: none; margin: 0 0 8px; padding: 0;
  font-size: .85rem; }
.legend b { margin-right: 6px; } .legend small { color: var(--soft); }
svg .series { stroke: currentColor; stroke-width: 2; } svg .series.dashed { stroke-dasharray: 6 4; }
svg .whisker { stroke: currentColor; stroke-width: 1.5; opacity: .75; }
svg .level { stroke: var(--ink); stroke-width: 1.2; stroke-dasharray: 3 3; }
.points { position: absolute; inset: 0; container-type: size; }
.point { position: absolute; width: 0; height: 0; outline: none; }
.point b { position: absolute; transform: translate(-50%, -50%); font-size: 15px; line-height: 1; cursor:
  default; }
.point.hollow b, b.hollow { color: transparent; -webkit-text-stroke: 1.2px; }
.point.look0.hollow b, b.look0.hollow { -webkit-text-stroke-color: var(--soft); }
.point.look1.hollow b, b.look1.hollow { -webkit-text-stroke-color: var(--blue); }
.point.look2.hollow b, b.look2.hollow { -webkit-text-stroke-color: var(--red); }
.point.look3.hollow b, b.look3.hollow { -webkit-text-stroke-color: var(--green); }
.point.look4.hollow b, b.look4.hollow { -webkit-text-stroke-color: var(--purple); }
.point.look5.hollow b, b.look5.hollow { -webkit-text-stroke-color: var(--amber); }
.point.look6.hollow b, b.look6.hollow { -webkit-text-stroke-color: var(--sky); }
.point.look7.hollow b, b.look7.hollow { -webkit-text-stroke-color: var(--ink); }
.point .beside { position: absolute; left: 9px; bottom: 3px; white-space: nowrap; font-size: .78rem; color:
  var(--ink); }
.point.west .beside { left: auto; right: 9px; }
.point:focus-visible b { outline: 3px solid var(--amber); }
.arrow { position: absolute; font-style: normal; color: var(--ink); font-size: 13px; line-height: 1;
  transform: translate(-50%, -50%) rotate(atan2(calc(var(--dy) * 1cqh), calc(var(--dx) * 1cqw))); }
span.level { position: absolute; left: 4px; font-size: .78rem; line-height: 1.2; transform:
  translateY(102%); background: var(--card); padding: 0 3px; }
[data-tip]:hover::after, [data-tip]:focus::after { content: attr(data-tip); position: absolute; z-index: 8;
  left: 12px; bottom: 12px; width: max-content; max-width: min(300px, 62vw); padding: 6px 10px;
  border-radius: 6px; background: var(--ink); color: var(--back); font: .82rem/1.4 system-ui, sans-serif;
  white-space: normal; pointer-events: none; }
.point.west[data-tip]:hover::after, .point.west[data-tip]:focus::after { left: auto; right: 12px; }
.bars { font-size: .9rem; } .group { margin: 12px 0 4px; font-weight: 600; font-size: .88rem; }
.bar { display: grid; grid-template-columns: minmax(90px, 22%) 1fr minmax(96px, 16%); gap: 10px; align-items:
  center; margin: 3px 0; }
.bar .name { overflow-wrap: anywhere; text-align: right; line-height: 1.2; color: var(--ink); }
.bar .value { font-variant-numeric: tabular-nums; color: var(--ink); }
.track { position: relative; height: 20px; background: var(--wash); display: flex; }
.track:focus-visible, .part:focus-visible { outline: 3px solid var(--amber); }
.track .fill { background: currentColor; height: 100%; }
.hollow .track .fill { background: none; border: 2px dashed currentColor; }
.track .whisker { position: absolute; top: 9px; height: 3px; background: var(--ink); }
.track .whisker::before, .track .whisker::after { content: ""; position: absolute; top: -4px; height: 11px;
  width: 2px; background: var(--ink); } .track .whisker::after { right: 0; }
.ratios .one { position: absolute; top: -3px; bottom: -3px; border-left: 2px solid var(--soft); }
.ratios .track b { position: absolute; top: 4px; width: 12px; height: 12px; margin-left: -6px;
  border-radius: 50%; background: currentColor; border: 2px solid currentColor; }
.ratios .hollow .track b { background: var(--card); border-radius: 0; transform: rotate(45deg); }
.part { position: relative; height: 100%; background: currentColor; }
.part + .part { background: repeating-linear-gradient(45deg, currentColor 0 3px, var(--card) 3px 7px); }
.part + .part, .part:first-child { border: 1px solid currentColor; }
details { margin: 10px 0 0; } summary { cursor: pointer; color: var(--blue); font-size: .88rem; }
pre { overflow-x: auto; font-size: .8rem; background: var(--back); padding: 10px; }
.state { font-weight: 600; } td.text { min-width: 120px; }
@media (max-width: 520px) { .bar { grid-template-columns: 92px 1fr 78px; gap: 6px; font-size: .82rem; }
  figure { padding: 10px; } .track[data-tip]::after, .part[data-tip]::after { left: -84px; }
  .point .beside { display: none; } }
@media print { .what, label.pick, nav { display: none; } .definition { display: block; position: static;
  background: none; color: #444; padding: 0 0 6px; } .plot { height: 190px !important; } figure { padding:
  10px; margin-bottom: 10px; } .words { font-size: 14px; } details:not([open]) > summary { display: none; }
  :root { --purple: #9a4f7f; --sky: #2a7fae; } }
"""
SCRIPT = """
const pick = document.querySelector('#model');
const show = () => document.querySelectorAll('section[data-model]').forEach(part => {
  part.hidden = pick.value !== '' && part.dataset.model !== pick.value; });
if (pick) { pick.addEventListener('change', show); show(); }
"""
