import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import { AppConfig } from '../../../platform/config/config.js';
import type { Database } from '../../../platform/database/database.js';
import { findItem } from './providers.catalogue.js';
import { ProvidersRepository } from './providers.repository.js';

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

  /** Those of the presets that the host cannot start, with the reason (`needs_auth: sign in with codex login`). `processId` is that of its worker process. */
  async notReady(db: Kysely<Database>, processId: string, presets: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const asked = presets.filter((name) => name !== 'loopback' && findItem(name) !== undefined);
    if (this.config.providerCheck === 'off' || asked.length === 0) return new Map();
    const rows = await this.repository.notReadyAt(db, processId, asked);
    return new Map(rows.map(({ item, status, detail }) => [item, detail === null ? status : `${status}: ${detail}`]));
  }
}
