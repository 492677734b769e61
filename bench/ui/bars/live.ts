import { sleep } from '../../lib/machine.js';
import { count, type Line } from '../../lib/report.js';
import { Front } from '../lib/front.js';
import { allBeads, BEADS, CITY, line, longTasks, meter, type Stage, type UiBar } from '../lib/stage.js';

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

export const LIVE: readonly UiBar[] = [{ ids: ['U5', 'U6', 'U7'], title: 'under many events', run: load }];
