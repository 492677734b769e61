import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

/** The browser of this machine. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (CHROMIUM === undefined && process.env.CI === 'true') throw new Error('CI needs a Chromium');

const AXE = join(process.cwd(), 'node_modules/axe-core/axe.min.js');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** It is pressed with fingers. */
  readonly touch?: boolean;
  /** The browser that it is opened in; a new one, that has seen nothing, unless given. */
  readonly context?: BrowserContext;
}

/** A browser that notes what should never be: complaints of the console and of the policy, and requests to anybody else. */
export class Watched {
  readonly complaints: string[] = [];
  readonly elsewhere: string[] = [];

  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<Watched> {
    return new Watched(await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] }));
  }

  async context({ width = 1440, height = 900, theme = 'light', touch = false }: Look = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext({ viewport: { width, height }, colorScheme: theme, hasTouch: touch });
    await context.addInitScript(
      "document.addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI))",
    );
    return context;
  }

  /** A page at an address, once it is connected. */
  async open(url: string, look: Look = {}): Promise<Page> {
    const page = await (look.context ?? (await this.context(look))).newPage();
    page.setDefaultTimeout(60_000);
    const { origin } = new URL(url);
    const at = (): string => page.url().slice(origin.length);
    page.on('console', (message) => (message.type() === 'error' ? this.complaints.push(`${at()} ${message.text()}`) : undefined));
    page.on('pageerror', (error) => this.complaints.push(`${at()} ${error.message}`));
    page.on('request', (request) => (new URL(request.url()).origin === origin ? undefined : this.elsewhere.push(request.url())));
    await page.goto(url);
    await live(page);
    return page;
  }

  /** Takes away what a test has caused on purpose. */
  forgive(...texts: readonly RegExp[]): void {
    this.complaints.splice(0, this.complaints.length, ...this.complaints.filter((line) => !texts.some((text) => text.test(line))));
  }

  stop(): Promise<void> {
    return this.browser.close();
  }
}

export const live = (page: Page): Promise<void> => page.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });

/** What keeps somebody out of what is shown, and what is wider than the window. */
export async function barriers(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)} })`,
  );
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  return [...violations.map(({ id, nodes }) => `${id} ${nodes[0]!.html.slice(0, 160)}`), ...(wide > 0 ? [`${wide} px too wide`] : [])];
}

/** What is read in the view, without what changes by itself. */
export async function readIn(page: Page): Promise<string> {
  const text = await page.evaluate<string>("document.querySelector('main').innerText");
  return text
    .replace(/\d{1,2}:\d{2}:\d{2}( [AP]M)?/g, 'TIME')
    .replace(/\b\d+(\.\d+)? ?(s|m|h|d)\b( ago)?/g, 'AGE')
    .replace(/\s+/g, ' ')
    .trim();
}
