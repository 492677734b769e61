import { Injectable } from '@nestjs/common';
import type { Kysely, RawBuilder } from 'kysely';
import { AppConfig } from '../../../platform/config/config.js';
import type { Database } from '../../../platform/database/database.js';
import { findItem } from './providers.catalogue.js';
import { ProvidersRepository } from './providers.repository.js';

/** What a host is for a preset: ready, or why not (`needs_auth: sign in with codex login`). */
export type HostReadiness = 'ready' | (string & {});

/**
 * Whether a preset's program can be started on one worker host, as that host has published it. What the host has not
 * looked at, or nobody can look at, passes; so does everything with `SVC_PROVIDER_CHECK=off`.
 */
@Injectable()
export class ProviderHostsService {
  constructor(
    private readonly repository: ProvidersRepository,
    private readonly config: AppConfig,
  ) {}

  /** `processId` is that of the host's worker process; an undefined preset is a command of one's own. */
  async hostReady(db: Kysely<Database>, processId: string, preset: string | undefined): Promise<HostReadiness> {
    if (preset === undefined) return 'ready';
    return (await this.notReady(db, processId, [preset])).get(preset) ?? 'ready';
  }

  /** Those of the presets that the host cannot start, with the reason. */
  async notReady(db: Kysely<Database>, processId: string, presets: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const asked = presets.filter((name) => name !== 'loopback' && findItem(name) !== undefined);
    if (this.config.providerCheck === 'off' || asked.length === 0) return new Map();
    const rows = await this.repository.notReadyAt(db, processId, asked);
    return new Map(rows.map(({ item, status, detail }) => [item, detail === null ? status : `${status}: ${detail}`]));
  }

  /**
   * The same as a condition of a query: true when the host of `processId` can start `preset`, a column of text that may be
   * null. For the statement that claims sessions.
   */
  readyCondition(processId: string, preset: RawBuilder<unknown>): RawBuilder<boolean> {
    return this.repository.readyCondition(processId, preset, this.config.providerCheck === 'off');
  }
}
