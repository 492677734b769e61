import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chromium, type Browser, type Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { putKey } from '../support/callers.js';
import { DEEP } from '../support/depth.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { choose } from '../support/operator-page.js';
import { PAGE_DIR, pageIsBuilt } from '../support/page.js';
import { eventually } from '../support/sse.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (CHROMIUM === undefined && process.env.CI === 'true') throw new Error('CI needs a Chromium');
const described = CHROMIUM === undefined ? describe.skip : describe;

/** Texts as an agent may write them. None may become more than a text. */
const HOSTILE = [
  '<img src=x onerror="window.__harm=1">',
  '<script>window.__harm=1</script>',
  '"><svg onload=window.__harm=1>',
  '[x](javascript:window.__harm=1)',
  '\u202egnp.exe\u200b',
  '{{constructor.constructor("window.__harm=1")()}}',
  `${'>'.repeat(16_000)}`,
];
const VIEWS = ['/ui/', '/ui/cities', '/ui/c/alpha/sessions', '/ui/c/alpha/beads', '/ui/c/alpha/events', '/ui/settings'];

described("the operator's page", () => {
  let stack: Stack;
  let a: Api;
  let browser: Browser;
  const complaints: string[] = [];
  const elsewhere: string[] = [];
  const city = '/v0/city/alpha';

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 2, workers: 1 });
    a = api(stack.urls[0]!);
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
    await ledger.stream.close();
    for (const title of HOSTILE) {
      const made = await a.post(`${city}/beads`, { title: title.slice(0, 500), description: title, labels: [title.slice(0, 200)] });
      expect(made.status).toBe(201);
    }
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  /** A page in a browser that has seen nothing yet. */
  async function open(path: string, { width = 1440, theme = 'light' as 'light' | 'dark', base = stack.urls[0]! } = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme });
    await context.addInitScript(
      "document.addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI))",
    );
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => (message.type() === 'error' ? complaints.push(`${path} ${message.text()}`) : undefined));
    page.on('pageerror', (error) => complaints.push(`${path} ${error.message}`));
    page.on('request', (request) => (new URL(request.url()).origin === base ? undefined : elsewhere.push(request.url())));
    await page.goto(`${base}${path}`);
    await page.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });
    return page;
  }
  const close = (page: Page): Promise<void> => page.context().close();
  const ask = async (message = 'ask'): Promise<string> => {
    const made = await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', title: `Says ${message}`, message });
    expect(made.status).toBe(202);
    return made.body.session_id as string;
  };
  const waiting = async (): Promise<string[]> =>
    ((await a.get('/v0/pending')).body.items as { request_id: string }[]).map((one) => one.request_id);
  const asked = async (page: Page): Promise<(string | null)[]> =>
    Promise.all((await page.locator('[data-ask]').all()).map((card) => card.getAttribute('data-ask')));

  it('is served with its policy, by names that never change, and nothing else stands in for a file', async () => {
    const read = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
      fetch(`${stack.urls[0]}${path}`, { headers: { 'accept-encoding': 'identity', ...headers } });
    for (const path of ['/', '/ui']) {
      const { status, headers } = await fetch(`${stack.urls[0]}${path}`, { redirect: 'manual' });
      expect({ path, status, to: headers.get('location') }).toEqual({ path, status: 302, to: '/ui/' });
    }
    const shell = await read('/ui/c/alpha/beads?status=open');
    const html = await shell.text();
    expect(shell.status).toBe(200);
    expect(shell.headers.get('content-security-policy')).toContain("require-trusted-types-for 'script'; trusted-types svc-worker");
    expect(shell.headers.get('content-security-policy')).not.toContain('unsafe');
    expect(shell.headers.get('cache-control')).toBe('no-cache');
    expect((await read('/ui/', { 'if-none-match': shell.headers.get('etag')! })).status).toBe(304);
    const asset = /\/ui\/assets\/page-[\w.-]+\.js/.exec(html)![0];
    expect((await read(asset)).headers.get('cache-control')).toContain('immutable');
    expect((await read(asset, { 'accept-encoding': 'br;q=0, gzip' })).headers.get('content-encoding')).toBe('gzip');
    expect((await read(asset, { 'accept-encoding': 'gzip, br' })).headers.get('content-encoding')).toBe('br');
    for (const path of ['/ui/assets/gone.js', '/ui/gone.css', '/ui/assets/%2e%2e/%2e%2e/package.json'])
      expect({ path, status: (await read(path)).status }).toEqual({ path, status: 404 });
    expect((await read('/ui/c/node.js')).headers.get('content-type')).toContain('text/html');
  });

  it('loads little: 170 KB compressed in eight requests, a view at most 60 more', async () => {
    const page = await browser.newPage();
    const files = new Set<string>();
    page.on('response', (response) => {
      const { pathname } = new URL(response.url());
      if (pathname.startsWith('/ui/')) files.add(pathname);
    });
    await page.goto(`${stack.urls[0]}/ui/`);
    await page.locator('[data-connection="Live"]').first().waitFor();
    const first = new Set(files);
    await page.goto(`${stack.urls[0]}/ui/c/alpha/beads`);
    await page.locator('[data-bead]').first().waitFor();
    await page.close();
    const bytes = (some: Iterable<string>): number =>
      [...some].reduce(
        (sum, path) =>
          sum +
          gzipSync(readFileSync(join(PAGE_DIR, path.endsWith('/') || !/\.\w+$/.test(path) ? 'index.html' : path.slice('/ui/'.length))))
            .length,
        0,
      );
    expect(first.size).toBeLessThanOrEqual(8);
    expect(bytes(first)).toBeLessThan(170 * 1024);
    expect(bytes([...files].filter((path) => !first.has(path)))).toBeLessThan(60 * 1024);
  });

  it('answers a question with the keys g i and its number, on any replica', async () => {
    const session = await ask();
    const page = await open('/ui/c/alpha/beads', { base: stack.urls[1]! });
    await eventually(async () => (await page.title()).startsWith('(1)') || undefined);
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    const card = page.locator('[data-ask]');
    await card.getByRole('button', { name: 'Allow', exact: true }).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
    expect(await asked(page)).toEqual(await waiting());
    await page.keyboard.press('1');
    await card.waitFor({ state: 'detached' });
    expect(await waiting()).toEqual([]);
    await eventually(async () => !(await page.title()).startsWith('(') || undefined);
    await eventually(async () => (await a.get(`${city}/session/${session}/transcript`)).text.includes('chosen: allow') || undefined);
    await close(page);
  });

  it('asks once more before an answer that lasts, and tells who comes late that somebody was first', async () => {
    const session = await ask();
    const page = await open('/ui/');
    const card = page.locator('[data-ask]');
    await choose(page, 'Always allow');
    await card.getByRole('button', { name: /^Again, it lasts/ }).waitFor();
    expect(await waiting()).toHaveLength(1);
    await page.route('**/respond', async (route) => {
      await a.post(`${city}/session/${session}/respond`, { action: 'deny' });
      await route.continue();
    });
    // A second press that comes at once is none: nobody has read yet why it is asked for.
    await page.waitForTimeout(600);
    await card.getByRole('button', { name: /^Again, it lasts/ }).click();
    await card.waitFor({ state: 'detached' });
    await eventually(async () => (await a.get(`${city}/session/${session}/transcript`)).text.includes('chosen: deny') || undefined);
    await close(page);
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('409')));
  });

  it('shows a change that an agent asks for beside what its tool is given', async () => {
    await ask('ask notes.md all of it anew');
    const page = await open('/ui/');
    const card = page.locator('[data-ask]');
    await card.locator('[data-change]').getByText('all of it anew').waitFor();
    await card.getByText('File: notes.md').waitFor();
    await choose(page, 'Deny');
    await card.waitFor({ state: 'detached' });
    await close(page);
  });

  it('shows a session while it streams, and goes on with it', async () => {
    const session = await ask('hello there');
    const page = await open(`/ui/c/alpha/sessions/${session}`);
    const log = page.locator('[data-transcript]');
    await log.getByText('hello there').nth(1).waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('stream 60 5');
    await page.keyboard.press('Control+Enter');
    await log.locator('[data-role="assistant"]').nth(1).waitFor();
    await eventually(async () => (await a.get(`${city}/session/${session}`)).body.activity === 'idle' || undefined);
    const said = (await a.get(`${city}/session/${session}/transcript?format=structured`)).body.structured_messages as {
      id: string;
      role: string;
      blocks: { text?: string }[];
    }[];
    const whole = said.findLast(({ role }) => role === 'assistant')!.blocks[0]!.text!;
    await log.getByText(whole, { exact: true }).waitFor();
    expect(await log.locator('[data-entry]').count()).toBe(said.length);
    await page.getByRole('textbox', { name: 'Message' }).fill('ask');
    await page.keyboard.press('Control+Enter');
    await choose(page, 'Deny');
    await log.getByText('chosen: deny').waitFor();
    await close(page);
  });

  it('keeps the list of sessions by its events, without asking for any of them', async () => {
    const session = await ask('hello');
    const page = await open('/ui/c/alpha/sessions');
    const row = page.locator(`[data-session="${session}"]`);
    await row.getByText(/^\W*ready$/).waitFor();
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (/^\/v0\/city\/alpha\/sessions?(\/|$)/.test(pathname)) asked.push(pathname);
    });
    const act = async (step: string, body: object = {}): Promise<void> =>
      expect((await a.post(`${city}/session/${session}/${step}`, body)).status).toBeLessThan(300);
    await act('messages', { message: 'wait 3600000' });
    await row.getByText(/^\W*working$/).waitFor();
    await act('rename', { title: 'Stopped soon' });
    await row.getByText('Stopped soon').waitFor();
    await act('stop');
    await row.getByText(/^\W*ready$/).waitFor();
    await act('close');
    await row.waitFor({ state: 'detached' });
    expect(asked).toEqual([]);
    await close(page);
  });

  it('makes, changes, assigns and closes a bead, each seen at once by a second page', async () => {
    const other = await open('/ui/c/alpha/beads', { base: stack.urls[1]! });
    const page = await open('/ui/c/alpha/beads');
    // A view that is not there yet has no keys.
    await page.locator('main h1').first().waitFor();
    await page.keyboard.press('c');
    await page.getByLabel('Title').fill('By hand');
    await page.getByRole('button', { name: 'Create the bead' }).click();
    const pane = page.locator('[data-bead-pane]');
    await pane.getByRole('heading', { name: 'By hand' }).waitFor();
    const id = (await pane.getAttribute('data-bead-pane'))!;
    const row = other.locator(`[data-bead="${id}"]`);
    await row.getByText('By hand').waitFor();
    await page.keyboard.press('a');
    await page.getByLabel('To whom').fill('ann');
    await page.keyboard.press('Enter');
    await row.getByText('ann').waitFor();
    await page.keyboard.press('e');
    await page.getByLabel('Title').fill('By two hands');
    await a.post(`${city}/bead/${id}/update`, { title: 'Theirs' });
    await pane.getByRole('heading', { name: 'Theirs' }).waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody has changed this bead meanwhile').waitFor();
    await page.getByRole('button', { name: 'Mine over theirs' }).click();
    await row.getByText('By two hands').waitFor();
    await pane
      .getByRole('button', { name: /^Close/ })
      .last()
      .click();
    await row.waitFor({ state: 'detached' });
    expect((await a.get(`${city}/bead/${id}`)).body).toMatchObject({ title: 'By two hands', assignee: 'ann', status: 'closed' });
    await pane.getByRole('button', { name: 'Undo: reopen' }).click();
    await row.waitFor();
    await Promise.all([close(page), close(other)]);
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('412')));
  });

  it('shows hostile texts as texts, everywhere, and asks nobody else for anything', async () => {
    const session = await ask(HOSTILE[0]);
    const { body } = await a.get(`${city}/beads?limit=100`);
    const beads = (body.items as { id: string; title: string }[]).map(({ id }) => `/ui/c/alpha/beads/${id}`);
    const page = await open('/ui/');
    for (const path of [...VIEWS, `/ui/c/alpha/sessions/${session}`, '/ui/c/alpha/beads?status=all&text=img', ...beads]) {
      await page.goto(`${stack.urls[0]}${path}`);
      await page
        .locator(
          path.includes('/sessions/')
            ? '[data-role="assistant"]'
            : /beads\//.test(path)
              ? '[data-bead-pane]'
              : /beads/.test(path)
                ? '[data-bead]'
                : 'h1',
        )
        .first()
        .waitFor();
      expect({
        path,
        harm: await page.evaluate('window.__harm'),
        made: await page.locator('img, iframe, object, #root script').count(),
      }).toEqual({
        path,
        harm: undefined,
        made: 0,
      });
    }
    await page.goto(`${stack.urls[0]}/ui/c/alpha/beads?text=gnp`);
    await page.getByText('⟨U+202E⟩gnp.exe⟨U+200B⟩').first().waitFor();
    await close(page);
    expect(elsewhere).toEqual([]);
  });

  const looks = [
    ['light', 1440],
    ['dark', 390],
    ['light', 390],
    ['dark', 1440],
  ] as const;
  // One an hour: ui-views opens more views in each of them.
  const now = looks.filter((_, nth) => DEEP || nth === Math.floor(Date.now() / 3_600_000) % looks.length);
  it.each(now)('has nothing that keeps somebody out, %s, %i pixels wide', async (theme, width) => {
    const session = await ask();
    await eventually(async () => (await waiting()).length > 0 || undefined);
    const axe = readFileSync(join(process.cwd(), 'node_modules/axe-core/axe.min.js'), 'utf8');
    const found: string[] = [];
    const page = await open('/ui/', { width, theme });
    for (const path of [...VIEWS, `/ui/c/alpha/sessions/${session}`, '/ui/c/alpha/beads?new=1', '/ui/c/alpha/sessions?new=1']) {
      await page.goto(`${stack.urls[0]}${path}`);
      await page.locator('h1').first().waitFor();
      if (path.includes('/beads')) await page.locator('[data-bead]').first().waitFor();
      await page.evaluate(axe);
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
        "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })",
      );
      found.push(...violations.map(({ id, nodes }) => `${theme} ${width} ${path} ${id} ${nodes[0]!.html.slice(0, 160)}`));
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      if (wide > 0) found.push(`${theme} ${width} ${path} is ${wide} px too wide`);
    }
    await close(page);
    expect(found).toEqual([]);
    for (const id of await waiting()) await a.post(`${city}/session/${session}/respond`, { action: 'deny', request_id: id });
  });

  it('is exact after its api was away: every row as the service has it', async () => {
    const going = await stack.add('api');
    const port = Number(new URL(going.url).port);
    const page = await open('/ui/c/alpha/beads', { base: going.url });
    await page.locator('[data-bead]').first().waitFor();
    const told = page.waitForRequest((request) => new URL(request.url()).pathname === '/v0/info', { timeout: 0 });
    // What is said in a place that was there before is read out.
    const place = page.locator('main + [role=status]');
    expect([await place.count(), await place.textContent()]).toEqual([1, '']);
    await going.stop();
    await page.locator('[data-connection="Reconnecting"]').first().waitFor({ state: 'attached' });
    // Whatever somebody looks at meanwhile says of when it is.
    await place.getByText('The service does not answer').waitFor();
    await page.locator('[data-as-of]').first().waitFor();
    for (const view of ['Inbox', 'Beads']) {
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }).first().click();
      await page.getByRole('heading', { name: view, level: 1 }).waitFor();
      await page.locator('[data-as-of]').first().waitFor();
    }
    for (let i = 0; i < 5; i++) await a.post(`${city}/beads`, { title: `Made meanwhile ${i}` });
    const { body: before } = await a.get(`${city}/beads?limit=1000`);
    const [first] = before.items as { id: string }[];
    await a.post(`${city}/bead/${first!.id}/close`, {});
    const again = await stack.add('api', { port });
    await page.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });
    // The view and the bar under it may both have said so.
    await eventually(async () => (await page.locator('[data-as-of]').count()) === 0);
    // What its key may is asked once more.
    await told;
    await a.post(`${city}/beads`, { title: 'Made afterwards' });
    await page.locator('[data-bead]').getByText('Made afterwards').waitFor();
    const { body } = await a.get(`${city}/beads?limit=1000`);
    const rows = await Promise.all((await page.locator('[data-bead]').all()).map((row) => row.getAttribute('data-bead')));
    expect(rows).toEqual((body.items as { id: string }[]).map(({ id }) => id));
    expect(await page.locator('[data-total]').textContent()).toBe(String(body.total));
    await close(page);
    await again.stop();
    complaints.splice(
      0,
      complaints.length,
      ...complaints.filter((text) => !/ERR_CONNECTION|Failed to load resource|ERR_INCOMPLETE/.test(text)),
    );
  });

  it('has its streams once for ten tabs', async () => {
    const context = await browser.newContext();
    const pages = await Promise.all(Array.from({ length: 10 }, () => context.newPage()));
    for (const page of pages) await page.goto(`${stack.urls[0]}/ui/c/alpha/beads`);
    await a.post(`${city}/beads`, { title: 'For ten tabs' });
    for (const page of pages) {
      // Hidden pages draw nothing.
      await page.bringToFront();
      await page.getByText('For ten tabs').first().waitFor();
    }
    await context.close();
  });

  it('complains about nothing on the console, and its policy was never needed', () => {
    expect(complaints).toEqual([]);
  });
});

described('an empty supervisor', () => {
  let stack: Stack;
  let browser: Browser;

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 1, workers: 1, config: { auth: 'keys' } });
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  it('leads from a key and nothing to a session that talks', async () => {
    const key = await putKey(stack.databaseUrl, 'operator', { scope: 'write' });
    const context = await browser.newContext();
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${stack.urls[0]}/ui/`);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Directory').fill('first');
    await page.getByRole('radio', { name: /Loopback/ }).check();
    await page.getByRole('button', { name: 'Create the city' }).click();
    await page.waitForURL(/\/c\/first\/sessions/);
    await page.getByLabel('First message').fill('good morning');
    await page.getByRole('button', { name: 'Start the session' }).click();
    await page.locator('[data-transcript] [data-role="assistant"]').getByText('good morning').waitFor();
    expect(await page.evaluate('location.href + document.cookie')).not.toContain(key);
    // Another tab of the same browser needs no key; a fragment never takes the place of the one that is there.
    const second = await context.newPage();
    await second.goto(`${stack.urls[0]}/ui/#key=svc_of_somebody_else`);
    await second.locator('[data-connection="Live"]').first().waitFor();
    expect(await second.evaluate('location.hash')).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await second.getByLabel('API key').waitFor();
    await context.close();
  });

  it('keeps the key that an address has brought for its tab, and forgets it with the others', async () => {
    const key = await putKey(stack.databaseUrl, 'by address', { scope: 'write' });
    const context = await browser.newContext();
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const signedIn = (): Promise<void> => page.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.goto(`${stack.urls[0]}/ui/settings#key=${key}`);
    await signedIn();
    expect(await page.evaluate('location.href')).not.toContain(key);
    await page.reload();
    await signedIn();
    // The worker is gone with its last page, and comes back with the tab.
    await page.goto('about:blank');
    await page.goto(`${stack.urls[0]}/ui/settings`);
    await signedIn();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.reload();
    await page.getByLabel('API key').waitFor();
    await context.close();
  });
});
