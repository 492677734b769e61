/**
 * Pictures of the operator's page, each view wide and narrow, light and dark: `node scripts/ui-shots.mjs URL CITY FOLDER`, of a service that runs.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [base = 'http://127.0.0.1:8372', city = 'demo', folder = 'shots'] = process.argv.slice(2);
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
mkdirSync(folder, { recursive: true });

const read = async (path) => (await fetch(`${base}/v0/city/${city}/${path}`)).json();
const [session] = (await read('sessions?limit=1')).items ?? [];
const [bead] = (await read('beads?limit=1')).items ?? [];
const views = {
  inbox: '/ui/',
  cities: '/ui/cities',
  sessions: `/ui/c/${city}/sessions`,
  beads: `/ui/c/${city}/beads`,
  'new-bead': `/ui/c/${city}/beads?new=1`,
  'new-session': `/ui/c/${city}/sessions?new=1`,
  events: `/ui/c/${city}/events`,
  settings: '/ui/settings',
  ...(session === undefined ? {} : { session: `/ui/c/${city}/sessions/${session.id}` }),
  ...(bead === undefined ? {} : { bead: `/ui/c/${city}/beads?bead=${bead.id}` }),
};

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
for (const width of [1440, 390])
  for (const colorScheme of ['light', 'dark']) {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    for (const [name, path] of Object.entries(views)) {
      await page.goto(`${base}${path}`);
      await page.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });
      // Streams stay open: there is no moment at which the network is idle.
      await page.waitForTimeout(700);
      await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
    }
    await page.close();
  }
await browser.close();
