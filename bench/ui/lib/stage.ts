import { existsSync } from 'node:fs';
import { chromium, type Browser, type BrowserContext, type CDPSession, type Page } from 'playwright-core';
import type { Context } from '../../lib/context.js';
import { fill } from '../../lib/beads.js';
import { call, runningCity, until } from '../../lib/running-city.js';
import type { Service } from '../../lib/service.js';
import type { Line } from '../../lib/report.js';

export const CITY = 'bench';
export const BEADS = 10_000;
const FILES = [['city.toml', '[workspace]\nprovider = "loopback"\n\n[providers.loopback]\nbase = "builtin:loopback"\n']] as const;
const CHROMIUM =
  process.env.CHROMIUM ?? ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));

/** Notes tasks over 50 ms from the first script on. */
const LONG_TASKS = `globalThis.__long = []; new PerformanceObserver((list) => { for (const { startTime, duration } of list.getEntries()) __long.push({ startTime, duration }); }).observe({ type: 'longtask', buffered: true });`;
const VIOLATIONS = `document.addEventListener('securitypolicyviolation', (e) => console.error('policy: ' + e.violatedDirective + ' ' + e.blockedURI));`;

export interface UiBar {
  readonly ids: readonly string[];
  readonly title: string;
  run(stage: Stage): Promise<Line[]>;
}

/** A service as an operator runs it, a city with ten thousand beads, and a browser. */
export class Stage {
  /** What consoles and policies said in all bars. */
  readonly complaints: string[] = [];

  private constructor(
    readonly context: Context,
    readonly service: Service,
    readonly databaseUrl: string,
    private readonly browser: Browser,
    readonly quick: boolean,
  ) {}

  static async open(context: Context, quick: boolean): Promise<Stage> {
    if (CHROMIUM === undefined) throw new Error('there is no Chromium here; CHROMIUM says where it is');
    const databaseUrl = await context.postgres.database(1);
    const service = await context.service(databaseUrl, { role: 'all', core: undefined });
    await runningCity(context, service, CITY, FILES);
    await fill(databaseUrl, CITY, { open: BEADS, closed: 0 });
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--js-flags=--expose-gc'] });
    context.onStop(() => browser.close());
    return new Stage(context, service, databaseUrl, browser, quick);
  }

  get url(): string {
    return `http://127.0.0.1:${this.service.port}`;
  }
  readonly city = `/ui/c/${CITY}`;

  /** Of so many, or fewer when it has to be quick. */
  rounds(full: number): number {
    return this.quick ? Math.max(2, Math.ceil(full / 3)) : full;
  }
  seconds(full: number): number {
    return this.quick ? Math.max(5, full / 6) : full;
  }

  async fresh({ width = 1440, height = 900 } = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext({ viewport: { width, height } });
    await context.addInitScript(LONG_TASKS + VIOLATIONS);
    return context;
  }

  async page(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => (message.type() === 'error' ? this.complaints.push(message.text()) : undefined));
    page.on('pageerror', (error) => this.complaints.push(error.message));
    return page;
  }

  async open(path: string, base = this.url, context?: BrowserContext): Promise<Page> {
    const page = await this.page(context ?? (await this.fresh()));
    await page.goto(`${base}${path}`);
    await page.locator('[data-connection="Live"]').first().waitFor({ state: 'attached' });
    return page;
  }

  /** Milliseconds from the address to what is to be seen, in a browser that has seen nothing; and what blocked meanwhile. */
  async cold(path: string, selector: string): Promise<{ ms: number; long: number[] }> {
    const context = await this.fresh();
    const page = await this.page(context);
    const began = performance.now();
    await page.goto(`${this.url}${path}`, { waitUntil: 'commit' });
    await page.locator(selector).first().waitFor();
    const ms = performance.now() - began;
    const long = await longTasks(page);
    await context.close();
    return { ms, long };
  }

  async ask<T = any>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await call(this.service, method, `/v0/city/${CITY}/${path}`, body);
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  async session(message?: string): Promise<string> {
    const { session_id } = await this.ask<{ session_id: string }>('POST', 'sessions', {
      kind: 'provider',
      name: 'loopback',
      ...(message === undefined ? {} : { message }),
    });
    await until(async () => (await this.ask<{ running: boolean }>('GET', `session/${session_id}`)).running);
    return session_id;
  }
}

/** Each as the service has it. */
export async function allBeads(stage: Stage): Promise<Record<string, any>[]> {
  const beads: Record<string, any>[] = [];
  for (let cursor = ''; ;) {
    const page = await stage.ask<{ items: Record<string, any>[]; next_cursor?: string }>(
      'GET',
      `beads?limit=1000${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    beads.push(...page.items);
    if (page.next_cursor === undefined) return beads;
    cursor = page.next_cursor;
  }
}

export const longTasks = (page: Page): Promise<number[]> => page.evaluate<number[]>('__long.map(({ duration }) => duration)');

export interface Spent {
  readonly task: number;
  readonly script: number;
  readonly heap: number;
  readonly nodes: number;
  readonly listeners: number;
  readonly at: number;
}

export async function meter(page: Page): Promise<{ cdp: CDPSession; spent: (collect?: boolean) => Promise<Spent> }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable');
  await cdp.send('HeapProfiler.enable');
  return {
    cdp,
    spent: async (collect = false) => {
      if (collect) for (let i = 0; i < 3; i++) await cdp.send('HeapProfiler.collectGarbage');
      const { metrics } = await cdp.send('Performance.getMetrics');
      const of = (name: string): number => metrics.find((one) => one.name === name)?.value ?? NaN;
      return {
        task: of('TaskDuration'),
        script: of('ScriptDuration'),
        heap: of('JSHeapUsedSize') / 1024 ** 2,
        nodes: of('Nodes'),
        listeners: of('JSEventListeners'),
        at: performance.now(),
      };
    },
  };
}

/** A line of the table: a figure against the bar of the reference. */
export function line(bar: string, what: string, ours: string, reach: string, met: boolean, floor = ''): Line {
  return { bar, what, ours, floor, reach, met };
}
/** What cannot be measured here, and why. */
export function unmeasured(bar: string, what: string, why: string): Line {
  return { bar, what, ours: `not measured: ${why}`, floor: '', reach: '' };
}
export const s = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
export const kb = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KB`;
