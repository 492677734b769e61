import { sleep } from '../../lib/machine.js';
import { quantile } from '../../lib/stats.js';
import { count, ms, type Line } from '../../lib/report.js';
import { Front } from '../lib/front.js';
import { BEADS, CITY, line, longTasks, meter, type Stage, type UiBar } from '../lib/stage.js';

/** Rows of which the title says when it was written: how old it is when it is drawn. */
const WATCH = `
  globalThis.__ages = [];
  new MutationObserver(() => {
    const now = Date.now();
    for (const row of document.querySelectorAll('[data-bead]')) {
      const at = /at (\\d{13})/.exec(row.textContent)?.[1];
      if (at !== undefined && row.__at !== at) { row.__at = at; __ages.push(now - Number(at)); }
    }
  }).observe(document.querySelector('[data-beads]'), { subtree: true, childList: true, characterData: true });`;

async function latency(stage: Stage): Promise<Line[]> {
  const page = await stage.open(`${stage.city}/beads`);
  await page.locator(`[data-total]:text-is("${BEADS}")`).waitFor();
  await page.evaluate(WATCH);
  const rows = await page.evaluate<string[]>("[...document.querySelectorAll('[data-bead]')].map((row) => row.dataset.bead)");
  const seconds = stage.seconds(30);
  const answered: number[] = [];
  let written = 0;
  const began = performance.now();
  const workers = Array.from({ length: 8 }, async (_, nth) => {
    while (performance.now() - began < seconds * 1000) {
      const due = began + (written++ * 1000) / 200;
      const wait = due - performance.now();
      if (wait > 0) await sleep(wait);
      const id = rows[(written + nth) % Math.min(rows.length, 18)]!;
      await stage.ask('POST', `bead/${id}/update`, { title: `Changed at ${Date.now()}` });
    }
  });
  await Promise.all(workers);
  const ages = await page.evaluate<number[]>('__ages');
  const rate = written / seconds;
  // One at a time: from the answer to the row.
  for (let n = 0; n < stage.rounds(30); n++) {
    const id = rows[n % 18]!;
    const title = `Alone ${n} ${Date.now()}`;
    // The page's policy lets nothing evaluate a text but the protocol itself.
    const seen = page.evaluate<number>(`new Promise((resolve) => {
      const look = () => document.querySelector('[data-bead="${id}"]')?.textContent.includes(${JSON.stringify(title)}) ? resolve(Date.now()) : setTimeout(look, 1);
      look();
    })`);
    await stage.ask('POST', `bead/${id}/update`, { title });
    const at = Date.now();
    answered.push(Math.max(0, (await seen) - at));
  }
  await page.context().close();
  const of = (q: number): number => quantile(ages, q);
  return [
    line(
      'U4',
      `sent → drawn, ${rate.toFixed(0)} a second through the service`,
      `p50 ${ms(of(0.5))}, p95 ${ms(of(0.95))}, p99 ${ms(of(0.99))}`,
      'p50 ≤ 20, p95 ≤ 50, p99 ≤ 100 ms after the event',
      of(0.5) <= 20 && of(0.95) <= 50 && of(0.99) <= 100,
      '2.5 to 10 s (Gas City)',
    ),
    line('U4', 'answer → drawn, one at a time', `p95 ${ms(quantile(answered, 0.95))}`, 'p95 ≤ 50 ms', quantile(answered, 0.95) <= 50),
  ];
}

async function allBeads(stage: Stage): Promise<Record<string, any>[]> {
  const beads: Record<string, any>[] = [];
  for (let cursor = ''; ;) {
    const page = await stage.ask<{ items: Record<string, any>[]; next_cursor?: string }>(
      'GET',
      `beads?limit=1000${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    beads.push(...page.items);
    if (page.next_cursor === undefined) return beads;
    cursor = page.next_cursor;
  }
}

async function load(stage: Stage): Promise<Line[]> {
  const front = await Front.open(stage.service.port, CITY, await allBeads(stage));
  const lines: Line[] = [];
  try {
    const page = await stage.open(`${stage.city}/beads`, front.url);
    await page.locator(`[data-total]:text-is("${BEADS}")`).waitFor();
    const { spent } = await meter(page);
    for (const [rate, seconds, longest, main, script] of [
      [200, stage.seconds(60), 50, 40, 10],
      [1_000, stage.seconds(30), 100, Infinity, Infinity],
    ] as const) {
      await sleep(1_000);
      await page.evaluate('__long.length = 0');
      front.rate(rate);
      const sent = front.sent;
      const before = await spent();
      await sleep(seconds * 1000);
      const after = await spent();
      front.rate(0);
      const long = await longTasks(page);
      const share = (a: number, b: number): number => ((b - a) / ((after.at - before.at) / 1000)) * 100;
      const [task, code] = [share(before.task, after.task), share(before.script, after.script)];
      const most = Math.max(0, ...long);
      lines.push(
        line(
          'U5',
          `${count((front.sent - sent) / seconds)} a second for ${seconds.toFixed(0)} s`,
          `longest task ${most.toFixed(0)} ms, main ${task.toFixed(0)} %, script ${code.toFixed(1)} %`,
          rate === 200 ? 'no task > 50 ms, main ≤ 40 %, script ≤ 10 %' : 'no task > 100 ms',
          most <= longest && task <= main && code <= script,
        ),
      );
    }
    lines.push(await scrolling(stage, front, page));
    lines.push(...(await memory(stage, front, page)));
    await page.context().close();
  } finally {
    await front.close();
  }
  return lines;
}

/** Scrolls through all rows while they change, and looks at each frame what is there. */
const SCROLL = `(speed, seconds) => new Promise((resolve) => {
  const box = document.querySelector('[data-beads]');
  const rect = box.getBoundingClientRect();
  const frames = []; let blank = 0; let before = performance.now(); const began = before; let down = true;
  box.scrollTop = 0;
  const step = (now) => {
    frames.push(now - before);
    const by = speed * (now - before) / 1000;
    before = now;
    box.scrollTop += down ? by : -by;
    if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) down = false;
    if (box.scrollTop <= 0) down = true;
    const hit = document.elementFromPoint(rect.left + 200, rect.top + rect.height / 2);
    if (hit?.closest('[data-bead]') == null) blank++;
    if (now - began < seconds * 1000) requestAnimationFrame(step);
    else resolve({ frames: frames.slice(1), blank });
  };
  requestAnimationFrame(step);
})`;

async function scrolling(stage: Stage, front: Front, page: Awaited<ReturnType<Stage['open']>>): Promise<Line> {
  front.rate(200);
  const { frames, blank } = await page.evaluate<{ frames: number[]; blank: number }>(`(${SCROLL})(12000, ${stage.seconds(12)})`);
  front.rate(0);
  const seconds = frames.reduce((a, b) => a + b, 0) / 1000;
  const fps = frames.length / seconds;
  const worst = Math.max(...frames);
  const share = (blank / frames.length) * 100;
  return line(
    'U6',
    'scroll at 12,000 px/s with 200 events a second',
    `${fps.toFixed(0)} fps, worst frame ${worst.toFixed(0)} ms, blank ${share.toFixed(1)} %`,
    '≥ 55 fps, ≤ 70 ms, ≤ 1 %',
    fps >= 55 && worst <= 70 && share <= 1,
    '“unusable” (Grafana)',
  );
}

async function memory(stage: Stage, front: Front, page: Awaited<ReturnType<Stage['open']>>): Promise<Line[]> {
  const { spent } = await meter(page);
  const before = await spent(true);
  const sent = front.sent;
  const wanted = stage.quick ? 30_000 : 240_000;
  front.rate(3_000);
  while (front.sent - sent < wanted) await sleep(500);
  front.rate(0);
  await sleep(1_000);
  const after = await spent(true);
  const grown = after.heap - before.heap;
  return [
    line(
      'U7',
      `heap after ${count(front.sent - sent)} events at 3,000 a second`,
      `${before.heap.toFixed(1)} → ${after.heap.toFixed(1)} MB`,
      'an hour at 200/s: ≤ 25 MB, + ≤ 5 MB',
      after.heap <= 25 && grown <= 5,
    ),
    line(
      'U7',
      'nodes and listeners meanwhile',
      `${before.nodes} → ${after.nodes}, ${before.listeners} → ${after.listeners}`,
      'constant',
      Math.abs(after.nodes - before.nodes) <= before.nodes * 0.05 &&
        Math.abs(after.listeners - before.listeners) <= before.listeners * 0.05,
    ),
  ];
}

export const LIVE: readonly UiBar[] = [
  { ids: ['U4'], title: 'from the event to the row', run: latency },
  { ids: ['U5', 'U6', 'U7'], title: 'under many events', run: load },
];
