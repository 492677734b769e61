import { Injectable } from '@nestjs/common';
import type { Principal } from '../../contract/principal.js';
import { Db } from '../../platform/database/database.js';
import { Authenticator } from '../../platform/http/authenticator.js';
import { sameHash, tokenHash, tokenId } from './key-token.js';
import { KEYS_TOPIC } from '../../platform/streams/key-watch.js';
import { Signals } from '../../platform/streams/signals.js';
import { KeysRepository } from './keys.repository.js';

const FRESH_MS = 1_000;
const MAX_ENTRIES = 10_000;

interface Entry {
  readonly at: number;
  readonly hash: Buffer;
  readonly principal: Principal;
}

/**
 * Authenticates from memory: a key's row is read at most once a second a process, so a revocation is seen
 * everywhere within that time, and at once where the word of it comes. Only keys that exist are kept; a database that does not answer lets nobody in.
 */
@Injectable()
export class KeyCache extends Authenticator {
  readonly #entries = new Map<string, Entry>();
  readonly #reading = new Map<string, Promise<Entry | undefined>>();
  #forgotten = 0;

  constructor(
    private readonly db: Db,
    private readonly repository: KeysRepository,
    signals: Signals,
  ) {
    super();
    signals.onTopics((topics) => {
      if (topics === 'all' || topics.has(KEYS_TOPIC)) this.forget();
    });
  }

  override authenticate(token: string): Principal | undefined | Promise<Principal | undefined> {
    const id = tokenId(token);
    if (id === undefined) return undefined;
    const known = this.#fresh(id);
    return known === undefined ? this.#read(id).then((entry) => this.#enter(entry, token)) : matching(known, token);
  }

  override stillValid(keyId: string): boolean | Promise<boolean> {
    return this.#fresh(keyId) !== undefined || this.#read(keyId).then((entry) => entry !== undefined);
  }

  /** Keys have changed. */
  forget(): void {
    this.#forgotten++;
    this.#entries.clear();
    this.#reading.clear();
  }

  /** The first use in a while: also noted in the row, which nobody waits for. */
  #enter(entry: Entry | undefined, token: string): Principal | undefined {
    const principal = matching(entry, token);
    if (principal?.keyId !== undefined) this.repository.used(this.db, principal.keyId).catch(() => undefined);
    return principal;
  }

  #fresh(id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry !== undefined && performance.now() - entry.at < FRESH_MS ? entry : undefined;
  }

  #read(id: string): Promise<Entry | undefined> {
    let reading = this.#reading.get(id);
    if (reading === undefined) {
      reading = this.#load(id).finally(() => {
        if (this.#reading.get(id) === reading) this.#reading.delete(id);
      });
      this.#reading.set(id, reading);
    }
    return reading;
  }

  async #load(id: string): Promise<Entry | undefined> {
    const at = performance.now();
    const forgotten = this.#forgotten;
    const row = await this.repository.find(this.db, id);
    if (row === undefined) {
      this.#entries.delete(id);
      return undefined;
    }
    const scope = row.scope === 'write' ? 'write' : 'read';
    const principal = Object.freeze({ actor: row.name, keyId: row.id, scope, cities: row.cities ?? undefined } as const);
    const entry = { at, hash: row.hash, principal };
    if (this.#entries.size >= MAX_ENTRIES) this.#entries.clear();
    // What was read before a revocation must not come back after it.
    if (forgotten === this.#forgotten) this.#entries.set(id, entry);
    return entry;
  }
}

function matching(entry: Entry | undefined, token: string): Principal | undefined {
  return entry !== undefined && sameHash(entry.hash, tokenHash(token)) ? entry.principal : undefined;
}
