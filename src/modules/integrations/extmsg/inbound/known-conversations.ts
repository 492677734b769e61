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
  /** How many members those had that are too long to be remembered. */
  readonly #members = new Map<string, number>();

  get(key: string): Found | undefined {
    return this.#found.get(key);
  }

  /** How many are told of what is said there, as far as that is known. */
  membersOf(key: string): number {
    return this.#found.get(key)?.members.length ?? this.#members.get(key) ?? 0;
  }

  /** What a conversation is like after what was found, and has been done. */
  keep(key: string, found: Found): void {
    this.#found.delete(key);
    this.#members.delete(key);
    if (found.members.length + found.participants.length > MOST_MEMBERS || lengthOf(found.binding?.metadata) > MOST_METADATA)
      return setNewest(this.#members, key, found.members.length);
    setNewest(this.#found, key, found);
  }

  forget(key: string): void {
    this.#found.delete(key);
  }
}

function setNewest<T>(all: Map<string, T>, key: string, value: T): void {
  all.set(key, value);
  if (all.size > MOST) all.delete(all.keys().next().value!);
}

function lengthOf(metadata: Metadata = {}): number {
  return Object.entries(metadata).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}
