import { mkdtemp, rm } from 'node:fs/promises';
import { median, sum } from '../../lib/stats.js';
import type { Line } from '../../lib/report.js';
import { addedByPage } from '../lib/packages.js';
import { BEADS, CITY, kb, line, s, unmeasured, type Stage, type UiBar } from '../lib/stage.js';

/** Views beside those of the first load, and what each is there with. */
const LAZY: readonly (readonly [path: string, ready: string])[] = [
  ['/beads', '[data-bead]'],
  ['/sessions', 'h1'],
  ['/events', 'h1'],
  ['/config', 'main dl'],
  ['/rigs', 'h1'],
  ['/packs', 'h1'],
  ['/providers', '[data-row]'],
  ['/patches', 'h1'],
  ['/messaging', 'h1'],
  ['/services', 'h1'],
  ['/maintenance', 'main dl'],
  ['/usage', 'main dl'],
];

/** Bytes as they go over the network, compressed, of all that is not the API. */
async function weigh(stage: Stage, path: string, ready: string): Promise<{ bytes: number; requests: number }> {
  const context = await stage.fresh();
  const page = await stage.page(context);
  const cdp = await context.newCDPSession(page);
  await cdp.send('Network.enable');
  const files = new Map<string, number>();
  const urls = new Map<string, string>();
  cdp.on('Network.requestWillBeSent', ({ requestId, request }) => void urls.set(requestId, new URL(request.url).pathname));
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (urls.get(requestId)?.startsWith('/ui/') === true) files.set(requestId, encodedDataLength);
  });
  await page.goto(`${stage.url}${path}`);
  await page.locator(ready).first().waitFor();
  await page.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });
  await context.close();
  return { bytes: sum([...files.values()]), requests: files.size };
}

async function sizes(stage: Stage): Promise<Line[]> {
  const home = await weigh(stage, '/ui/', 'h1');
  const routes: { path: string; bytes: number }[] = [];
  for (const [path, ready] of LAZY) {
    const { bytes } = await weigh(stage, `${stage.city}${path}`, ready);
    routes.push({ path, bytes: bytes - home.bytes });
  }
  const heaviest = routes.reduce((a, b) => (b.bytes > a.bytes ? b : a));
  return [
    line(
      'U1',
      'first load',
      `${kb(home.bytes)} in ${home.requests}`,
      '≤ 170 KB in ≤ 8',
      home.bytes <= 170 * 1024 && home.requests <= 8,
      '168 (Gas City)',
    ),
    line('U1', `heaviest of ${routes.length} lazy views (${heaviest.path})`, kb(heaviest.bytes), '≤ 60 KB', heaviest.bytes <= 60 * 1024),
  ];
}

async function cold(stage: Stage): Promise<Line[]> {
  const session = await stage.session('hello');
  // A transcript of 150 entries: what is said, and what is answered.
  for (let n = 0; n < 74; n++) {
    await stage.ask('POST', `session/${session}/messages`, { message: `hello ${n}` });
    for (;;) {
      const { activity } = await stage.ask<{ activity?: string }>('GET', `session/${session}`);
      if (activity === 'idle') break;
    }
  }
  const looks = [
    ['home', '/ui/', 'h1', 700],
    ['first rows of 10,000 beads', `${stage.city}/beads`, '[data-bead]', 1_000],
    ['all 10,000 beads', `${stage.city}/beads`, `[data-total]:text-is("${BEADS}")`, 2_000],
    ['transcript of 150 entries', `${stage.city}/sessions/${session}`, '[data-entry]', 1_000],
  ] as const;
  const lines: Line[] = [];
  const blocked: { what: string; total: number; most: number }[] = [];
  for (const [what, path, ready, bar] of looks) {
    const found: { ms: number; long: number[] }[] = [];
    for (let round = 0; round < stage.rounds(7); round++) found.push(await stage.cold(path, ready));
    const ms = median(found.map((one) => one.ms));
    lines.push(line('U2', `cold: ${what}`, s(ms), `≤ ${s(bar)}`, ms <= bar, what.startsWith('first') ? '14 to 35 s (Argo CD)' : ''));
    blocked.push({
      what,
      total: median(found.map(({ long }) => sum(long.map((task) => Math.max(0, task - 50))))),
      most: median(found.map(({ long }) => Math.max(0, ...long))),
    });
  }
  const worst = blocked.reduce((a, b) => (b.total > a.total ? b : a));
  lines.push(
    line(
      'U3',
      `blocking while opening, the worst (${worst.what})`,
      `${worst.total.toFixed(0)} ms, longest task ${worst.most.toFixed(0)} ms`,
      '≤ 200 ms, no task > 200 ms',
      worst.total <= 200 && worst.most <= 200,
    ),
  );
  return lines;
}

async function building(): Promise<Line[]> {
  const { buildPage } = (await import(new URL('../../../scripts/ui-build.mjs', import.meta.url).href)) as {
    buildPage(out: string): Promise<void>;
  };
  // As the build is called: from here.
  const out = await mkdtemp('.bench-ui-');
  try {
    let began = performance.now();
    await buildPage(out);
    const first = performance.now() - began;
    began = performance.now();
    await buildPage(out);
    const again = performance.now() - began;
    return [
      line('U14', 'build', s(first), '≤ 4 s', first <= 4_000, '13 s (Gas City)'),
      line('U14', 'build, unchanged', s(again), '≤ 0.1 s', again <= 100),
      ...(await installing()),
    ];
  } finally {
    await rm(out, { recursive: true, force: true });
  }
}

async function installing(): Promise<Line[]> {
  const { packages, bytes, ms, why } = await addedByPage();
  const what = 'what it adds to `npm ci`';
  const mb = bytes / 1024 ** 2;
  return [
    line('U14', `${what}: on the disk`, `${packages} packages, ${mb.toFixed(0)} MB`, '≤ 90 MB', mb <= 90),
    ms === undefined
      ? unmeasured('U14', `${what}: time`, why)
      : line('U14', `${what}: its packages by themselves, from the cache`, s(ms), '≤ 15 s', ms <= 15_000),
  ];
}

export const LOADING: readonly UiBar[] = [
  { ids: ['U1'], title: 'what is loaded', run: sizes },
  { ids: ['U2', 'U3'], title: `opened cold, ${CITY} with ${BEADS} beads`, run: cold },
  { ids: ['U14'], title: 'built', run: building },
];
