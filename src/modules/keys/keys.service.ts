import { Injectable } from '@nestjs/common';
import type { Principal } from '../../contract/principal.js';
import { problem } from '../../contract/problems.js';
import { Db } from '../../platform/database/database.js';
import { violatedConstraint } from '../../platform/database/pg-errors.js';
import { afterCommit, Transactions, type Tx } from '../../platform/database/transactions.js';
import { KEYS_TOPIC } from '../../platform/streams/key-watch.js';
import { Signals } from '../../platform/streams/signals.js';
import { KeyCache } from './key-cache.js';
import { newToken, tokenHash } from './key-token.js';
import { KeysRepository, type KeyRow } from './keys.repository.js';
import type { ApiKeyCreatedResponse, ApiKeyCreateInput, ApiKeyResponse, ListBodyApiKeyResponse } from './keys.schemas.js';

/** Makes, lists and revokes API keys. Only a caller with every right may. */
@Injectable()
export class KeysService {
  constructor(
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly repository: KeysRepository,
    private readonly cache: KeyCache,
    private readonly signals: Signals,
  ) {}

  async create(caller: Principal, input: ApiKeyCreateInput): Promise<ApiKeyCreatedResponse> {
    demandAdministrator(caller);
    const { id, token } = newToken();
    const cities = input.cities === undefined ? null : [...new Set(input.cities)].sort();
    try {
      const row = await this.transactions.run((tx) =>
        this.repository.insert(tx, { id, name: input.name, hash: tokenHash(token), scope: input.scope, cities }),
      );
      const { last_used_at: _unused, ...fields } = toResponse(row);
      return { ...fields, key: token };
    } catch (error) {
      if (violatedConstraint(error) === 'api_keys_name_key') throw problem('conflict', `a key is already called ${input.name}`);
      throw error;
    }
  }

  async list(caller: Principal): Promise<ListBodyApiKeyResponse> {
    demandAdministrator(caller);
    const items = (await this.repository.list(this.db)).map(toResponse);
    return { items, total: items.length };
  }

  async revoke(caller: Principal, id: string): Promise<void> {
    demandAdministrator(caller);
    await this.transactions.run(async (tx) => {
      if (!(await this.repository.revoke(tx, id))) throw problem('not_found', `no such key: ${id}`);
      this.#changed(tx);
    });
  }

  /** At once in this process, and in the others as soon as they hear of it. */
  #changed(tx: Tx): void {
    afterCommit(tx, () => this.cache.forget());
    this.signals.mark(tx, KEYS_TOPIC);
  }
}

function demandAdministrator(caller: Principal): void {
  if (caller.scope !== 'write' || caller.cities !== undefined) {
    throw problem('forbidden', 'keys are managed with a write key that is not limited to cities');
  }
}

function toResponse(row: KeyRow): ApiKeyResponse {
  return {
    id: row.id,
    name: row.name,
    scope: row.scope === 'write' ? 'write' : 'read',
    cities: row.cities,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}
