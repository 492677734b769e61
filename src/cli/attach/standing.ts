import type { Api, Schemas } from '../api.js';
import { harmlessLine } from '../harmless.js';
import { stateOf, type Session } from '../sessions/view.js';
import { sleep } from '../../client/sleep.js';

const LOOK_MS = 3_000;
const MESSAGES = 100;
const LOST = new Set(['failed', 'cancelled', 'expired', 'unconfirmed']);
const WAITS = new Set(['queued', 'in_flight']);

/** How a session is, and its queue: its own stream tells what is said alone. */
export class Standing {
  #session: Session | undefined;
  #waiting = 0;
  /** Requests whose messages are on their way. */
  readonly #sent = new Set<string>();
  #pause: string | undefined;
  #again = new AbortController();

  constructor(
    private readonly api: Api,
    private readonly city: string,
    readonly name: string,
    session: Session | undefined,
  ) {
    this.#session = session;
  }

  /** Why nothing comes, and when the next try is; nothing once something comes again. */
  paused(why?: string): void {
    this.#pause = why;
  }

  sent({ request_id: request }: Schemas['AsyncAcceptedBody']): void {
    this.#sent.add(request);
    this.soon();
  }

  /** Something has happened: it is looked at again at once. */
  soon(): void {
    this.#again.abort();
  }

  /** Looks until the signal, and tells when anything is new; `lost` of a message that will not be delivered any more. */
  async watch(id: string, signal: AbortSignal, changed: () => void, lost: (why: string) => void): Promise<void> {
    while (!signal.aborted) {
      this.#again = new AbortController();
      // What is wrong with the connection, or with the session, its stream tells.
      await this.#look(id, signal, lost).catch(() => undefined);
      changed();
      await sleep(LOOK_MS, AbortSignal.any([signal, this.#again.signal]));
    }
  }

  async #look(id: string, signal: AbortSignal, lost: (why: string) => void): Promise<void> {
    const path = { cityName: this.city, id };
    const [session, messages] = await Promise.all([
      this.api.client.get('/v0/city/{cityName}/session/{id}', { path, signal }),
      this.api.client.get('/v0/city/{cityName}/session/{id}/messages', { path, query: { limit: MESSAGES }, signal }),
    ]);
    this.#session = session;
    this.#waiting = messages.items.filter(({ status }) => WAITS.has(status)).length;
    for (const { request_id: request, status, error_message: why } of messages.items) {
      if (request === undefined || !this.#sent.has(request) || WAITS.has(status)) continue;
      this.#sent.delete(request);
      if (LOST.has(status)) lost(`the message was ${status}${why === undefined ? '' : `: ${why}`}`);
    }
  }

  /** `al-7 mayor · at work · claude opus · context 43 % · 2 messages wait · /help`. */
  line(activity: string | undefined, asks: boolean): string {
    const session = this.#session;
    if (session === undefined) return `${harmlessLine(this.name)} · not there yet: the first message makes it · /help`;
    const { id, alias, title, provider, model, context_pct: context, running } = session;
    const state = asks ? 'asks' : activity === 'in-turn' ? 'at work' : running ? 'idle' : stateOf(session);
    return [
      harmlessLine(`${id} ${alias ?? title}`),
      this.#pause ?? state,
      harmlessLine(`${provider} ${model ?? ''}`),
      ...(context === undefined ? [] : [`context ${context} %`]),
      ...(this.#waiting === 0 ? [] : [`${this.#waiting} ${this.#waiting === 1 ? 'message waits' : 'messages wait'}`]),
      '/help',
    ].join(' · ');
  }
}
