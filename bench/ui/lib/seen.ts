import type { Page } from 'playwright-core';
import { CITY, type Stage } from './stage.js';

/** Rows of which the title says when it was written. */
export const titleAt = (at: number): string => `Changed at ${at}`;

/** One event on its way into a page, in milliseconds of the clock that all of them share. */
export interface Seen {
  readonly id: string;
  readonly sent: number;
  /** When it was appended to the log. */
  readonly event: number;
  /** When the script of the page had it. */
  readonly told: number;
  /** When its row was another one. */
  readonly drawn: number;
}

/** What the page's own worker tells it. Has to be there before the page's script. */
const TOLD = `
  globalThis.__told = [];
  globalThis.__tell = ({ ts, subject, payload }) => {
    const at = /at (\\d{13})/.exec(payload?.bead?.title)?.[1];
    if (at !== undefined) __told.push([subject, Number(at), Date.parse(ts), Date.now()]);
  };
  const Worker = globalThis.SharedWorker;
  globalThis.SharedWorker = function (...args) {
    const worker = new Worker(...args);
    worker.port.addEventListener('message', ({ data }) => data.t === 'frame' && data.frame.event === 'event' && __tell(data.frame.data));
    return worker;
  };`;

/** When the rows are others. Those that are there have been seen. */
const WATCH = `
  globalThis.__drawn = [];
  const look = () => {
    const now = Date.now();
    for (const row of document.querySelectorAll('[data-bead]')) {
      const at = /at (\\d{13})/.exec(row.textContent)?.[1];
      if (at !== undefined && row.__at !== at) { row.__at = at; __drawn.push([row.dataset.bead, Number(at), now]); }
    }
  };
  look();
  __drawn.length = __told.length = 0;
  new MutationObserver(look).observe(document.querySelector('[data-beads]'), { subtree: true, childList: true, characterData: true });`;

/** The least that a page can do: a stream of the browser's own, and a text that it sets. */
const rawPage = (
  ids: readonly string[],
): string => `<!doctype html><div data-beads>${ids.map((id) => `<p data-bead="${id}">.</p>`).join('')}</div>
<script>
  const rows = new Map([...document.querySelectorAll('[data-bead]')].map((row) => [row.dataset.bead, row]));
  const stream = new EventSource('/v0/city/${CITY}/events/stream');
  stream.addEventListener('open', () => { document.body.dataset.open = ''; });
  stream.addEventListener('event', ({ data }) => {
    const event = JSON.parse(data);
    __tell(event);
    rows.get(event.subject).textContent = event.payload.bead.title;
  });
</script>`;

/** The list of beads, watched; and of whoever does what with it. */
export async function ours(stage: Stage, base: string): Promise<Page> {
  const context = await stage.fresh();
  await context.addInitScript(TOLD);
  return stage.open(`${stage.city}/beads`, base, context);
}

/** The same rows on the least page that there can be. */
export async function raw(stage: Stage, base: string, ids: readonly string[]): Promise<Page> {
  const context = await stage.fresh();
  await context.addInitScript(TOLD);
  const page = await stage.page(context);
  await page.route('**/raw', (route) => route.fulfill({ contentType: 'text/html', body: rawPage(ids) }));
  await page.goto(`${base}/raw`);
  await page.locator('body[data-open]').waitFor();
  return page;
}

/** What comes to the rows of a page while `work` goes on. */
export async function seenBy(page: Page, work: () => Promise<unknown>): Promise<Seen[]> {
  await page.evaluate(WATCH);
  await work();
  await page.waitForTimeout(500);
  const told = await page.evaluate<[id: string, sent: number, event: number, told: number][]>('__told');
  const drawn = await page.evaluate<[id: string, sent: number, drawn: number][]>('__drawn');
  const known = new Map(told.map((one) => [`${one[0]} ${one[1]}`, one]));
  return drawn.flatMap(([id, sent, at]) => {
    const one = known.get(`${id} ${sent}`);
    return one === undefined ? [] : [{ id, sent, event: one[2], told: one[3], drawn: at }];
  });
}
