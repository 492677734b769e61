import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { CHROMIUM, Watched } from '../support/browser.js';
import { api, type Api } from '../support/http.js';
import { adminAt } from '../support/database.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';
import { eventually } from '../support/sse.js';

const described = CHROMIUM === undefined ? describe.skip : describe;

/** A session asks once more, while the question before waits. */
const TWICE = `
  insert into session_interactions (stream_id, session_pk, request_id, generation, kind, prompt, options, metadata, opened_rev)
    select stream_id, session_pk, request_id || '-2', generation, kind, prompt, options, metadata, opened_rev
    from session_interactions where request_id = $1
`;
/** Where a question leaves, `1` is pressed as by somebody who has not seen that. A browser that stood still meanwhile presses nothing. */
const pressOnce = (question: string): string => `
  globalThis.isPressed = new Promise((tell) => {
    const watch = new MutationObserver(() => {
      if (document.querySelector('[data-ask="${question}"]') !== null) return;
      watch.disconnect();
      const gone = performance.now();
      setTimeout(() => {
        if (performance.now() - gone < 150) document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '1', bubbles: true }));
        tell(true);
      }, 30);
    });
    watch.observe(document.body, { childList: true, subtree: true });
  });
  undefined;
`;

/** What people do most, without a pointer: nothing here clicks. */
described('the keyboard alone', () => {
  let stack: Stack;
  let a: Api;
  let watched: Watched;
  let page: Page;
  const city = '/v0/city/alpha';

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 1, workers: 1 });
    a = api(stack.urls[0]!);
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
    await ledger.stream.close();
    watched = await Watched.start();
    page = await watched.open(`${stack.urls[0]!}/ui/`);
  });
  afterAll(async () => {
    await watched?.stop();
    await stack?.stop();
  });

  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const type = (text: string): Promise<void> => page.keyboard.type(text);
  /** What has the focus, as it would be called. */
  const focused = (): Promise<string> =>
    page.evaluate<string>(
      "((one) => one === document.body ? '' : one?.getAttribute('aria-label') ?? one?.labels?.[0]?.innerText ?? one?.innerText ?? '')(document.activeElement)",
    );
  /** With the tabulator, as far as it takes. */
  async function reach(name: string | RegExp): Promise<void> {
    const passed: string[] = [];
    for (let n = 0; n < 120; n++) {
      const now = (await focused()).trim();
      if (typeof name === 'string' ? now === name || now.startsWith(`${name}\n`) : name.test(now)) return;
      passed.push(now.slice(0, 20));
      await page.keyboard.press('Tab');
    }
    throw new Error(`no focus for ${String(name)}: ${passed.join(' | ')}`);
  }
  async function palette(words: string): Promise<void> {
    await press('Control+k');
    await page.getByRole('combobox', { name: 'Go to' }).waitFor();
    await type(words);
    await press('Enter');
  }

  it('writes a bead, gives it to somebody, closes it and takes that back', async () => {
    // There are keys for a city once it is known that there is one.
    await page.getByRole('link', { name: 'Beads' }).waitFor();
    await press('g', 'b');
    await page.getByRole('heading', { name: 'Beads' }).waitFor();
    // Of a link in the view before: it begins in the one that is there now.
    await press('g', 'i');
    await page.getByRole('heading', { name: 'Inbox' }).waitFor();
    await page.locator('main').getByRole('link').first().focus();
    await press('g', 'b');
    await page.getByRole('heading', { name: 'Beads' }).waitFor();
    await page.locator('main:focus[aria-description="Beads · alpha"]').waitFor();
    expect(await page.title()).toBe('Beads · alpha');
    await press('c');
    await page.locator('dialog[open]').waitFor();
    await type('By keys');
    await press('Enter');
    const pane = page.locator('[data-bead-pane]');
    await pane.getByRole('heading', { name: 'By keys' }).waitFor();
    const id = (await pane.getAttribute('data-bead-pane'))!;
    await press('a');
    await page.getByLabel('To whom').waitFor();
    await type('ann');
    await press('Enter');
    await eventually(async () => (await a.get(`${city}/bead/${id}`)).body.assignee === 'ann' || undefined);
    // It is closed as the page knows it.
    await pane.locator('dd').getByText('ann', { exact: true }).waitFor();
    await press('Shift+C');
    await eventually(async () => (await a.get(`${city}/bead/${id}`)).body.status === 'closed' || undefined);
    await page.getByRole('button', { name: 'Undo: reopen' }).waitFor();
    await reach('Undo: reopen');
    await press('Enter');
    await eventually(async () => (await a.get(`${city}/bead/${id}`)).body.status !== 'closed' || undefined);
    await press('Escape');
  });

  it('answers a question, and goes on with its session', async () => {
    const made = await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', title: 'Asks', message: 'ask' });
    const session = made.body.session_id as string;
    await press('g', 'i');
    await page
      .locator('[data-ask]')
      .getByRole('button', { name: 'Allow', exact: true })
      .and(page.locator(':enabled:not([aria-disabled])'))
      .waitFor();
    // What has just come takes no answer.
    await eventually(async () => {
      await press('1');
      return (await page.locator('[data-ask]').count()) === 0 || undefined;
    });
    await press('g', 's');
    await page.locator(`[data-session="${session}"]`).waitFor();
    await press('o');
    await page.locator('[data-transcript]').waitFor();
    await reach('Message');
    await type('hello keys');
    await press('Control+Enter');
    await page.locator('[data-role="assistant"]').getByText('hello keys').waitFor();
  });

  it('answers nothing by a key that is held down', async () => {
    const titles = ['Held one', 'Held two'];
    for (const title of titles) {
      const made = await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', title, message: 'ask' });
      expect(made.status).toBe(202);
    }
    await press('Escape', 'g', 'i');
    const cards = page.locator('[data-ask]');
    await cards.nth(1).getByRole('button', { name: 'Allow', exact: true }).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
    const again = page.getByRole('button', { name: /^Again, it lasts/ });
    /** Held for longer than a second press has to wait, and than a list has to stand still. */
    const hold = async (key: string, first: () => Promise<unknown>): Promise<void> => {
      await sleep(600);
      await page.keyboard.down(key);
      await first();
      await sleep(600);
      for (let n = 0; n < 3; n++) await page.keyboard.down(key);
      await page.keyboard.up(key);
    };
    await hold('2', () => again.waitFor());
    await hold('3', () => eventually(async () => (await cards.count()) === 1 || undefined));
    await cards.getByRole('button', { name: 'Always allow' }).and(page.locator(':enabled:not([aria-disabled])')).focus();
    await hold('Enter', () => again.waitFor());
    await press('3');
    await cards.waitFor({ state: 'detached' });
    for (const { id } of (await a.get(`${city}/sessions`)).body.items.filter(({ title }: { title: string }) => titles.includes(title)))
      await eventually(async () => (await a.get(`${city}/session/${id}/transcript`)).text.includes('chosen: deny') || undefined);
  });

  it('answers no question by a key that comes as the one before it leaves, in the inbox and in its session', async () => {
    const made = await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', title: 'Asks twice', message: 'ask' });
    expect(made.status).toBe(202);
    const session = made.body.session_id as string;
    const first = await eventually(async () => {
      const { items } = (await a.get('/v0/pending')).body as { items: { session_id: string; request_id: string }[] };
      return items.find(({ session_id }) => session_id === session)?.request_id;
    });
    await adminAt(stack.databaseUrl, TWICE, [first]);
    const answers: string[] = [];
    const views = await Promise.all(['', `c/alpha/sessions/${session}`].map((path) => watched.open(`${stack.urls[0]!}/ui/${path}`)));
    for (const view of views) {
      view.on('request', (request) => void (request.url().endsWith('/respond') && answers.push(request.url())));
      const allowed = view
        .locator('[data-ask]')
        .getByRole('button', { name: 'Allow', exact: true })
        .and(view.locator(':enabled:not([aria-disabled])'));
      await allowed.nth(1).waitFor();
      await view.evaluate(pressOnce(first));
    }
    expect((await a.post(`${city}/session/${session}/respond`, { action: 'deny', request_id: first })).status).toBe(202);
    for (const view of views) await view.evaluate('globalThis.isPressed');
    for (const view of views) expect(await view.locator('[data-ask]').getByText(/^Sent/).count()).toBe(0);
    expect(answers).toEqual([]);
    for (const view of views) await view.context().close();
    expect((await a.post(`${city}/session/${session}/close`)).status).toBe(200);
    await eventually(async () => (await page.locator('[data-ask]').count()) === 0);
  });

  it('reads the files of the city again, and looks where a value is written', async () => {
    await press('Escape');
    await press('g', 'x');
    await page.getByText('agents may run').waitFor();
    await press('R');
    await page.getByText(/The files say what counts already/).waitFor();
    await reach('Values');
    await press('Enter');
    await page.getByLabel('A key, and everything below it').waitFor();
    await press('/');
    await type('workspace.provider');
    await page.locator('[data-row="workspace.provider"]').waitFor();
  });

  it('is where a pane was opened once that is closed, and at the row where the keys have gone on to', async () => {
    const title = (n: number): string => `Convoy ${n}`;
    for (const n of [1, 2]) expect((await a.post(`${city}/convoys`, { title: title(n), items: [] })).status).toBeLessThan(300);
    await press('Escape', 'g', 'o');
    await page.locator('[data-convoy]').nth(1).waitFor();
    const pane = page.getByRole('complementary');
    const heading = (name: string) => pane.getByRole('heading', { name });
    // The newest is the first.
    await page.locator('[data-convoy]').first().getByRole('button').focus();
    await press('Enter');
    await heading(title(2)).waitFor();
    await press('j');
    await heading(title(1)).waitFor();
    await reach('Close the convoy');
    await press('Escape');
    await pane.waitFor({ state: 'detached' });
    expect(await focused()).toContain(title(1));
    await press('k', 'Enter');
    await heading(title(2)).waitFor();
    await press('Escape');
    // The rows of this list come and go: it has the focus as a whole.
    await press('g', 'b');
    await page.locator('[data-bead]').first().waitFor();
    await page.locator('[data-bead]').first().getByRole('button').focus();
    await press('Enter');
    await page.locator('[data-bead-pane]').waitFor();
    await reach('Close the bead');
    await press('Enter');
    await pane.waitFor({ state: 'detached' });
    expect(await focused()).toBe('Beads');
  });

  it('goes where it is told to, with something typed that was not asked for yet', async () => {
    // The view is on its way for longer than somebody is waited for to type on.
    await page.route(/\/rigs[^/]*\.js$/, async (route) => {
      await sleep(1_000);
      await route.continue();
    });
    await type('s');
    await press('Escape');
    await palette('rigs');
    await page.getByRole('heading', { name: 'Rigs', exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/c/alpha/rigs');
    await page.unrouteAll();
  });

  it('adds a rig, switches it off, and takes that back', async () => {
    await press('c');
    await page.locator('dialog[open]').waitFor();
    await reach('Name');
    await type('quay');
    await press('Enter');
    await page.locator('[data-row="quay"]').waitFor();
    await page.locator('dialog').waitFor({ state: 'detached' });
    await press('j');
    expect(await page.evaluate<string>('document.activeElement.dataset.row')).toBe('quay');
    await reach('Suspend');
    await press('Enter');
    await page.locator('[data-row="quay"]').getByText('suspended').waitFor();
    await page.getByRole('button', { name: 'Undo' }).waitFor();
    await reach('Undo');
    await press('Enter');
    await page.locator('[data-row="quay"]').getByText('agents may run').waitFor();
  });

  it('makes a key and reads it', async () => {
    await press('g', 'k');
    await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    await press('c');
    await page.locator('dialog[open]').waitFor();
    await reach('Name');
    await type('bo');
    await press('Enter');
    expect(await page.locator('[data-secret]').textContent()).toMatch(/^svc_/);
    await reach('I have it');
    await press('Enter');
    await page.locator('[data-secret]').waitFor({ state: 'detached' });
    await page.locator('[data-row]').getByText('bo', { exact: true }).waitFor();
  });

  it('goes through what has happened, and lists its keys', async () => {
    await press('g', 'e');
    await page.locator('[data-seq]').first().waitFor();
    await press('/');
    await type('rig.created');
    await eventually(async () => (await page.locator('[data-seq]').count()) === 1 || undefined);
    await press('Escape');
    await press('j', 'o');
    await page.locator('[data-event]').getByText('quay').first().waitFor();
    await press('?');
    await page.getByRole('heading', { name: 'Keys of this view' }).waitFor();
    // What is read from its beginning begins there, and nothing has a heading alone.
    expect(await page.evaluate("document.querySelector('dialog').scrollTop")).toBe(0);
    expect(await page.locator('dialog section:not(:has(dt))').count()).toBe(0);
    await press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await palette('audit');
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    await page.locator('[data-row]').first().waitFor();
    await press('j', 'o');
    await page.getByText('/v0/', { exact: false }).first().waitFor();
  });

  it('complains about nothing', () => {
    expect(watched.complaints).toEqual([]);
  });
});
