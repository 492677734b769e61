import type { Client } from '../../src/client/index.js';
import type { Following, Told } from './following.js';
import type { Talked } from './talking.js';

const WITHIN_MS = 180_000;
const REMEMBERED = 1_000;

/** Makes sessions, and says how long each took from the request to the event that its process is ready. */
export class Starting {
  readonly #ready = new Map<string, number>();
  readonly #waiting = new Map<string, (at: number) => void>();
  #turn = 0;

  constructor(
    private readonly clients: readonly Client[],
    following: Following,
  ) {
    following.told.on('event', (told) => this.#hear(told));
  }

  async start(city: string): Promise<{ readonly session: Talked; readonly ms: number }> {
    const client = this.clients[this.#turn++ % this.clients.length]!;
    const asked = performance.now();
    const path = { cityName: city };
    const accepted = await client.post('/v0/city/{cityName}/sessions', { path, body: { kind: 'provider', name: 'loopback' } });
    const id = (accepted as { session_id?: string }).session_id!;
    const key = `${city}/${id}`;
    const at = this.#ready.get(key) ?? (await this.#wait(key));
    this.#ready.delete(key);
    return { session: { city, id }, ms: at - asked };
  }

  async close({ city, id }: Talked): Promise<void> {
    await this.clients[0]!.post('/v0/city/{cityName}/session/{id}/close', { path: { cityName: city, id } });
  }

  #wait(key: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(key);
        reject(new Error(`session ${key} is not ready after ${WITHIN_MS / 1000} s`));
      }, WITHIN_MS);
      this.#waiting.set(key, (at) => {
        clearTimeout(timer);
        resolve(at);
      });
    });
  }

  #hear({ city, type, subject, payload, at }: Told): void {
    if (type !== 'session.woke') return;
    const key = `${city}/${(payload?.session as { id: string } | undefined)?.id ?? subject}`;
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    if (waiting !== undefined) return waiting(at);
    // Perhaps of a request whose answer is still on its way; members of pools, which nobody waits for, are forgotten.
    this.#ready.set(key, at);
    if (this.#ready.size > REMEMBERED) this.#ready.delete(this.#ready.keys().next().value!);
  }
}
