/**
 * Pictures of the operator's page, before a service of its own with a city in which something is going on.
 *
 *   node scripts/ui-shots.mjs                 those of the README and of docs, into docs/images
 *   node scripts/ui-shots.mjs --all FOLDER    every view, wide and narrow, light and dark: to be looked at after a change
 *   … --only rigs,keys                        these views alone
 *   … --url http://127.0.0.1:8372             before a service that runs, and has the city already
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { demo } from './ui-demo.mjs';

const { values: options } = parseArgs({
  options: { all: { type: 'string' }, only: { type: 'string' }, url: { type: 'string' } },
});
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** Those that people see first. */
const SHOWN = ['inbox', 'overview', 'config', 'usage'];
const DAY = { width: 1280, height: 760 };

function start() {
  const data = mkdtempSync(join(tmpdir(), 'svc-shots-'));
  const child = spawn(process.execPath, ['dist/src/entry/serve.js'], {
    env: { ...process.env, SVC_DATA_DIR: data, SVC_PORT: '0', SVC_AUTH: 'off', SVC_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
    rmSync(data, { recursive: true, force: true });
  };
  const url = new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const found = /(https?:\/\/[^\s/]+)\n/.exec(text)?.[1];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', () => reject(new Error(`the service does not start:\n${text}`)));
  });
  return { url, stop };
}

const service = options.url === undefined ? start() : undefined;
try {
  const base = options.url ?? (await service.url);
  const { city, session, asking, bead } = options.url === undefined ? await demo(base) : await found(base);
  const c = `/ui/c/${city}`;
  const [first] = (await (await fetch(`${base}/v0/pending`)).json()).items;
  const alike = first === undefined ? '' : `question:${first.city}/${first.session_id}/${first.request_id}`;
  const views = {
    inbox: '/ui/',
    'inbox-alike': `/ui/?alike=${encodeURIComponent(alike)}`,
    'inbox-mute': `/ui/?mute=${encodeURIComponent(alike)}`,
    cities: '/ui/cities',
    overview: `${c}/`,
    sessions: `${c}/sessions`,
    session: `${c}/sessions/${session}`,
    search: `${c}/sessions/${session}?find=aurora`,
    asking: `${c}/sessions/${asking}`,
    'new-session': `${c}/sessions?new=1`,
    beads: `${c}/beads?bead=${bead}`,
    'all-beads': `${c}/beads`,
    'new-bead': `${c}/beads?new=1`,
    board: `${c}/beads?view=board&status=all`,
    tree: `${c}/beads?view=tree`,
    ready: `${c}/ready`,
    convoys: `${c}/convoys`,
    runs: `${c}/runs`,
    formulas: `${c}/formulas`,
    'new-formula': `${c}/formulas?new=1`,
    orders: `${c}/orders`,
    waits: `${c}/waits`,
    mail: `${c}/mail`,
    agents: `${c}/agents`,
    events: `${c}/events`,
    'all-events': '/ui/events',
    usage: `${c}/usage?range=1h&of=tokens`,
    'all-usage': '/ui/usage',
    config: `${c}/config`,
    values: `${c}/config?tab=values`,
    revisions: `${c}/config?tab=revisions&revision=3`,
    draft: `${c}/config?tab=draft`,
    rigs: `${c}/rigs`,
    'new-rig': `${c}/rigs?new=1`,
    packs: `${c}/packs`,
    providers: `${c}/providers`,
    patches: `${c}/patches?kind=providers`,
    messaging: `${c}/messaging`,
    conversation: `${c}/messaging?tab=conversation&provider=slack&account=harbor&conversation=arrivals`,
    deliveries: `${c}/messaging?tab=deliveries`,
    adapters: `${c}/messaging?tab=adapters`,
    services: `${c}/services?log=board`,
    maintenance: `${c}/maintenance`,
    runners: '/ui/runners',
    health: '/ui/health',
    keys: '/ui/keys',
    audit: '/ui/audit',
    settings: '/ui/settings',
  };
  const only = options.only?.split(',');
  const chosen = Object.entries(views).filter(([name]) => only?.includes(name) ?? (options.all !== undefined || SHOWN.includes(name)));
  const folder = options.all ?? 'docs/images';
  mkdirSync(folder, { recursive: true });
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  const looks =
    options.all === undefined
      ? [DAY]
      : [
          { width: 1440, height: 900 },
          { width: 390, height: 844 },
        ];
  for (const viewport of looks)
    for (const colorScheme of ['light', 'dark']) {
      const page = await browser.newPage({ viewport, colorScheme, locale: 'en-GB' });
      for (const [name, path] of chosen) {
        await page.goto(`${base}${path}`);
        await page.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });
        // Streams stay open: there is no moment at which the network is idle.
        await page.waitForTimeout(900);
        const file = join(
          folder,
          options.all === undefined ? `${name}-${colorScheme}.png` : `${name}-${viewport.width}-${colorScheme}.png`,
        );
        await page.screenshot({ path: file });
        if (options.all === undefined) console.log(`${file} ${Math.round(statSync(file).size / 1024)} KB`);
      }
      await page.close();
    }
  await browser.close();
} finally {
  await service?.stop();
}

/** The city that is looked at of a service that runs. */
async function found(base) {
  const read = async (path) => (await fetch(`${base}${path}`)).json();
  const [{ name }] = (await read('/v0/cities')).items.filter(({ running }) => running);
  const sessions = (await read(`/v0/city/${name}/sessions?limit=2`)).items ?? [];
  const beads = (await read(`/v0/city/${name}/beads?limit=1`)).items ?? [];
  return { city: name, session: sessions[0]?.id, asking: sessions.at(-1)?.id, bead: beads[0]?.id };
}
