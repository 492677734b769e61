import { useState } from 'react';

/** A key that nobody else makes. `randomUUID` is not there on a page that came over plain HTTP. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Whether the service has said what becomes of it. A connection that was lost, or a service that fails, may have done it all the same. */
export function isDecided(error: unknown): boolean {
  const { status = 0, code } = error as { readonly status?: number; readonly code?: string };
  return status > 0 && status < 500 && code !== 'idempotency-in-flight';
}

/**
 * What somebody wants done has a key, and keeps it until its end is known: tried again, it is done once. What was decided, or is changed
 * before it is tried again, is another wish.
 */
export class Wishes {
  readonly #open = new Map<string, string>();

  constructor(private readonly makeKey: () => string = newKey) {}

  async send<T>(wish: unknown, by: (key: string) => Promise<T>): Promise<T> {
    const name = JSON.stringify(wish);
    const key = this.#open.get(name) ?? this.makeKey();
    // The same once more, while it is on its way, is meant.
    this.#open.delete(name);
    try {
      return await by(key);
    } catch (error) {
      if (!isDecided(error)) this.#open.set(name, key);
      throw error;
    }
  }
}

/** What is under way is not begun again, however often somebody asks for it meanwhile. */
export class UnderWay {
  readonly #names = new Set<string>();

  /** Undefined where it is under way. */
  begin<T>(name: string, work: () => Promise<T>): Promise<T> | undefined {
    if (this.#names.has(name)) return undefined;
    this.#names.add(name);
    // What throws at once is a refusal as well.
    return new Promise<T>((begun) => begun(work())).finally(() => this.#names.delete(name));
  }
}

export const useWishes = (): Wishes => useState(() => new Wishes())[0];
