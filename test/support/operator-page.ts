import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { chromium, type Browser, type Page } from 'playwright-core';
import { eventually } from './sse.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (CHROMIUM === undefined && process.env.CI === 'true') throw new Error('CI needs a Chromium');

/** Answers a question as somebody who has read it: what has just come, or has moved while the page fills, takes no click. */
export async function choose(page: Page, name: string): Promise<void> {
  const button = page.locator('[data-ask]').getByRole('button', { name, exact: true }).and(page.locator(':enabled:not([aria-disabled])'));
  await button.waitFor();
  await eventually(async () => {
    await page.waitForTimeout(300);
    if ((await button.count()) > 0) await button.click();
    return (await button.count()) === 0;
  });
}

/** Only where there is a browser. */
export const withBrowser = CHROMIUM === undefined ? describe.skip : describe;

interface Opening {
  readonly width?: number;
  readonly theme?: 'light' | 'dark';
}

/** A browser that looks at the operator's page: what it complains about is collected, and what it asks others for. */
export class Watcher {
  readonly complaints: string[] = [];
  readonly elsewhere: string[] = [];

  private constructor(
    private readonly browser: Browser,
    private readonly base: string,
  ) {}

  static async open(base: string): Promise<Watcher> {
    return new Watcher(await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] }), base);
  }

  stop(): Promise<void> {
    return this.browser.close();
  }

  /** A page in a browser that has seen nothing yet. */
  async page(path: string, { width = 1440, theme = 'light' }: Opening = {}): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme });
    await context.addInitScript(
      "document.addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI))",
    );
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    page.on('console', (message) => (message.type() === 'error' ? this.complaints.push(`${page.url()} ${message.text()}`) : undefined));
    page.on('pageerror', (error) => this.complaints.push(`${page.url()} ${error.message}`));
    page.on('request', (request) => (new URL(request.url()).origin === this.base ? undefined : this.elsewhere.push(request.url())));
    await this.go(page, path);
    return page;
  }

  async go(page: Page, path: string): Promise<void> {
    await page.goto(`${this.base}${path}`);
    await page.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });
    // A view that is not there yet has no keys.
    await page.locator('main :is(h1, h2)').first().waitFor({ state: 'attached' });
  }

  close(page: Page): Promise<void> {
    return page.context().close();
  }

  /** Refusals that a test has provoked. */
  forgive(status: number): void {
    this.complaints.splice(0, this.complaints.length, ...this.complaints.filter((text) => !text.includes(String(status))));
  }
}

const AXE = 'node_modules/axe-core/axe.min.js';

/** What keeps somebody out of what is shown now, and whether it is wider than its window. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(join(process.cwd(), AXE), 'utf8'));
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })",
  );
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  return [...violations.map(({ id, nodes }) => `${id} ${nodes[0]!.html.slice(0, 200)}`), ...(wide > 0 ? [`${wide} px too wide`] : [])];
}
