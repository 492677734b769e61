import { Injectable } from '@nestjs/common';
import { problem, shortened } from '../../../contract/problems.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { sleep } from '../../../platform/time/clock.js';
import {
  DEFAULT_ITEMS,
  DEFAULT_PROVIDERS,
  findItem,
  providerHint,
  READINESS_ITEMS,
  READINESS_STATUSES,
  type ReadinessItemSpec,
} from './providers.catalogue.js';
import { remedyOf } from './provider-remedies.js';
import { ProvidersRepository, type PublishedRow } from './providers.repository.js';
import type { ProviderReadinessQuery, ProviderReadinessResponse, ReadinessQuery, ReadinessResponse } from './providers.schemas.js';

const FRESH_WAIT_MS = 5_000;
const FRESH_LOOK_MS = 150;

interface Found {
  readonly status: string;
  readonly detail?: string;
  readonly version?: string;
  readonly remedy?: string;
}

/** Readiness as the live worker hosts have published it: a probe never runs where a request is answered. */
@Injectable()
export class ProvidersService {
  constructor(
    private readonly repository: ProvidersRepository,
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly config: AppConfig,
    private readonly lifecycle: Lifecycle,
  ) {}

  async readiness(query: ReadinessQuery): Promise<ReadinessResponse> {
    const specs = parse(query.items, DEFAULT_ITEMS, 'items', () => true);
    const found = await this.#find(specs, query.fresh);
    return {
      items: Object.fromEntries(
        specs.map((spec) => [spec.name, { name: spec.name, kind: spec.kind, display_name: spec.displayName, ...found(spec.name) }]),
      ),
    };
  }

  async providerReadiness(query: ProviderReadinessQuery): Promise<ProviderReadinessResponse> {
    const specs = parse(query.providers, DEFAULT_PROVIDERS, 'providers', (spec) => spec.kind === 'provider');
    const found = await this.#find(specs, query.fresh);
    return { providers: Object.fromEntries(specs.map((spec) => [spec.name, { display_name: spec.displayName, ...found(spec.name) }])) };
  }

  /**
   * Lets a city be made with `provider` unless every live worker host knows that it cannot be used there. What nobody
   * has looked at, or nobody can look at, passes.
   *
   * @throws ProblemError provider_not_ready
   */
  async requireReady(provider: string): Promise<void> {
    const status = (await this.unready([provider])).get(provider);
    if (status !== undefined) throw problem('provider_not_ready', `${provider}: ${status}`);
  }

  /**
   * Those of the given builtin providers that every live worker host knows it cannot use, with the best that one of them
   * found. What nobody has looked at, or nobody can look at, is not among them.
   */
  async unready(providers: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const asked = providers.filter((name) => name !== 'loopback' && findItem(name) !== undefined);
    if (this.config.providerCheck === 'off' || asked.length === 0) return new Map();
    const rows = await this.repository.byHost(this.db, asked);
    const found = new Map<string, string>();
    for (const name of asked) {
      const statuses = rows.filter(({ item }) => item === name).map(({ status }) => status);
      if (statuses.length === 0 || statuses.some((status) => status === null || status === 'configured')) continue;
      found.set(name, READINESS_STATUSES.find((status) => statuses.includes(status)) ?? statuses[0]!);
    }
    return found;
  }

  async #find(specs: readonly ReadinessItemSpec[], fresh: boolean): Promise<(name: string) => Found> {
    if (fresh) await this.#refresh();
    const rows = await this.repository.published(
      this.db,
      specs.map((spec) => spec.name),
    );
    return (name) => best(name, rows);
  }

  /** Waits until every live host has probed after now, at most 5 s: then the last known results have to do. */
  async #refresh(): Promise<void> {
    const at = await this.transactions.run((tx) => this.repository.requestProbe(tx));
    const limit = performance.now() + FRESH_WAIT_MS;
    while (performance.now() < limit && !this.lifecycle.stopping) {
      if ((await this.repository.outstanding(this.db, at)) === 0) return;
      await sleep(FRESH_LOOK_MS);
    }
  }
}

function best(name: string, rows: readonly PublishedRow[]): Found {
  if (name === 'loopback') return { status: 'configured' };
  for (const status of READINESS_STATUSES) {
    const row = rows.find((candidate) => candidate.item === name && candidate.status === status);
    if (row === undefined) continue;
    const remedy = remedyOf(name, status);
    return {
      status,
      ...(row.detail === null || status === 'configured' ? {} : { detail: row.detail }),
      ...(row.version === null ? {} : { version: row.version }),
      ...(remedy === undefined ? {} : { remedy }),
    };
  }
  return { status: 'probe_error', detail: 'no worker host has reported yet' };
}

function parse(
  given: string | undefined,
  defaults: readonly string[],
  parameter: string,
  supported: (spec: ReadinessItemSpec) => boolean,
): ReadinessItemSpec[] {
  const names = new Set(given === undefined ? defaults : given.split(',').map((name) => name.trim()));
  return [...names].map((name) => {
    const spec = findItem(name);
    if (spec === undefined || !supported(spec)) throw unsupported(parameter, name, supported);
    return spec;
  });
}

/** Says which of several names it is, and which one was meant. */
function unsupported(parameter: string, name: string, supported: (spec: ReadinessItemSpec) => boolean): Error {
  const message = `unsupported ${parameter} value "${name}"`;
  const names = READINESS_ITEMS.filter(supported).map((spec) => spec.name);
  const errors = [
    { message, location: `query.${parameter}`, value: shortened(name) },
    { message: providerHint(name, names), location: 'body.hint' },
  ];
  return problem('invalid_request', message, { errors });
}
