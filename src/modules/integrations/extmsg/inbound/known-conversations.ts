import type { Metadata } from '../conversations/conversations.schemas.js';
import type { Found } from './found.js';

/** Conversations that are remembered, about 3 KB each, and up to 12. */
const MOST = 2_048;
/** Members and participants of one. */
const MOST_MEMBERS = 32;
/** Characters of the metadata of its binding, which every answer has. */
const MOST_METADATA = 4_096;

/** What messages from outside have found last in their conversations: a guess, which is asked about before it is used. */
export class KnownConversations {
  /** By their keys, the one that was used last at the end. */
  readonly #found = new Map<string, Found>();

  get(key: string): Found | undefined {
    return this.#found.get(key);
  }

  /** What a conversation is like after what was found, and has been done. */
  keep(key: string, found: Found): void {
    this.#found.delete(key);
    if (found.members.length + found.participants.length > MOST_MEMBERS || lengthOf(found.binding?.metadata) > MOST_METADATA) return;
    this.#found.set(key, found);
    if (this.#found.size > MOST) this.#found.delete(this.#found.keys().next().value!);
  }

  forget(key: string): void {
    this.#found.delete(key);
  }
}

function lengthOf(metadata: Metadata = {}): number {
  return Object.entries(metadata).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}
