import { sleep } from '../../lib/machine.js';
import { quantile } from '../../lib/stats.js';
import { count, ms, type Line } from '../../lib/report.js';
import { allBeads, BEADS, CITY, line, type Stage, type UiBar } from '../lib/stage.js';
import { Front } from '../lib/front.js';
import { ours, raw, seenBy, titleAt, type Seen } from '../lib/seen.js';

const RATE = 200;
/** Those that are in sight. */
const ROWS = 18;
const WRITERS = 8;

type Part = (one: Seen) => number;
const toDrawn: Part = ({ event, drawn }) => drawn - event;
const shown = (of: (q: number) => number): string => `p50 ${ms(of(0.5))}, p95 ${ms(of(0.95))}, p99 ${ms(of(0.99))}`;
const quantilesOf =
  (all: readonly number[]) =>
  (q: number): number =>
    quantile([...all], q);

/** From the event to the row, beside what the least page takes that there can be. */
function drawn(what: string, seen: readonly Seen[], floor: readonly Seen[]): Line {
  const [mine, least] = [quantilesOf(seen.map(toDrawn)), quantilesOf(floor.map(toDrawn))];
  const met = seen.length > 0 && mine(0.5) <= 20 && mine(0.95) <= 50 && mine(0.99) <= 100;
  return {
    ...line('U4', what, shown(mine), 'p50 ≤ 20, p95 ≤ 50, p99 ≤ 100 ms', met, shown(least)),
    ratio: mine(0.5) / Math.max(1, least(0.5)),
  };
}

/** Where the time goes, half of it: what a writer waits for, the way to the script of the page, and from there to the row. */
function parts(seen: readonly Seen[], floor: readonly Seen[], answers: ReadonlyMap<string, number>): Line {
  const half = (all: readonly Seen[], part: Part): string => ms(quantile(all.map(part), 0.5));
  const of = (all: readonly Seen[]): string =>
    `${half(all, (one) => one.event - one.sent)} + ${half(all, (one) => one.told - one.event)} + ${half(all, (one) => one.drawn - one.told)}`;
  const answered = [...answers].map(([key, at]) => at - Number(key.split(' ')[1]));
  return {
    bar: 'U4',
    what: `of that, p50: sent → event, → script, → row (sent → answered: ${ms(quantile(answered, 0.5))})`,
    ours: of(seen),
    floor: of(floor),
    reach: '',
  };
}

/** Changes the rows in turn. When each was answered, by its row and when it was sent. */
async function write(stage: Stage, rows: readonly string[], seconds: number): Promise<Map<string, number>> {
  const answers = new Map<string, number>();
  let written = 0;
  const began = performance.now();
  const writers = Array.from({ length: WRITERS }, async () => {
    while (performance.now() - began < seconds * 1000) {
      const nth = written++;
      const wait = began + (nth * 1000) / RATE - performance.now();
      if (wait > 0) await sleep(wait);
      const id = rows[nth % rows.length]!;
      const at = Date.now();
      await stage.ask('POST', `bead/${id}/update`, { title: titleAt(at) });
      answers.set(`${id} ${at}`, Date.now());
    }
  });
  await Promise.all(writers);
  return answers;
}

/** One at a time: from the answer to the row. */
async function alone(stage: Stage, rows: readonly string[]): Promise<Line> {
  const page = await ours(stage, stage.url);
  await page.locator(`[data-total]:text-is("${BEADS}")`).waitFor();
  const answers = new Map<string, number>();
  const seen = await seenBy(page, async () => {
    for (let n = 0; n < stage.rounds(60); n++) {
      const at = Date.now();
      const id = rows[n % ROWS]!;
      await stage.ask('POST', `bead/${id}/update`, { title: titleAt(at) });
      answers.set(`${id} ${at}`, Date.now());
      await sleep(50);
    }
  });
  await page.context().close();
  const waits = seen.map(({ id, sent, drawn: at }) => Math.max(0, at - answers.get(`${id} ${sent}`)!));
  const p95 = quantile(waits, 0.95);
  return line('U4', 'answer → row, one at a time', `p95 ${ms(p95)}`, 'p95 ≤ 50 ms', seen.length === answers.size && p95 <= 50);
}

async function latency(stage: Stage): Promise<Line[]> {
  const beads = (await allBeads(stage)).slice(0, ROWS);
  const rows = beads.map(({ id }) => id as string);
  const seconds = stage.seconds(20);
  const front = await Front.open(stage.service.port, CITY, beads);
  const answers = new Map<string, number>();
  const watched = async (base: string, work: () => Promise<unknown>): Promise<Record<'mine' | 'least', Seen[]>> => {
    const found: Partial<Record<'mine' | 'least', Seen[]>> = {};
    for (const which of ['least', 'mine'] as const) {
      const page = which === 'mine' ? await ours(stage, base) : await raw(stage, base, rows);
      if (which === 'mine') await page.locator(`[data-total]:text-is("${BEADS}")`).waitFor();
      await sleep(1_000);
      found[which] = await seenBy(page, work);
      await page.context().close();
    }
    return found as Record<'mine' | 'least', Seen[]>;
  };
  try {
    const fed = await watched(front.url, async () => {
      front.rate(RATE);
      await sleep(seconds * 1000);
      front.rate(0);
    });
    const through = await watched(stage.url, async () => {
      answers.clear();
      for (const [key, at] of await write(stage, rows, seconds)) answers.set(key, at);
    });
    const rate = count(answers.size / seconds);
    return [
      drawn(`event → row, ${RATE} a second`, fed.mine, fed.least),
      drawn(`event → row, through the service, which writes ${rate} a second here`, through.mine, through.least),
      parts(through.mine, through.least, answers),
      await alone(stage, rows),
    ];
  } finally {
    await front.close();
  }
}

export const LATENCY: readonly UiBar[] = [{ ids: ['U4'], title: 'from the event to the row', run: latency }];
