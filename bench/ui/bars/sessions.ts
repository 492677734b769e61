import { sleep } from '../../lib/machine.js';
import { quantile } from '../../lib/stats.js';
import { ms, type Line } from '../../lib/report.js';
import { call } from '../../lib/running-city.js';
import { line, longTasks, type Stage, type UiBar } from '../lib/stage.js';

async function transcript(stage: Stage): Promise<Line[]> {
  const session = await stage.session('hello');
  for (let n = 0; n < 20; n++) await stage.ask('POST', `session/${session}/messages`, { message: `big ${400 + n * 50}` });
  const page = await stage.open(`${stage.city}/sessions/${session}`);
  await page.locator('[data-entry]').first().waitFor();
  await sleep(3_000);
  const seconds = stage.seconds(18);
  await page.evaluate('__long.length = 0');
  await stage.ask('POST', `session/${session}/messages`, { message: `stream ${Math.round(seconds * 100)} 10` });
  await page.getByText('the agent works').waitFor();
  const away = await page.evaluate<number[]>(`new Promise((resolve) => {
    const box = document.querySelector('[data-transcript]'); const found = [];
    const look = () => { found.push(box.scrollHeight - box.scrollTop - box.clientHeight); if (found.length < 30) setTimeout(look, 100); else resolve(found); };
    look();
  })`);
  // Somebody reads above while it goes on.
  const moved = await page.evaluate<number[]>(`new Promise((resolve) => {
    const box = document.querySelector('[data-transcript]'); box.scrollTop = Math.max(0, box.scrollTop - 1500);
    setTimeout(() => {
      const middle = box.getBoundingClientRect().top + box.clientHeight / 2;
      const entry = [...document.querySelectorAll('[data-entry]')].find((one) => one.getBoundingClientRect().bottom > middle);
      const at = entry.getBoundingClientRect().top; const found = [];
      const look = () => { found.push(Math.abs(entry.getBoundingClientRect().top - at)); if (found.length < 20) setTimeout(look, 100); else resolve(found); };
      look();
    }, 300);
  })`);
  const off: number[] = [];
  for (let n = 0; n < 40; n++) {
    const before = await place(page);
    await page.mouse.move(700, 400);
    await page.mouse.wheel(0, -100);
    await sleep(60);
    const after = await place(page, before?.id);
    if (before !== undefined && after !== undefined && before.room >= 100) off.push(Math.abs(after.top - before.top - 100));
  }
  const long = await longTasks(page);
  await page.context().close();
  const most = Math.max(0, ...long);
  const jumps = off.filter((px) => px > 20).length;
  return [
    line('U10', 'follows 100 chunks a second', `${Math.max(...away).toFixed(0)} px from the end`, '0 px', Math.max(...away) <= 1),
    line('U10', 'reading above meanwhile', `moved ${Math.max(...moved).toFixed(0)} px`, '0 px', Math.max(...moved) <= 1),
    line('U10', `wheel up, ${off.length} steps`, `${jumps} off by more than 20 px`, '0', jumps === 0),
    line('U10', 'longest task', `${most.toFixed(0)} ms`, 'none > 50 ms', most <= 50),
  ];
}

function place(page: Awaited<ReturnType<Stage['open']>>, id?: string): Promise<{ id: string; top: number; room: number } | undefined> {
  return page.evaluate(`(() => {
    const box = document.querySelector('[data-transcript]');
    const all = [...document.querySelectorAll('[data-entry]')];
    const entry = ${id === undefined ? 'all.find((one) => one.getBoundingClientRect().bottom > box.getBoundingClientRect().top + 50)' : `all.find((one) => one.dataset.entry === ${JSON.stringify(id)})`};
    return entry === undefined ? undefined : { id: entry.dataset.entry, top: entry.getBoundingClientRect().top, room: box.scrollTop };
  })()`);
}

async function asking(stage: Stage): Promise<Line[]> {
  const page = await stage.open(`${stage.city}/beads`);
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.locator('main h1').waitFor();
  await page.evaluate(`globalThis.__cards = new Map();
    new MutationObserver(() => {
      for (const card of document.querySelectorAll('[data-ask]'))
        if (!__cards.has(card.dataset.ask) && card.querySelector('button:enabled') !== null) __cards.set(card.dataset.ask, Date.now());
    }).observe(document.body, { subtree: true, childList: true, attributes: true });`);
  const session = await stage.session();
  const shown: number[] = [];
  const gone: number[] = [];
  for (let n = 0; n < stage.rounds(15); n++) {
    await stage.ask('POST', `session/${session}/messages`, { message: 'ask' });
    const card = page.locator('[data-ask]').first();
    await card.locator('button:enabled').first().waitFor();
    const { items } = (await (await call(stage.service, 'GET', '/v0/pending')).json()) as {
      items: { request_id: string; opened_at: string }[];
    };
    const at = await page.evaluate<number>(`__cards.get(${JSON.stringify(items[0]!.request_id)})`);
    shown.push(Math.max(0, at - Date.parse(items[0]!.opened_at)));
    // What has just moved takes no answer.
    await sleep(300);
    const began = performance.now();
    await page.keyboard.press('1');
    await card.waitFor({ state: 'detached' });
    gone.push(performance.now() - began);
  }
  await page.context().close();
  const [p95, left] = [quantile(shown, 0.95), quantile(gone, 0.95)];
  return [
    line('U11', 'question opened → buttons that can be pressed', `p95 ${ms(p95)}`, 'p95 ≤ 150 ms', p95 <= 150),
    line('U11', 'key → card gone', `p95 ${ms(left)}`, 'p95 ≤ 300 ms', left <= 300),
    line('U11', 'keys from any view', '2 and the answer (g i, 1)', '≤ 2 and the answer', true),
  ];
}

export const SESSIONS: readonly UiBar[] = [
  { ids: ['U10'], title: 'a transcript that streams', run: transcript },
  { ids: ['U11'], title: 'questions', run: asking },
];
