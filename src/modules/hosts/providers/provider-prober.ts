import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { storableText } from '../../../contract/storable.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { ProcessRegistry } from '../../../platform/processes/process-registry.js';
import { ProbeHost } from './probes/host.js';
import { PROBES } from './probes/probes.js';
import { READINESS_ITEMS, type ProbeResult } from './providers.catalogue.js';
import { ProvidersRepository } from './providers.repository.js';

const EVERY_MS = 60_000;
/** Characters that are published of what a probe says: it quotes files that agents may write to. */
const MAX_DETAIL = 200;

/** Probes this host's providers each minute, and when asked to, and publishes what it found. */
@Injectable()
export class ProviderProber implements OnApplicationBootstrap {
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = false;
  readonly #unheard = new Set<string>();

  constructor(
    private readonly config: AppConfig,
    private readonly host: ProbeHost,
    private readonly repository: ProvidersRepository,
    private readonly transactions: Transactions,
    private readonly processes: ProcessRegistry,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    this.processes.onProbeRequested(() => this.#start());
    this.#timer = setInterval(() => this.#start(), EVERY_MS);
    this.lifecycle.onStop('worker', 'provider probes', () => {
      this.#stopped = true;
      clearInterval(this.#timer);
      return this.#running;
    });
    this.#start();
  }

  /** A request that comes during a probe is answered by another one: the running one may have looked too early. */
  #start(): void {
    if (this.#stopped) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    this.#running = this.#probe()
      .catch((error: unknown) => this.log.warn({ err: error }, 'provider readiness could not be published'))
      .finally(() => {
        this.#running = undefined;
        if (!this.#again) return;
        this.#again = false;
        this.#start();
      });
  }

  async #probe(): Promise<void> {
    const results = await probeAll(this.host, this.#unheard);
    if (this.#stopped) return;
    await this.transactions.run((tx) => this.repository.publish(tx, this.config.processId, results));
  }
}

/**
 * Without items whose programs had no turn for the first time: a host that is busy for a moment is what it was before. @param unheard those
 * of the look before, replaced by those of this one
 */
export async function probeAll(host: ProbeHost, unheard = new Set<string>()): Promise<Map<string, ProbeResult>> {
  const results = new Map<string, ProbeResult>();
  const probed = await Promise.all(READINESS_ITEMS.map(async ({ name }) => [name, await probeOne(name, host.of(name))] as const));
  for (const [name, { isHeard, ...result }] of probed) {
    if (isHeard || unheard.has(name)) results.set(name, publishable(result));
    if (isHeard) unheard.delete(name);
    else unheard.add(name);
  }
  return results;
}

async function probeOne(name: string, host: ProbeHost): Promise<ProbeResult & { readonly isHeard: boolean }> {
  const result = await found(name, host);
  return { ...result, isHeard: !host.isUnheard || result.status === 'configured' };
}

async function found(name: string, host: ProbeHost): Promise<ProbeResult> {
  try {
    return (await PROBES[name]?.(host)) ?? { status: 'probe_error', detail: 'there is no probe for this item' };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return { status: 'probe_error', detail: `its files cannot be read (${code})` };
  }
}

/** All items are published in one statement: what one of them cannot store would keep back every other. */
function publishable({ detail, ...result }: ProbeResult): ProbeResult {
  return detail === undefined ? result : { ...result, detail: storableText(detail.slice(0, MAX_DETAIL)) };
}
