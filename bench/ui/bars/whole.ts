import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { sleep } from '../../lib/machine.js';
import type { Line } from '../../lib/report.js';
import { median, sum } from '../../lib/stats.js';
import { CITY, line, longTasks, s, unmeasured, type Stage, type UiBar } from '../lib/stage.js';

/** So high that every row is drawn. */
const TALL = 14_000;
const ROWS = 300;

async function exact(stage: Stage): Promise<Line[]> {
  const again = await stage.context.service(stage.databaseUrl, { role: 'api', core: undefined });
  const base = `http://127.0.0.1:${again.port}`;
  const page = await stage.open(`${stage.city}/beads?priority=1&text=write+report+99`, base, await stage.fresh({ height: TALL }));
  await page.locator('[data-bead]').first().waitFor();
  const read = (): Promise<string> =>
    stage
      .ask<{ items: { id: string; revision: number }[] }>('GET', `beads?limit=1000&priority=1&text=write%20report%2099`)
      .then(({ items }) => items.map(({ id, revision }) => `${id}@${revision}`).join());
  const drawn = (): Promise<string> =>
    page.evaluate<string>(
      "[...document.querySelectorAll('[data-bead]')].map((row) => row.dataset.bead + '@' + row.dataset.revision).join()",
    );
  const took: number[] = [];
  let equal = 0;
  const kills = stage.rounds(6);
  let service = again;
  for (let n = 0; n < kills; n++) {
    process.kill(service.pid, 'SIGKILL');
    await service.child.exited;
    for (let i = 0; i < 10; i++) await stage.ask('POST', 'beads', { title: `write report 99${n}${i}`, priority: 1 });
    service = await stage.context.service(stage.databaseUrl, { role: 'api', core: undefined, port: again.port });
    const ready = performance.now();
    const wanted = await read();
    while (performance.now() - ready < 20_000) {
      if ((await drawn()) === wanted) {
        equal++;
        took.push(performance.now() - ready);
        break;
      }
      await sleep(50);
    }
  }
  await page.context().close();
  const longest = Math.max(0, ...took);
  return [
    line(
      'U8',
      `after ${kills} × kill -9 of the api: lists that are the API’s`,
      `${equal} of ${kills}, at the latest after ${s(longest)}`,
      'all, ≤ 5 s after ready',
      equal === kills && longest <= 5_000,
      'loses events (Gas City)',
    ),
    unmeasured('U8', 'database and worker killed, sleep of 90 s, 50 seeds', 'npm run test:deep -- --part page, and the chaos run'),
  ];
}

async function tabs(stage: Stage): Promise<Line[]> {
  const sessions = [await stage.session('hello'), await stage.session('hello')];
  const context = await stage.fresh();
  const took: number[] = [];
  const paths = [
    ...sessions.map((id) => `${stage.city}/sessions/${id}`),
    ...Array.from({ length: 8 }, (_, n) => `${stage.city}/${['beads', 'sessions', 'events', 'config'][n % 4]}`),
  ];
  let last: Awaited<ReturnType<Stage['page']>> | undefined;
  for (const path of paths) {
    const page = await stage.page(context);
    const began = performance.now();
    await page.goto(`${stage.url}${path}`, { waitUntil: 'commit' });
    await page.locator('main').waitFor();
    took.push(performance.now() - began);
    last = page;
  }
  // They are held for all tabs by the one worker: what it has told the last it has told the others.
  await last?.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });
  await sleep(1_000);
  const metrics = await (await fetch(`${stage.url}/metrics`)).text();
  const open = [...metrics.matchAll(/^svc_(?:session_)?streams_open(?:\{[^}]*\})? (\d+)/gm)].reduce((sum, [, n]) => sum + Number(n), 0);
  await context.close();
  const most = Math.max(...took);
  return [
    line(
      'U9',
      '10 tabs, 2 with transcripts',
      `the slowest document ${s(most)}, ${open} streams`,
      '≤ 1 s, ≤ 4 streams',
      most <= 1_000 && open > 0 && open <= 4,
      'the 7th hangs',
    ),
  ];
}

const VIEWS = ['/ui/', '/ui/cities', '/ui/events', '/ui/usage', '/ui/runners', '/ui/health', '/ui/keys', '/ui/audit', '/ui/settings'];
const OF_CITY = [
  'beads',
  'sessions',
  'events',
  'usage',
  'config',
  'config?tab=values',
  'config?tab=revisions',
  'rigs',
  'packs',
  'providers',
  'patches',
  'messaging',
  'services',
  'maintenance',
];

async function accessible(stage: Stage): Promise<Line[]> {
  const axe = readFileSync(join(process.cwd(), 'node_modules/axe-core/axe.min.js'), 'utf8');
  const found: string[] = [];
  let looks = 0;
  let same = 0;
  const paths = [...VIEWS, ...OF_CITY.map((view) => `${stage.city}/${view}`)];
  for (const width of [1440, 390])
    for (const theme of ['light', 'dark'] as const) {
      const context = await stage.fresh({ width });
      const page = await stage.page(context);
      await page.emulateMedia({ colorScheme: theme });
      for (const path of paths) {
        await page.goto(`${stage.url}${path}`);
        await page.locator('h1').first().waitFor();
        await page.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });
        await page.evaluate(axe);
        const violations = await page.evaluate<string[]>(
          "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }).then(({ violations }) => violations.map(({ id, nodes }) => `${id} ${nodes[0].html.slice(0, 120)}`))",
        );
        found.push(...violations.map((each) => `${theme} ${width} ${path} ${each}`));
        looks++;
        if (new URL(page.url()).pathname === path.split('?')[0]) same++;
      }
      await context.close();
    }
  return [
    line(
      'U12',
      `axe, ${paths.length} views × 2 themes × 2 widths`,
      `${found.length} violations${found.length === 0 ? '' : `: ${found[0]}`}`,
      '0',
      found.length === 0,
    ),
    unmeasured('U12', 'the main flows by keyboard alone', 'test/e2e/ui.e2e-spec.ts and ui-admin.e2e-spec.ts'),
    line('U15', 'addresses opened cold that stay what they are', `${same} of ${looks}`, 'all', same === looks),
    unmeasured('U15', 'the same state in a second browser', 'test/e2e/ui-views.e2e-spec.ts'),
  ];
}

/** After all others: what any of them has caused. */
async function silent(stage: Stage): Promise<Line[]> {
  const policy = stage.complaints.filter((text) => text.includes('policy'));
  // That a service was killed the browser tells itself.
  const others = stage.complaints.filter((text) => !text.includes('policy') && !/ERR_|Failed to load resource/.test(text));
  return Promise.resolve([
    line(
      'U13',
      'violations of the policy, and errors of the console, in this whole run',
      `${policy.length}, ${others.length}${others.length === 0 ? '' : `: ${others[0]!.slice(0, 80)}`}`,
      '0',
      policy.length + others.length === 0,
    ),
    unmeasured('U13', '200 hostile strings', 'test/e2e/ui-views.e2e-spec.ts, in every field'),
  ]);
}

const DRAWN = 500;

/** How long each frame takes, for so many seconds. */
const FRAMES = `(seconds) => new Promise((resolve) => {
  const frames = []; let before = performance.now(); const began = before;
  const step = (now) => {
    frames.push(now - before);
    before = now;
    if (now - began < seconds * 1000) requestAnimationFrame(step);
    else resolve(frames.slice(1));
  };
  requestAnimationFrame(step);
})`;
/** The ground of the graph is taken, and drawn round in circles of this size, in pixels. */
const AROUND = 150;

async function panned(page: Page, seconds: number): Promise<number[]> {
  const box = (await page.locator('[data-graph]').boundingBox())!;
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const view = page.locator('.react-flow__viewport');
  const before = await view.getAttribute('style');
  // What is taken hold of by a node pans as well.
  await page.mouse.move(x, y);
  await page.mouse.down();
  const counted = page.evaluate<number[]>(`(${FRAMES})(${seconds})`);
  let over = false;
  void counted.finally(() => (over = true));
  for (let n = 0; !over; n++) await page.mouse.move(x + AROUND * Math.sin(n / 20), y + AROUND * (1 - Math.cos(n / 20)));
  await page.mouse.up();
  if ((await view.getAttribute('style')) === before) throw new Error('the graph has not moved');
  return counted;
}

async function graph(stage: Stage): Promise<Line[]> {
  const { items } = await stage.ask<{ items: { id: string }[] }>('GET', `beads?limit=${DRAWN}`);
  const [root, ...others] = items;
  // What is read is two steps wide: the root waits for some, and each of these for as many.
  const near = Math.floor(Math.sqrt(others.length));
  for (const [n, { id }] of others.entries())
    await stage.ask('POST', `bead/${n < near ? root!.id : others[n % near]!.id}/dependencies`, { depends_on_id: id });
  const found: number[] = [];
  const blocked: number[] = [];
  const frames: number[] = [];
  for (let n = 0; n < stage.rounds(5); n++) {
    const context = await stage.fresh();
    const page = await stage.page(context);
    const began = performance.now();
    await page.goto(`${stage.url}${stage.city}/beads/${root!.id}?tab=graph`, { waitUntil: 'commit' });
    const picture = await page
      .locator(`[data-graph="${DRAWN}"] [data-node]`)
      .first()
      .waitFor({ timeout: 15_000 })
      .then(
        () => true,
        () => false,
      );
    if (!picture) {
      await context.close();
      return [unmeasured('U16', 'a graph of 500 beads', `${CITY}/beads/:id?tab=graph has no picture with [data-graph] [data-node]`)];
    }
    found.push(performance.now() - began);
    blocked.push(Math.max(0, ...(await longTasks(page))));
    if (frames.length === 0) frames.push(...(await panned(page, stage.seconds(12))));
    await context.close();
  }
  const fps = frames.length / (sum(frames) / 1000);
  return [
    line(
      'U16',
      'a graph of 500 beads: first picture',
      `${s(median(found))}, longest task ${median(blocked).toFixed(0)} ms`,
      '≤ 1.5 s, without blocking',
      median(found) <= 1_500 && median(blocked) <= 200,
    ),
    line(
      'U16',
      'the graph, panned by the mouse',
      `${fps.toFixed(0)} fps, worst frame ${Math.max(...frames).toFixed(0)} ms`,
      '≥ 55 fps',
      fps >= 55,
    ),
  ];
}

export const WHOLE: readonly UiBar[] = [
  { ids: ['U8'], title: `exact after kills, ${ROWS} rows`, run: exact },
  { ids: ['U9'], title: 'ten tabs', run: tabs },
  { ids: ['U12', 'U15'], title: 'every view', run: accessible },
  { ids: ['U16'], title: 'a graph', run: graph },
  { ids: ['U13'], title: 'what went wrong meanwhile', run: silent },
];
