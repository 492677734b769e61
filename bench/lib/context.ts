import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fastDir } from './machine.js';
import { Child } from './child.js';
import { BenchPostgres } from './database.js';
import { CLIENT_CORE, freePort, SERVER_CORE } from './machine.js';
import type { Line } from './report.js';
import { Service, type ServiceOptions } from './service.js';

type Stop = () => Promise<void>;

export const WARM_SECONDS = 15;

/** What a bar gets to work with. Everything started through it is stopped when the bar is over. */
export class Context {
  readonly #stops: Stop[] = [];

  constructor(
    readonly rounds: number,
    /** The length of one measurement. */
    readonly seconds: number,
    readonly tempDir: string,
    readonly postgres: BenchPostgres,
    readonly say: (text: string) => void,
  ) {}

  /**
   * Turns that count for nothing. V8 compiles what a service does for a quarter of a minute of load, which takes up to a third of its processor time;
   * who operates one has it run for days.
   */
  async warm(parts: Record<string, () => Promise<unknown>>): Promise<void> {
    await this.turns(parts, Math.ceil(WARM_SECONDS / this.seconds));
  }

  /** Runs the parts in turn, `rounds` times, so that what disturbs the machine falls on all of them. */
  async turns<T extends Record<string, () => Promise<unknown>>>(
    parts: T,
    rounds = this.rounds,
  ): Promise<{ [K in keyof T]: Awaited<ReturnType<T[K]>>[] }> {
    const results: Record<string, unknown[]> = Object.fromEntries(Object.keys(parts).map((name) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      for (const [name, part] of Object.entries(parts)) results[name]!.push(await part());
    }
    return results as { [K in keyof T]: Awaited<ReturnType<T[K]>>[] };
  }

  async service(databaseUrl: string, options: Partial<ServiceOptions> = {}): Promise<Service> {
    const service = await Service.start({ databaseUrl, tempDir: this.tempDir, ...options });
    this.onStop(() => service.stop());
    return service;
  }

  /** A load client, on the clients' core. */
  async client(
    file: 'sse' | 'http' | 'writer' | 'agents' | 'claims' | 'sessions' | 'recorder' | 'herd',
    core = CLIENT_CORE,
  ): Promise<Child> {
    const child = await Child.program(`clients/${file}.ts`, { core, tempDir: this.tempDir });
    this.onStop(() => child.stop());
    return child;
  }

  /** One of the floors' servers, on the servers' core. */
  async floor(file: 'forward' | 'http' | 'sse' | 'slice', params: Record<string, unknown> = {}): Promise<{ child: Child; port: number }> {
    const child = await Child.program(`floors/${file}.ts`, { core: SERVER_CORE, tempDir: this.tempDir, flags: ['--expose-gc'] });
    this.onStop(() => child.stop());
    const port = await freePort();
    await child.call('listen', { port, ...params });
    return { child, port };
  }

  onStop(stop: Stop): void {
    this.#stops.push(stop);
  }

  async stopAll(): Promise<void> {
    for (const stop of this.#stops.splice(0).reverse()) await stop().catch((error: unknown) => this.say(`a stop failed: ${String(error)}`));
  }
}

export interface Bar {
  /** The names it answers to in `--only`. */
  readonly ids: readonly string[];
  readonly title: string;
  run(context: Context): Promise<Line[]>;
}

export async function withTempDir<T>(work: (dir: string) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(fastDir, 'svc-bench-'));
  try {
    return await work(dir);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}
