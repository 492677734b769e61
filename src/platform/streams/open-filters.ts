import type { ProblemError } from '../../contract/problems.js';
import { STREAM_RETRY_S, tooMany } from '../http/rate-limits.js';

/**
 * Filters of one key that are open at one stream. Every event is held against each of them, and each has a ring of its own. A gateway has one key for many
 * users, who may see other cities each.
 */
export const MAX_FILTERS = 256;

/** Which filters each key has open at each stream. Those who ask for the same share a group, and count once. */
export class OpenFilters {
  /** Tests have fewer. */
  most = MAX_FILTERS;
  readonly #open = new Map<string, Map<string, number>>();

  /** The refusal when a key asks for one filter more than it may have open. Who has no key counts as one. */
  refusal(keyId: string | undefined, stream: string, filter: string): ProblemError | undefined {
    const open = this.#open.get(nameOf(keyId, stream));
    if (open === undefined || open.size < this.most || open.has(filter)) return undefined;
    const rule = `${this.most} different filters of one stream open at once`;
    return tooMany('key', { rule, policy: `q=${this.most};qu="concurrent-requests"`, retryS: STREAM_RETRY_S });
  }

  /** Counts a stream until what it answers is called. */
  add(keyId: string | undefined, stream: string, filter: string): () => void {
    const name = nameOf(keyId, stream);
    const open = this.#open.get(name) ?? new Map<string, number>();
    this.#open.set(name, open.set(filter, (open.get(filter) ?? 0) + 1));
    return () => {
      const left = open.get(filter)! - 1;
      if (left > 0) return void open.set(filter, left);
      open.delete(filter);
      if (open.size === 0) this.#open.delete(name);
    };
  }
}

const nameOf = (keyId: string | undefined, stream: string): string => `${stream} ${keyId ?? ''}`;
