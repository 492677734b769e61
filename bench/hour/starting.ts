import type { Client } from '../../src/client/index.js';
import type { Following, Told } from './following.js';
import type { Talked } from './talking.js';

const WITHIN_MS = 180_000;
const REMEMBERED = 1_000;

/** Makes sessions, and says how long each took from the request to the event that its process is ready. */
export class Starting {
  readonly failed: string[] = [];
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
    const at = this.#ready.get(id) ?? (await this.#wait(id));
    this.#ready.delete(id);
    return { session: { city, id }, ms: at - asked };
  }

  async close({ city, id }: Talked): Promise<void> {
    await this.clients[0]!.post('/v0/city/{cityName}/session/{id}/close', { path: { cityName: city, id } });
  }

  #wait(id: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error(`session ${id} is not ready after ${WITHIN_MS / 1000} s`));
      }, WITHIN_MS);
      this.#waiting.set(id, (at) => {
        clearTimeout(timer);
        resolve(at);
      });
    });
  }

  #hear({ type, subject, payload, at }: Told): void {
    if (type !== 'session.woke') return;
    const id = (payload?.session as { id: string } | undefined)?.id ?? subject!;
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (waiting !== undefined) return waiting(at);
    // Perhaps of a request whose answer is still on its way; members of pools, which nobody waits for, are forgotten.
    this.#ready.set(id, at);
    if (this.#ready.size > REMEMBERED) this.#ready.delete(this.#ready.keys().next().value!);
  }
}
