import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { Db } from '../../../platform/database/database.js';
import { GatheredReads } from '../../../platform/database/gathered-reads.js';
import { Authenticator, credentialNamed, keyIdOf } from '../../../platform/http/authenticator.js';
import { sameHash, tokenHash, tokenId } from './key-token.js';
import { KEYS_TOPIC } from '../../../platform/streams/key-watch.js';
import { Signals } from '../../../platform/streams/signals.js';
import { rightsOf } from './key-rights.js';
import { KeysRepository, type KeyRow } from './keys.repository.js';

const FRESH_MS = 1_000;
const MAX_ENTRIES = 10_000;

interface Entry {
  readonly at: number;
  /** The secrets that are good, each until its time (milliseconds since 1970), and who shows them. */
  readonly secrets: readonly { readonly hash: Buffer; readonly until: number; readonly principal: Principal }[];
}

/** How often a use is noted; the statement itself holds all processes to it. */
const NOTED_MS = 60_000;

/**
 * Authenticates from memory: a key's row is read at most once a second a process, so a revocation is seen
 * everywhere within that time, and at once where the word of it comes. Only keys that exist are kept; a database that does not answer lets nobody in.
 */
@Injectable()
export class KeyCache extends Authenticator {
  readonly #entries = new Map<string, Entry>();
  readonly #reading = new Map<string, Promise<Entry | undefined>>();
  readonly #noted = new Map<string, number>();
  readonly #rows = new GatheredReads<string, KeyRow>(async (ids) =>
    (await this.repository.find(this.db, ids)).map((row) => [row.id, row] as const),
  );
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

  /** @param credential of a principal of this room. */
  override stillValid(credential: string): boolean | Promise<boolean> {
    const id = keyIdOf(credential);
    const shown = (entry: Entry | undefined): boolean => good(entry).some(({ principal }) => principal.credential === credential);
    const known = this.#fresh(id);
    return known === undefined ? this.#read(id).then(shown) : shown(known);
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
    if (principal?.keyId !== undefined) this.#note(principal.keyId);
    return principal;
  }

  #note(id: string): void {
    const now = performance.now();
    if (now - (this.#noted.get(id) ?? -Infinity) < NOTED_MS) return;
    if (this.#noted.size >= MAX_ENTRIES) this.#noted.clear();
    this.#noted.set(id, now);
    this.repository.used(this.db, id).catch(() => this.#noted.delete(id));
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
    const row = await this.#rows.read(id);
    if (row === undefined) {
      this.#entries.delete(id);
      return undefined;
    }
    const entry = { at, secrets: secretsOf(row) };
    if (this.#entries.size >= MAX_ENTRIES) this.#entries.clear();
    // What was read before a revocation must not come back after it.
    if (forgotten === this.#forgotten) this.#entries.set(id, entry);
    return entry;
  }
}

function secretsOf(row: KeyRow): Entry['secrets'] {
  const end = row.expires_at?.getTime() ?? Infinity;
  const rights = rightsOf(row);
  const of = (hash: Buffer, until: number): Entry['secrets'][number] => {
    const who = { actor: row.name, keyId: row.id, credential: credentialNamed(row.id, hash), cities: row.cities ?? undefined };
    const what =
      row.scope === 'write' ? ({ scope: 'write' } as const) : ({ scope: 'read', ...(rights.length === 0 ? {} : { rights }) } as const);
    return { hash, until, principal: Object.freeze({ ...who, ...what }) };
  };
  const before = (hash: Buffer | null, until: Date | null): Entry['secrets'] =>
    hash === null || until === null ? [] : [of(hash, Math.min(end, until.getTime()))];
  // A replica of the release before ends what is before by the previous one alone: no earlier one is good without it.
  const earlier = row.previous_hash === null ? [] : before(row.earlier_hash, row.earlier_until);
  return [of(row.hash, end), ...before(row.previous_hash, row.previous_until), ...earlier];
}

const good = (entry: Entry | undefined): Entry['secrets'] => (entry?.secrets ?? []).filter(({ until }) => until > Date.now());

function matching(entry: Entry | undefined, token: string): Principal | undefined {
  const hash = tokenHash(token);
  return good(entry).find((secret) => sameHash(secret.hash, hash))?.principal;
}
