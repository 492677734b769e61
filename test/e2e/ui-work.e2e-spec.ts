import { mkdir, writeFile } from 'node:fs/promises';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { api, outcome, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { barriers, Watcher, withBrowser } from '../support/operator-page.js';
import { PAGE_DIR, pageIsBuilt } from '../support/page.js';
import { eventually } from '../support/sse.js';

/** Text as an agent may write it. It must stay a text, wherever it is shown. */
const HOSTILE = '<img src=x onerror="window.__harm=1">\u202egnp\u200b {{1+1}} [x](javascript:window.__harm=1)';
const GREET = `formula = "greet"
description = "Say hello"
[vars]
who = { required = true }
[[steps]]
id = "say"
title = "Greet {{who}}"
[[steps]]
id = "wave"
title = "Wave"
needs = ["say"]
`;
const CITY = '/v0/city/alpha';

withBrowser("views of work on the operator's page", () => {
  let stack: Stack;
  let a: Api;
  let watcher: Watcher;
  const made: Record<string, string> = {};

  const bead = async (title: string, more: Record<string, unknown> = {}): Promise<string> => {
    const reply = await a.post(`${CITY}/beads`, { title, ...more });
    expect(outcome(reply)).toBe(201);
    return reply.body.id as string;
  };
  const session = async (message: string): Promise<string> => {
    const reply = await a.post(`${CITY}/sessions`, { kind: 'provider', name: 'loopback', title: `Says ${message}`, message });
    expect(outcome(reply)).toBe(202);
    const id = reply.body.session_id as string;
    await eventually(async () => (await a.get(`${CITY}/session/${id}`)).body.running === true || undefined);
    return id;
  };
  const read = async (path: string): Promise<any> => (await a.get(`${CITY}/${path}`)).body;
  const open = (path: string, how: Parameters<Watcher['page']>[1] = {}): Promise<Page> => watcher.page(`/ui/c/alpha${path}`, how);

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 1, workers: 1 });
    a = api(stack.urls[0]!);
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
    await ledger.stream.close();
    await mkdir(join(stack.citiesRoot, 'alpha/orders'), { recursive: true });
    await writeFile(
      join(stack.citiesRoot, 'alpha/orders/digest.toml'),
      '[order]\nexec = "echo made"\ntrigger = "cron"\nschedule = "30 2 * * 1-5"\n',
    );
    expect(outcome(await a.post(`${CITY}/config/reload`))).toBe(200);
    expect(outcome(await a.send('PUT', `${CITY}/formulas/greet`, GREET, { 'Content-Type': 'application/octet-stream' }))).toBe(200);
    made.first = await bead(HOSTILE, { description: HOSTILE, labels: ['l1'], priority: 1 });
    made.second = await bead('Second', { needs: [] });
    expect(outcome(await a.post(`${CITY}/bead/${made.second}/dependencies`, { depends_on_id: made.first }))).toBe(201);
    const convoy = await a.post(`${CITY}/convoys`, { title: HOSTILE, items: [made.first, made.second] });
    expect(outcome(convoy)).toBe(201);
    made.convoy = convoy.body.id;
    const mail = await a.post(`${CITY}/mail`, { to: 'human', from: 'mayor', subject: HOSTILE, body: HOSTILE });
    expect(outcome(mail)).toBe(201);
    made.mail = mail.body.id;
    const wait = await a.post(`${CITY}/waits`, { session: 'mayor', dep_ids: [made.second], note: HOSTILE });
    expect(outcome(wait)).toBe(201);
    made.wait = wait.body.id;
    made.session = await session('hello');
    made.agent = 'mayor';
    const run = await a.post(`${CITY}/sling`, { target: made.agent, formula: 'greet', vars: { who: HOSTILE } });
    expect(outcome(run)).toBe(200);
    made.run = run.body.run?.run_id ?? run.body.root_bead_id;
    watcher = await Watcher.open(stack.urls[0]!);
  });
  afterAll(async () => {
    await watcher?.stop();
    await stack?.stop();
  });

  /** Each view by its address, and by what one knows that it is there. */
  const views = (): Record<string, string> => ({
    '': '[data-seq]',
    '/ready': `[data-bead="${made.first}"]`,
    [`/ready?bead=${made.first}`]: '[data-bead-pane] dl',
    [`/beads/${made.first}?tab=timeline`]: '[data-bead-pane] svg[role="img"]',
    [`/beads/${made.first}?tab=graph`]: '[data-graph] [data-node]',
    '/convoys': `[data-convoy="${made.convoy}"]`,
    [`/convoys?convoy=${made.convoy}`]: '[data-convoy-pane] [data-member]',
    [`/convoys/${made.convoy}`]: '[data-convoy-pane] [data-member]',
    '/convoys?new=1': 'dialog form',
    '/runs': `[data-run="${made.run}"]`,
    [`/runs/${made.run}`]: '[data-step]',
    [`/runs/${made.run}?tab=graph`]: '[data-graph] [data-node]',
    [`/runs/${made.run}?tab=timeline`]: 'svg[role="img"], p.text-base',
    '/formulas': '[data-formula="greet"]',
    '/formulas/greet': 'ol li',
    '/formulas/greet?tab=source': 'pre',
    '/formulas/greet?tab=runs': 'ul li',
    '/orders': '[data-order="digest"]',
    '/orders/digest': 'ol[aria-label^="Firings"]',
    '/waits': `[data-wait="${made.wait}"]`,
    [`/waits?wait=${made.wait}`]: `[data-wait="${made.wait}"] a`,
    '/mail': `[data-mail="${made.mail}"]`,
    [`/mail?thread=${made.mail}`]: '[data-letter]',
    '/mail?new=1': 'dialog form',
    '/agents': `[data-agent="${made.agent}"]`,
    [`/agents/${made.agent}`]: '[role="tab"]',
    [`/agents/${made.agent}?tab=config`]: '[role="tab"]',
    [`/sessions/${made.session}`]: '[data-role="assistant"]',
  });

  it('opens each view by its address, with nothing that keeps somebody out, wide and light, or narrow and dark', async () => {
    const page = await open('');
    const found: string[] = [];
    // Turn and turn about: all of them in both is a minute.
    for (const [i, [path, there]] of Object.entries(views()).entries()) {
      const wide = i % 2 === 0;
      await page.setViewportSize(wide ? { width: 1440, height: 900 } : { width: 390, height: 844 });
      await page.emulateMedia({ colorScheme: wide ? 'light' : 'dark' });
      await watcher.go(page, `/ui/c/alpha${path}`);
      await page.locator(there).first().waitFor({ state: 'attached' });
      found.push(...(await barriers(page)).map((one) => `${wide ? 'wide' : 'narrow'} ${path} ${one}`));
      if ((await page.evaluate('window.__harm')) !== undefined || (await page.locator('img, iframe, object, #root script').count()) > 0)
        found.push(`${path} has made something of a text`);
    }
    expect(found).toEqual([]);
    expect(watcher.elsewhere).toEqual([]);
    await watcher.close(page);
  });

  it('says that a city does not run, in each view', async () => {
    const page = await watcher.page('/ui/c/nowhere/runs');
    for (const view of ['', '/ready', '/convoys', '/runs', '/formulas', '/orders', '/waits', '/mail', '/agents']) {
      await watcher.go(page, `/ui/c/nowhere${view}`);
      await page.getByText('nowhere is not running, or is not there').waitFor();
    }
    watcher.forgive(404);
    await watcher.close(page);
  });

  it('does the same to many by keys, tells who refused, and takes it back', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push(await bead(`Many ${i}`, { labels: ['many'] }));
    const page = await open('/beads?label=many');
    await page.locator(`[data-bead="${ids[5]}"]`).waitFor();
    // The newest is the first: marked from there to the fifth.
    await page.keyboard.press('x');
    for (let i = 0; i < 4; i++) await page.keyboard.press('j');
    await page.keyboard.press('Shift+X');
    expect(await page.locator('[data-marked]').count()).toBe(5);
    // With a pointer it is the same, also on the words of a bead: none is opened by it.
    await page.keyboard.press('Escape');
    await page.getByRole('checkbox', { name: `Mark ${ids[5]}` }).click();
    await page.getByRole('button', { name: 'Many 1', exact: true }).click({ modifiers: ['Shift'] });
    expect(await page.locator('[data-marked]').count()).toBe(5);
    expect(await page.locator('[data-bead-pane]').count()).toBe(0);
    await page.route(`**/bead/${ids[3]}/close`, async (route) => {
      await a.post(`${CITY}/bead/${ids[3]}/update`, { title: 'Changed meanwhile' });
      await route.continue();
    });
    await page.keyboard.press('Shift+C');
    await page.getByRole('button', { name: 'Close 5 beads' }).click();
    await page.locator('[data-bulk]').getByText('1 bead refused it').waitFor();
    await page.locator('[data-bulk] li').getByText(ids[3]!).waitFor();
    await page.locator('[data-done]').getByText('Closed: 4 beads').waitFor();
    const states = async (): Promise<string[]> => Promise.all(ids.map(async (id) => (await read(`bead/${id}`)).status));
    expect(await states()).toEqual(['open', 'closed', 'closed', 'open', 'closed', 'closed']);
    await page.keyboard.press('z');
    await page.locator('[data-done]').getByText('Taken back').waitFor();
    expect(await states()).toEqual(ids.map(() => 'open'));
    await page.unroute(`**/bead/${ids[3]}/close`);
    await page.keyboard.press('Control+a');
    await page.keyboard.press('l');
    await page.getByLabel('Label', { exact: true }).last().fill('seen');
    await page.keyboard.press('Enter');
    await page.locator('[data-done]').getByText('Labelled seen: 6 beads').waitFor();
    expect((await read('beads?label=seen')).total).toBe(6);
    watcher.forgive(412);
    await watcher.close(page);
  });

  it('copies the id of a bead, by its button and by a key', async () => {
    const page = await open(`/beads?bead=${made.second}`);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = async (): Promise<string> => {
      await page.locator('[data-done]').getByText(`${made.second} is copied`).first().waitFor();
      const text = await page.evaluate<string>('navigator.clipboard.readText()');
      await page.evaluate('navigator.clipboard.writeText("nothing")');
      return text;
    };
    await page.getByRole('button', { name: `Copy ${made.second}` }).click();
    expect(await copied()).toBe(made.second);
    await page.keyboard.press('Shift+Y');
    await page.locator('[data-done]').getByText(`${made.second} is copied`).nth(1).waitFor();
    expect(await copied()).toBe(made.second);
    await watcher.close(page);
  });

  it('claims a bead and gives it back, slings it, and shows it over time', async () => {
    const id = await bead('To be claimed');
    const page = await open(`/beads/${id}`);
    await page.locator('[data-bead-pane] dl').waitFor();
    await page.keyboard.press('m');
    await page.getByLabel('For whom').fill('ann');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Give back' }).click();
    await page.getByRole('button', { name: /^Claim/ }).waitFor();
    await page.keyboard.press('s');
    await page.getByLabel('To', { exact: true }).fill(made.agent!);
    await page.keyboard.press('Enter');
    await page.locator('[data-done]').getByText(`${id} is slung to`).waitFor();
    expect((await read(`bead/${id}`)).metadata['gc.routed_to']).toBe(made.agent);
    await page.keyboard.press(']');
    const lanes = page.locator('svg[role="img"]');
    await lanes.getByText('in progress').first().waitFor({ state: 'attached' });
    await lanes.getByText('ann').first().waitFor({ state: 'attached' });
    expect(page.url()).toContain('tab=timeline');
    await watcher.close(page);
  });

  it('draws what a bead depends on, and goes on from there by keys', async () => {
    const page = await open(`/beads/${made.second}?tab=graph`);
    const graph = page.locator('[data-graph]');
    await graph.locator(`[data-node="${made.first}"]`).waitFor();
    await graph.locator(`[data-id="${made.first}"]`).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/beads/${made.first}\\?tab=graph`));
    await watcher.close(page);
  });

  it('makes a convoy, fills it, takes out, and closes it with a way back', async () => {
    const [one, two] = [await bead('In a convoy'), await bead('Also in it')];
    const page = await open('/convoys');
    await page.keyboard.press('c');
    await page.getByLabel('Title').fill('Travels together');
    await page.getByLabel('Beads in it').fill(one);
    await page.getByRole('button', { name: 'Create the convoy' }).click();
    const pane = page.locator('[data-convoy-pane]');
    await pane.getByText('Travels together').waitFor();
    const id = (await pane.getAttribute('data-convoy-pane'))!;
    await page.locator(`[data-convoy="${id}"]`).waitFor();
    await page.keyboard.press('a');
    await page.getByLabel('Ids of beads').fill(two);
    await page.keyboard.press('Enter');
    await pane.locator(`[data-member="${two}"]`).waitFor();
    await a.post(`${CITY}/bead/${one}/close`, {});
    await pane.getByText('1 of 2').waitFor();
    await pane.getByRole('button', { name: `Take out ${two}` }).click();
    await eventually(async () => (await read(`bead/${id}`)).status === 'closed' || undefined);
    await page.locator(`[data-convoy="${id}"]`).waitFor({ state: 'detached' });
    await watcher.close(page);
  });

  it('starts a run by a formula, follows its steps, and cancels it', async () => {
    const page = await open('/formulas/greet');
    await page.keyboard.press('s');
    await page.getByLabel('To', { exact: true }).fill(made.agent!);
    await page.getByLabel('who', { exact: true }).fill('everybody');
    await page.getByRole('button', { name: 'Start the run' }).click();
    await page.waitForURL(/\/runs\//);
    await page.locator('[data-step]').getByText('Greet everybody').waitFor();
    const [first] = (await read(`${page.url().split('/c/alpha/')[1]}/steps`)).steps as { id: string }[];
    await a.post(`${CITY}/bead/${first!.id}/close`, {});
    await page.locator(`[data-step="${first!.id}"][data-status="completed"]`).waitFor();
    await page.getByText('1 of 2', { exact: false }).first().waitFor();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await page.getByRole('button', { name: /^Cancel \S+$/ }).click();
    await page.locator('header').getByText('canceled').first().waitFor();
    await watcher.close(page);
  });

  it('reads mail, answers it, writes, and archives', async () => {
    const { body: letter } = await a.post(`${CITY}/mail`, {
      to: 'human',
      from: made.agent,
      subject: 'The plan',
      body: 'The parser first.',
    });
    const page = await open('/mail');
    await page.locator(`[data-mail="${letter.id}"] button`).click();
    await page.locator('[data-letter]').getByText('The parser first.').waitFor();
    await eventually(async () => (await read(`mail/${letter.id}`)).read === true || undefined);
    await page.keyboard.press('r');
    await page.keyboard.type('Good.');
    await page.keyboard.press('Control+Enter');
    await page.locator('[data-letter]').nth(1).getByText('Good.').waitFor();
    expect((await read(`mail?agent=${made.agent}`)).items[0]).toMatchObject({ body: 'Good.', to: made.agent });
    await page.locator(`[data-letter="${letter.id}"]`).getByRole('button', { name: 'Archive' }).click();
    await page.getByRole('button', { name: `Archive ${letter.id}` }).click();
    await eventually(async () => (await read('mail?agent=human&status=archived')).total === 1 || undefined);
    const { body: digest } = await a.post(`${CITY}/mail`, { to: 'human', from: 'digest', subject: 'Numbers', body: 'All is well.' });
    await watcher.go(page, `/ui/c/alpha/mail?thread=${digest.id}`);
    // Guard: no box is offered for what nobody would read.
    await page.getByText('digest has no mailbox: nobody would read an answer.').waitFor();
    expect(await page.getByLabel('Reply').count()).toBe(0);
    // The same from a key, which has the mailbox of people.
    await page.route('**/mail/thread/**', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, body: (await response.text()).replace(/"answerable": ?false, ?/, '') });
    });
    await watcher.go(page, `/ui/c/alpha/mail?thread=${digest.id}`);
    const toPeople = page.getByText('If digest is a key and no agent, the reply goes to people');
    await page.locator('[data-letter]').getByText('All is well.').waitFor();
    await page.getByLabel('Reply').fill('Thanks');
    await toPeople.waitFor();
    await page.getByLabel('Reply').fill('');
    await toPeople.waitFor({ state: 'detached' });
    await watcher.go(page, '/ui/c/alpha/mail?new=1');
    // Guard: what is typed at once goes to whom it is for; the first that could have the focus is the box that sends to everybody.
    await page.getByLabel('To', { exact: true }).waitFor();
    await page.keyboard.type(made.agent!);
    await page.getByLabel('Subject').fill('By hand');
    await page.getByLabel('Text').fill('Written on the page');
    await page.getByRole('button', { name: /^Send/ }).click();
    await page.locator('[data-done]').getByText(`Sent to ${made.agent}`).waitFor();
    expect((await read(`mail?agent=${made.agent}`)).items[0].subject).toBe('By hand');
    await watcher.close(page);
  });

  it('makes a wait ready, pauses and fires an order, suspends an agent, each with its way back', async () => {
    const page = await open('/waits?new=1');
    await page.getByLabel('Who waits').fill('mayor');
    await page.getByRole('button', { name: 'Register the wait' }).click();
    await page.waitForURL(/wait=/);
    const id = new URL(page.url()).searchParams.get('wait')!;
    await page.locator(`[data-wait="${id}"]`).getByRole('button', { name: 'Make ready' }).click();
    await page
      .locator(`[data-wait="${id}"]`)
      // A session that runs is told at once, and then it is closed.
      .getByText(/^\W*(ready|closed)$/)
      .first()
      .waitFor();
    expect(await read(`wait/${id}`)).toMatchObject({ state: expect.stringMatching(/^(ready|closed)$/), ready_at: expect.any(String) });
    await watcher.go(page, '/ui/c/alpha/orders');
    const order = page.locator('[data-order="digest"]');
    await order.getByRole('button', { name: 'Pause' }).click();
    await order.getByText('paused').waitFor();
    expect((await read('order/digest')).enabled).toBe(false);
    await page.keyboard.press('z');
    await order.getByRole('button', { name: 'Pause' }).waitFor();
    await watcher.go(page, '/ui/c/alpha/orders/digest');
    // Its key is there with what it is about.
    await page
      .getByRole('button', { name: /^Fire now/ })
      .and(page.locator(':enabled:not([aria-disabled])'))
      .waitFor();
    await page.keyboard.press('f');
    await page.getByRole('button', { name: 'Fire', exact: true }).click();
    await page.locator('[data-firing]').getByText('success').waitFor();
    await watcher.go(page, '/ui/c/alpha/agents');
    const agent = page.locator(`[data-agent="${made.agent}"]`);
    await agent.getByRole('button', { name: 'Suspend' }).click();
    await agent.getByRole('button', { name: 'Resume' }).waitFor();
    await page.keyboard.press('z');
    await agent.getByRole('button', { name: 'Suspend' }).waitFor();
    await watcher.close(page);
  });

  it('counts members of pools, shows what each has done, and says in each view that one asks', async () => {
    // What is sent to the pool makes members of it, who are taken back when it is closed.
    const work = await bead('For the pool');
    expect(outcome(await a.post(`${CITY}/sling`, { target: 'core.worker', bead: work, no_formula: true }))).toBe(200);
    const member = await eventually(async () => {
      const { items } = await read('agents?running=true');
      return (items as { name: string }[]).find(({ name }) => name.startsWith('core.worker-'))?.name;
    });
    const asks = await session('ask');
    await eventually(async () => (await read('pending')).items.length > 0 || undefined);
    const page = await open(`/agents/${member}`);
    await page.getByRole('link', { name: new RegExp(`^${member}`) }).waitFor();
    // A member has no switch of its own.
    await page.getByRole('button', { name: 'Suspend pool' }).click();
    await page.getByRole('button', { name: 'Resume pool' }).waitFor();
    expect(await read('agent/core.worker')).toMatchObject({ suspended: true });
    await page.keyboard.press('z');
    await page.getByRole('button', { name: 'Suspend pool' }).waitFor();
    // The states of members of pools and of others stand below each other, however long their switches are.
    await watcher.go(page, '/ui/c/alpha/agents');
    for (const name of ['Suspend', 'Suspend pool']) await page.getByRole('button', { name, exact: true }).first().waitFor();
    const lefts = await page.evaluate<number[]>(
      "[...document.querySelectorAll('[data-agent]')].map((row) => Math.round(row.lastElementChild.previousElementSibling.getBoundingClientRect().left))",
    );
    expect(new Set(lefts).size).toBe(1);
    await watcher.go(page, '/ui/c/alpha');
    const { total } = await read('agents?limit=1');
    await page.locator('main').getByText(`of ${total}`, { exact: true }).waitFor();
    const row = page.locator(`main li:has(a[href$="/sessions/${asks}"])`);
    await row.getByText('asks you').waitFor();
    await watcher.go(page, `/ui/c/alpha/sessions/${asks}`);
    await page.locator('header').getByText('asks you').waitFor();
    expect(await page.getByText('the agent works').count()).toBe(0);
    await watcher.close(page);
    expect(outcome(await a.post(`${CITY}/session/${asks}/close`))).toBe(200);
    expect(outcome(await a.post(`${CITY}/bead/${work}/close`, {}))).toBe(200);
  });

  it('follows a transcript at its end, and moves nothing for who reads above', async () => {
    const id = await session('big 3000');
    for (let i = 0; i < 14; i++) {
      await a.post(`${CITY}/session/${id}/submit`, { message: `line ${i}\n`.repeat(12) });
      await eventually(async () => (await read(`session/${id}`)).activity === 'idle' || undefined);
    }
    const page = await open(`/sessions/${id}`);
    const log = page.locator('[data-transcript]');
    const rest = (): Promise<number> => log.evaluate((box: any) => box.scrollHeight - box.scrollTop - box.clientHeight);
    await log.getByText('line 13').first().waitFor();
    await eventually(async () => (await rest()) < 2 || undefined);
    // Not all is drawn.
    const entries = (await read(`session/${id}/transcript?format=structured`)).structured_messages.length as number;
    expect(await log.locator('[data-entry]').count()).toBeLessThan(entries);
    await a.post(`${CITY}/session/${id}/submit`, { message: 'stream 80 5' });
    await page.getByText('the agent works').waitFor();
    await page.getByText('the agent works').waitFor({ state: 'detached' });
    await eventually(async () => (await rest()) < 2 || undefined);
    await log.hover();
    await page.mouse.wheel(0, -1_500);
    await eventually(async () => (await rest()) > 600 || undefined);
    // What has come into sight is measured first.
    await log.evaluate(
      (box: any) =>
        new Promise<void>((resolve) => {
          let still = 0;
          let last = box.scrollTop;
          const look = (): void => {
            still = box.scrollTop === last ? still + 1 : 0;
            last = box.scrollTop;
            if (still > 12) resolve();
            else (globalThis as any).requestAnimationFrame(look);
          };
          look();
        }),
    );
    const entry = await log.evaluate((box: any) => {
      const { top } = box.getBoundingClientRect();
      const shown = [...box.querySelectorAll('[data-entry]')].find((one: any) => one.getBoundingClientRect().top > top + 50) as any;
      return { id: shown.dataset.entry as string, y: shown.getBoundingClientRect().top as number };
    });
    await a.post(`${CITY}/session/${id}/submit`, { message: 'stream 80 5' });
    await page.getByRole('button', { name: /new entr/ }).waitFor();
    const moved = (await log.locator(`[data-entry="${entry.id}"]`).boundingBox())!.y - entry.y;
    expect(Math.abs(moved)).toBeLessThanOrEqual(1);
    await page.keyboard.press('Shift+G');
    await eventually(async () => (await rest()) < 2 || undefined);
    await watcher.close(page);
  });

  it('reads what agents write as Markdown, searches in it, and finds an entry again by its address', async () => {
    const id = await session('**bold** and [the host](https://elsewhere.example/a) and <b onclick=x>');
    const idle = async (): Promise<unknown> => eventually(async () => (await read(`session/${id}`)).activity === 'idle' || undefined);
    await idle();
    const page = await open(`/sessions/${id}`);
    const said = page.locator('[data-role="assistant"]');
    await said.locator('strong').getByText('bold').waitFor();
    const link = said.getByRole('link', { name: 'the host' });
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer nofollow');
    await said.getByText('(elsewhere.example)').waitFor();
    await said.getByText('<b onclick=x>').waitFor();
    // What a person has written is what he has written.
    await page.locator('[data-role="user"]').getByText('**bold**').waitFor();
    for (const message of ['the needle', 'tool', 'another needle', 'big 4000']) {
      await a.post(`${CITY}/session/${id}/submit`, { message });
      await idle();
    }
    await page.keyboard.press('/');
    await page.getByLabel('Search what was said').fill('needle');
    await page.getByText('4 found').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('1 of 4').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('2 of 4').waitFor();
    const here = page.locator('[data-entry][aria-current]');
    await here.getByText('another needle').waitFor();
    const entry = await here.getAttribute('data-entry');
    await page.getByLabel('Search what was said').fill('echo hello');
    await page.keyboard.press('Enter');
    // What is folded is opened where something was found in it.
    await here.locator('details[open]').getByText('echo hello').first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel('Search what was said').waitFor({ state: 'detached' });
    await watcher.go(page, `/ui/c/alpha/sessions/${id}?entry=${encodeURIComponent(entry!)}`);
    await here.getByText('another needle').waitFor();
    await page.keyboard.press('k');
    await here.getByText('another needle').waitFor({ state: 'detached' });
    await watcher.close(page);
  });

  it('writes a formula, refuses what is wrong in it, and keeps what somebody else has saved', async () => {
    const page = await open('/formulas?new=1');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('wave');
    await dialog.getByLabel('File').fill('formula = "wave"\n[[steps]]\nid = 1\n');
    await dialog.getByRole('button', { name: 'Look for mistakes' }).click();
    await dialog.getByRole('alert').locator('li').first().waitFor();
    await dialog.getByLabel('File').fill('formula = "wave"\n[[steps]]\nid = "up"\ntitle = "Wave a hand"\n');
    await dialog.getByRole('button', { name: 'Look for mistakes' }).click();
    await dialog.getByText('Nothing is wrong with it').waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.waitForURL(/\/formulas\/wave/);
    await page.getByText('Wave a hand').waitFor();
    await page.getByRole('tab', { name: 'Source' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    const theirs = GREET.replace('greet', 'wave');
    expect(outcome(await a.send('PUT', `${CITY}/formulas/wave`, theirs, { 'Content-Type': 'application/octet-stream' }))).toBe(200);
    await page.locator('pre').getByText('Greet {{who}}').first().waitFor();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Somebody has changed the configuration meanwhile').waitFor();
    await dialog.getByRole('button', { name: 'Mine over theirs' }).click();
    await eventually(async () => ((await read('formulas/wave/source')).source as string).includes('Wave a hand') || undefined);
    await dialog.waitFor({ state: 'detached' });
    // It is deleted as the page knows it.
    await page.locator('pre').getByText('Wave a hand').first().waitFor();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: 'Delete wave' }).click();
    await page.waitForURL(/\/formulas$/);
    await page.locator('[data-formula="wave"]').waitFor({ state: 'detached' });
    watcher.forgive(412);
    await watcher.close(page);
  });

  it('says what to look at beside questions, and lets a session go on that another configuration has started', async () => {
    const page = await watcher.page('/ui/');
    const { body: letter } = await a.post(`${CITY}/mail`, { to: 'human', from: 'mayor', subject: 'Opened', body: 'from the inbox' });
    await page.locator(`[data-item="${letter.id}"] a`).click();
    await page.locator('[data-letter]').getByText('from the inbox').waitFor();
    await eventually(async () => (await read(`mail/${letter.id}`)).read === true || undefined);
    // No session drifts for as long as a test needs one to.
    const drift = {
      session_id: made.session,
      title: 'Says hello',
      template: 'loopback',
      state: 'active',
      activity: 'idle',
      differs: ['args'],
      next: 'restart_after_turn',
    };
    let kept = 0;
    await page.route('**/sessions/drift?*', (route) =>
      route.fulfill({ json: { items: kept === 0 ? [drift] : [], total: kept === 0 ? 1 : 0 } }),
    );
    page.on('response', (response) => {
      if (response.url().endsWith(`/session/${made.session}/accept-drift`)) kept = response.status();
    });
    await watcher.go(page, '/ui/c/alpha/agents');
    const row = page.locator(`[data-drift="${made.session}"]`);
    await row.getByText('starts again after its turn').waitFor();
    await row.getByRole('button', { name: 'Let it go on' }).click();
    await row.waitFor({ state: 'detached' });
    expect(kept).toBe(200);
    await watcher.close(page);
  });

  it('orders beads as they are asked for, whatever happens to them', async () => {
    const ids: string[] = [];
    for (const priority of [3, 0, 1]) ids.push(await bead(`Sorted ${priority}`, { labels: ['sorted'], priority }));
    const page = await open('/beads?label=sorted&sort=updated_at');
    const rows = async (): Promise<(string | null)[]> =>
      Promise.all((await page.locator('[data-bead]').all()).map((row) => row.getAttribute('data-bead')));
    const [third, first, second] = ids as [string, string, string];
    await page.locator(`[data-bead="${third}"]`).waitFor();
    await a.post(`${CITY}/bead/${first}/update`, { description: 'changed' });
    await eventually(async () => (await rows()).join() === [first, second, third].join() || undefined);
    await page.getByLabel('Order').selectOption('priority');
    await eventually(async () => (await rows()).join() === [first, second, third].join() || undefined);
    await a.post(`${CITY}/bead/${third}/update`, { priority: 0 });
    await eventually(async () => (await rows()).join() === [third, first, second].join() || undefined);
    await page.locator(`[data-bead="${second}"]`).click();
    await page.locator('[data-bead-pane]').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('button', { name: `Delete ${second}` }).click();
    await page.locator(`[data-bead="${second}"]`).waitFor({ state: 'detached' });
    expect((await a.get(`${CITY}/bead/${second}`)).status).toBe(404);
    await watcher.close(page);
  });

  it('has room on a phone for what a session with a long name asks', async () => {
    const title = 'A name that is longer than any line of a phone has room for, whatever is left out of it';
    const reply = await a.post(`${CITY}/sessions`, { kind: 'provider', name: 'loopback', title, message: 'ask' });
    expect(outcome(reply)).toBe(202);
    const page = await open('', { width: 390 });
    const row = page.getByRole('listitem').filter({ hasText: 'May I?' }).filter({ hasText: title });
    await row.waitFor();
    const right = async (one: ReturnType<Page['locator']>): Promise<number> => {
      const { x, width } = (await one.boundingBox())!;
      return x + width;
    };
    for (const inside of [row.getByRole('link'), row.getByText('May I?'), row.locator('time')])
      expect(await right(inside)).toBeLessThanOrEqual(await right(row));
    await a.post(`${CITY}/session/${reply.body.session_id}/respond`, { action: 'deny' });
    await a.post(`${CITY}/session/${reply.body.session_id}/close`);
    await watcher.close(page);
  });

  it('moves nothing for who reads further down in a list of beads, and closes one once however often it is pressed', async () => {
    for (let i = 0; i < 60; i++) await bead(`Row ${i}`, { labels: ['rows'] });
    const page = await open('/beads?label=rows');
    const row = page.locator('[data-bead]').filter({ hasText: /Row 30(?!\d)/ });
    await page.locator('[data-bead]').first().waitFor();
    await page.locator('[data-beads]').evaluate((box) => (box.scrollTop = 25 * 44));
    await row.waitFor();
    const { y } = (await row.boundingBox())!;
    for (let i = 0; i < 5; i++) await bead(`New ${i}`, { labels: ['rows'] });
    await page.locator('[data-total]').getByText('65', { exact: true }).waitFor();
    expect((await row.boundingBox())!.y).toBe(y);
    await row.click();
    const close = page
      .locator('[data-bead-pane]')
      .getByRole('button', { name: /^Close/ })
      .last();
    let asked = 0;
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/close', async (route) => {
      asked++;
      await held;
      await route.continue();
    });
    await close.click();
    await page.keyboard.press('Shift+C');
    await page.keyboard.press('Shift+C');
    answer();
    await page.locator('[data-bead-pane]').getByRole('button', { name: 'Undo: reopen' }).waitFor();
    expect(asked).toBe(1);
    expect(await page.locator('[data-bead-pane] [role="alert"]').count()).toBe(0);
    await watcher.close(page);
  });

  it('tells of a question while nobody looks, and never what it is about', async () => {
    const page = await watcher.page('/ui/settings');
    await page.evaluate(`
      globalThis.__notices = [];
      globalThis.Notification = class {
        static permission = 'granted';
        static requestPermission = () => Promise.resolve('granted');
        constructor(title, options) { __notices.push({ title, ...options }); }
        close() {}
      };
    `);
    await page.getByLabel(/^A notice for each question/).check();
    await page.evaluate(`
      Object.defineProperty(document, 'hidden', { get: () => true });
      document.dispatchEvent(new Event('visibilitychange'));
    `);
    const id = await session('ask');
    const notices = await eventually(async () => {
      const told = await page.evaluate<{ title: string; tag: string }[]>('__notices');
      return told.length > 0 ? told : undefined;
    });
    expect(notices).toEqual([expect.objectContaining({ title: expect.stringContaining(' asks in alpha') })]);
    expect(JSON.stringify(notices)).not.toContain('May I');
    expect(outcome(await a.post(`${CITY}/session/${id}/respond`, { action: 'deny' }))).toBe(202);
    await watcher.close(page);
  });

  it('has beads and mail for people in the inbox, counted once for badge, title and page, and ends them with a way back', async () => {
    const id = await bead('For you to decide', { assignee: 'human', priority: 0 });
    const page = await watcher.page('/ui/');
    const item = page.locator(`[data-item="${id}"]`);
    await item.waitFor();
    const counted = async (): Promise<void> => {
      const [mail, asked] = [(await a.get('/v0/inbox')).body, (await a.get('/v0/pending')).body];
      await eventually(async () => (await page.title()).startsWith(`(${mail.total + asked.total}) `) || undefined);
      expect(await page.locator('[data-waiting]').getAttribute('data-waiting')).toBe(String(mail.total + asked.total));
      expect(
        await page
          .getByRole('link', { name: /^Inbox/ })
          .first()
          .innerText(),
      ).toContain(String(mail.total + asked.total));
    };
    await counted();
    await item.getByRole('button', { name: `Close: ${id}` }).click();
    await item.waitFor({ state: 'detached' });
    expect((await read(`bead/${id}`)).status).toBe('closed');
    await counted();
    await page.keyboard.press('z');
    await item.waitFor();
    expect((await read(`bead/${id}`)).status).toBe('open');
    await watcher.go(page, '/ui/?kind=mail');
    await page.locator(`[data-item="${made.mail}"]`).waitFor();
    expect(await page.locator(`[data-item="${id}"]`).count()).toBe(0);
    const { body: letter } = await a.post(`${CITY}/mail`, { to: 'human', from: 'mayor', subject: 'Read me', body: 'soon' });
    await page
      .locator(`[data-item="${letter.id}"]`)
      .getByRole('button', { name: `Mark read: ${letter.id}` })
      .click();
    await page.locator(`[data-item="${letter.id}"]`).waitFor({ state: 'detached' });
    expect((await read(`mail/${letter.id}`)).read).toBe(true);
    await a.post(`${CITY}/bead/${id}/close`, {});
    await watcher.close(page);
  });

  it('mutes a kind for a while, says so, keeps it in this browser, and tells of it again', async () => {
    const page = await watcher.page('/ui/');
    const letter = page.locator(`[data-item="${made.mail}"]`);
    await letter.waitFor();
    const { total, counts } = (await a.get('/v0/inbox')).body;
    const asked = (await a.get('/v0/pending')).body.total as number;
    await letter.getByRole('button', { name: `Mute ${made.mail}` }).click();
    await page.waitForURL(/mute=/);
    await page.getByRole('radio', { name: 'all mail' }).check();
    await page.getByRole('button', { name: 'Mute', exact: true }).click();
    const stated = page.locator('[data-mute="kind:mail"]');
    await stated.getByText('all mail, until').waitFor();
    await letter.waitFor({ state: 'detached' });
    const titled = (n: number): Promise<unknown> =>
      eventually(async () => (n === 0 ? !(await page.title()).startsWith('(') : (await page.title()).startsWith(`(${n}) `)) || undefined);
    await titled(total - counts.mail + asked);
    await page.getByRole('button', { name: /^Show / }).click();
    await page.waitForURL(/muted=1/);
    await page.locator(`[data-muted="mail:alpha/${made.mail}"]`).waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.reload();
    await stated.waitFor();
    expect(await letter.count()).toBe(0);
    await stated.getByRole('button', { name: 'Unmute all mail' }).click();
    await letter.waitFor();
    await titled(total + asked);
    await watcher.close(page);
  });

  it('answers questions that ask the same with one choice, each by its own request, and tells their ends apart', async () => {
    const ids = [await session('ask'), await session('ask'), await session('ask')];
    const asked = await eventually(async () => {
      const { items } = (await a.get('/v0/pending')).body as { items: { session_id: string; request_id: string }[] };
      const mine = items.filter(({ session_id }) => ids.includes(session_id));
      return mine.length === ids.length ? mine : undefined;
    });
    const page = await watcher.page('/ui/');
    await page.locator(`[data-ask="${asked[0]!.request_id}"]`).first().waitFor();
    await eventually(async () => (await page.locator('[data-ask]').count()) >= 3 || undefined);
    const sent: string[] = [];
    const taken = ids[1]!;
    await page.route('**/respond', async (route) => {
      const { pathname } = new URL(route.request().url());
      sent.push(`${pathname} ${route.request().headers()['idempotency-key']}`);
      // Somebody else is first at one of them.
      if (pathname.includes(taken)) expect(outcome(await a.post(`${CITY}/session/${taken}/respond`, { action: 'deny' }))).toBe(202);
      await route.continue();
    });
    await page.keyboard.press('a');
    await page.waitForURL(/alike=/);
    const dialog = page.locator('dialog[open]');
    await dialog.getByRole('button', { name: 'Allow: all 3', exact: true }).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
    expect(await barriers(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Allow: all 3', exact: true }).click();
    const row = (id: string): ReturnType<Page['locator']> => {
      const { request_id } = asked.find(({ session_id }) => session_id === id)!;
      return dialog.locator(`[data-alike="${request_id}"]`);
    };
    await dialog.getByText('2 answered, 1 not').waitFor();
    for (const id of [ids[0]!, ids[2]!]) await row(id).getByText('answered: Allow').waitFor();
    await row(taken).getByText(/^▲/).waitFor();
    expect(new Set(sent).size).toBe(3);
    const said = async (id: string): Promise<string> => (await a.get(`${CITY}/session/${id}/transcript`)).text;
    for (const id of ids) {
      const choice = id === taken ? 'chosen: deny' : 'chosen: allow';
      await eventually(async () => (await said(id)).includes(choice) || undefined);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    expect(page.url()).not.toContain('alike');
    watcher.forgive(409);
    await watcher.close(page);
  });

  it('shows beads as a board and as a tree, walked by keys', async () => {
    const whole = await bead('Whole', { labels: ['shape'] });
    const part = await bead('Part of it', { labels: ['shape'], parent: whole });
    const smaller = await bead('Part of the part', { labels: ['shape'], parent: part });
    expect(outcome(await a.post(`${CITY}/bead/${smaller}/claim`, { assignee: 'ann' }))).toBe(200);
    const page = await open('/beads?label=shape');
    await page.locator(`[data-bead="${whole}"]`).waitFor();
    await page.keyboard.press('v');
    await page.waitForURL(/view=board/);
    const column = (id: string): ReturnType<Page['locator']> => page.locator(`[data-column="${id}"]`);
    await column('in_progress').locator(`[data-bead="${smaller}"]`).waitFor();
    expect(await column('open').locator('[data-bead]').count()).toBe(2);
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('ArrowRight');
    await page.locator(`[data-bead="${smaller}"][data-current]`).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('x');
    expect(await page.locator('[data-marked]').count()).toBe(1);
    await a.post(`${CITY}/bead/${part}/claim`, { assignee: 'ann' });
    await column('in_progress').locator(`[data-bead="${part}"]`).waitFor();
    await page.keyboard.press('v');
    await page.waitForURL(/view=tree/);
    const level = (id: string): Promise<string | null> => page.locator(`[data-bead="${id}"]`).getAttribute('aria-level');
    await page.locator(`[data-bead="${smaller}"]`).waitFor();
    expect(await Promise.all([whole, part, smaller].map(level))).toEqual(['1', '2', '3']);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await barriers(page)).toEqual([]);
    await page.keyboard.press('k');
    await page.keyboard.press('k');
    await page.locator(`[data-bead="${whole}"][data-current]`).waitFor();
    await page.keyboard.press('ArrowLeft');
    await page.locator(`[data-bead="${part}"]`).waitFor({ state: 'detached' });
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await page.locator(`[data-bead="${part}"][data-current]`).waitFor();
    await page.keyboard.press('o');
    await page.locator('[data-bead-pane]').waitFor();
    expect(page.url()).toContain(`bead=${part}`);
    await page.setViewportSize({ width: 390, height: 844 });
    await watcher.go(page, '/ui/c/alpha/beads?label=shape&view=board');
    await page.getByText('A board needs more width').waitFor();
    await page.locator(`[data-bead="${smaller}"][aria-level="3"]`).waitFor();
    expect(await barriers(page)).toEqual([]);
    await watcher.close(page);
  });

  it('shows messages on their way, takes one back, and gives a session another name', async () => {
    const id = await session('hello');
    await eventually(async () => (await read(`session/${id}`)).activity === 'idle' || undefined);
    await a.post(`${CITY}/session/${id}/submit`, { message: 'stream 400 20' });
    const page = await open(`/sessions/${id}`);
    await page.getByText('the agent works').waitFor();
    await page.getByLabel('When').selectOption('follow_up');
    await page.getByRole('textbox', { name: 'Message' }).fill('for later');
    await page.keyboard.press('Control+Enter');
    const queued = page.locator('[data-queued="queued"]').getByText('for later');
    await queued.waitFor();
    await page.getByRole('button', { name: 'Take back' }).click();
    await queued.waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /^More/ }).last().click();
    await page.getByLabel('Title').fill('Another name');
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { name: 'Another name' }).waitFor();
    expect((await read(`session/${id}`)).title).toBe('Another name');
    await a.post(`${CITY}/session/${id}/stop`);
    await watcher.close(page);
  });

  it('finds by words what any city has, and shows the fleet in numbers', async () => {
    const id = await bead('Xylophone repairs');
    const page = await watcher.page('/ui/cities');
    const overview = (await a.get('/v0/overview')).body.items[0];
    const row = page.locator('[data-city="alpha"]');
    await row.locator('[data-numbers]').getByText(`${overview.ready} ready`).waitFor();
    await row.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('dialog', { name: 'Stop alpha?' }).getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await a.get('/v0/city/alpha/status')).status).toBe(200);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('xylo');
    await page.getByRole('option', { name: /Xylophone repairs/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/c/alpha/beads/${id}`));
    await watcher.close(page);
  });

  it('says that a view is on its way where the network is slow', async () => {
    const page = await watcher.page('/ui/c/alpha/beads');
    let arrive!: () => void;
    const slow = new Promise<void>((resolve) => (arrive = resolve));
    await page.route('**/assets/orders-*.js', (route) => slow.then(() => route.continue()));
    await page.getByRole('link', { name: 'Orders', exact: true }).click();
    const sign = page.getByRole('progressbar', { name: 'Opening the view' });
    await sign.waitFor();
    arrive();
    await page.getByRole('heading', { name: 'Orders' }).waitFor();
    await sign.waitFor({ state: 'detached' });
    await watcher.close(page);
  });

  it('keeps the details of a city right when somebody else suspends it', async () => {
    const page = await watcher.page('/ui/cities');
    const alpha = page.locator('[data-city="alpha"]');
    await alpha.getByRole('button', { name: 'Details' }).click();
    await alpha.getByText('agents may run').waitFor();
    expect(outcome(await a.patch(CITY, { suspended: true }))).toBe(200);
    await alpha.getByText(/^\W*suspended$/).waitFor();
    expect(outcome(await a.patch(CITY, { suspended: false }))).toBe(200);
    await alpha.getByText('agents may run').waitFor();
    await watcher.close(page);
  });

  it('has a graph of at most 80 KB, and no other view above 60', () => {
    const sizes = readdirSync(join(PAGE_DIR, 'assets'))
      .filter((file) => file.endsWith('.js') && !/^(page|common|index)-/.test(file))
      .map((file) => [file, gzipSync(readFileSync(join(PAGE_DIR, 'assets', file))).length / 1024] as const);
    expect(sizes.filter(([file, size]) => size > (/^flow-/.test(file) ? 80 : 60))).toEqual([]);
    expect(sizes.some(([file]) => /^flow-/.test(file))).toBe(true);
  });

  it('complains about nothing on the console, and its policy was never needed', () => {
    expect(watcher.complaints).toEqual([]);
  });
});
