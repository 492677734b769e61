import { Injectable } from '@nestjs/common';
import { RIGHTS, whyNotAdminister, type Principal, type Right } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { Db } from '../../../platform/database/database.js';
import { violatedConstraint } from '../../../platform/database/pg-errors.js';
import { afterCommit, Transactions, type Tx } from '../../../platform/database/transactions.js';
import { KEYS_TOPIC } from '../../../platform/streams/key-watch.js';
import { Signals } from '../../../platform/streams/signals.js';
import { KeyCache } from './key-cache.js';
import { rightsOf, storedRights } from './key-rights.js';
import { newToken, tokenHash } from './key-token.js';
import { KeysRepository, type KeyRow } from './keys.repository.js';
import type {
  ApiKeyCreatedResponse,
  ApiKeyCreateInput,
  ApiKeyResponse,
  ApiKeyRotatedResponse,
  ApiKeyRotateInput,
  KeysQuery,
  ListBodyApiKeyResponse,
} from './keys.schemas.js';

/** Makes, lists, rotates and revokes API keys. Only a caller with every right may. */
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
    const rights = rightsAsked(input);
    const expires_at = input.expires_at === undefined ? null : new Date(input.expires_at);
    if (expires_at !== null && expires_at.getTime() <= Date.now()) throw invalid('body.expires_at', 'is not in the future');
    const cities = input.cities === undefined ? null : [...new Set(input.cities)].sort();
    try {
      const row = await this.transactions.run((tx) =>
        this.repository.insert(tx, { id, name: input.name, hash: tokenHash(token), ...storedRights(rights), cities, expires_at }),
      );
      const { last_used_at: _unused, ...fields } = toResponse(row);
      return { ...fields, key: token };
    } catch (error) {
      if (violatedConstraint(error) !== 'api_keys_name_key') throw error;
      throw problem('conflict', `a key is already called ${input.name}${holding(await this.repository.held(this.db, 'name', input.name))}`);
    }
  }

  async list(caller: Principal, { limit, cursor }: KeysQuery): Promise<ListBodyApiKeyResponse> {
    demandAdministrator(caller);
    if (cursor !== undefined && !(await this.repository.isKnown(this.db, cursor)))
      throw problem('invalid_cursor', 'cursor is none that this list gave', { at: 'query.cursor' });
    const { rows, more, total } = await this.repository.list(this.db, limit, cursor);
    return { items: rows.map(toResponse), total, ...(more ? { next_cursor: rows.at(-1)!.id } : {}) };
  }

  async rotate(caller: Principal, id: string, { grace_seconds }: ApiKeyRotateInput): Promise<ApiKeyRotatedResponse> {
    demandAdministrator(caller);
    const { token } = newToken(id);
    const row = await this.transactions.run(async (tx) => {
      const rotated = await this.repository.rotate(tx, id, tokenHash(token), grace_seconds);
      if (rotated === undefined) throw notRotated(id, (await this.repository.held(tx, 'id', id))?.ended);
      this.#changed(tx);
      return rotated;
    });
    const { last_used_at: _unused, ...fields } = toResponse(row);
    return { ...fields, key: token, previous_until: row.previous_until?.toISOString() ?? null };
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
  const why = whyNotAdminister(caller);
  if (why !== undefined) throw problem('forbidden', why);
}

/** @throws ProblemError validation_failed for two answers to one question */
function rightsAsked({ scope, rights }: ApiKeyCreateInput): readonly Right[] {
  if (rights === undefined) return scope === 'read' ? [] : RIGHTS;
  if (scope === undefined || scope === (storedRights(rights).scope === 'write' ? 'write' : 'read')) return rights;
  throw invalid('body.rights', `are not those of the scope ${scope}: leave one of the two out`);
}

/** Who has a name that was asked for: a key that has ended is listed, and keeps it, until it is revoked. */
function holding(held: { id: string; ended: Date | undefined } | undefined): string {
  if (held === undefined) return '';
  return `: ${held.id}${held.ended === undefined ? '' : `; revoke it first (it ended at ${held.ended.toISOString()})`}`;
}

function notRotated(id: string, ended: Date | undefined): Error {
  if (ended === undefined) return problem('not_found', `no such key: ${id}`);
  return problem('wrong_state', `the key ended at ${ended.toISOString()}; revoke it and make another`);
}

function invalid(location: string, message: string): Error {
  return problem('validation_failed', 'validation failed', { errors: [{ location, message }] });
}

function toResponse(row: KeyRow): ApiKeyResponse {
  return {
    id: row.id,
    name: row.name,
    scope: row.scope === 'write' ? 'write' : 'read',
    rights: [...rightsOf(row)],
    cities: row.cities,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}
