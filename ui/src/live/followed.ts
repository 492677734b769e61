import type { LoggedEvent } from '../api/types.js';
import { Again } from './again.js';

/** What the service has accepted, and goes on with. */
export interface Operation {
  readonly requestId: string;
  readonly label: string;
  readonly state: 'running' | 'done' | 'failed';
  /** In milliseconds, by the clock of this browser. */
  readonly acceptedAt?: number;
  readonly detail?: string;
  readonly event?: LoggedEvent;
  /** Whoever asked shows it in its place: a card only tells that it has failed. */
  readonly quiet?: boolean;
  /** Nobody was taken to what has come of it: its card stays until somebody has seen it. */
  readonly stays?: boolean;
}

/** What it needs of its surroundings; tests have their own. */
interface Around {
  /** What was kept before the page was loaded anew. */
  readonly kept: readonly Operation[];
  readonly keep: (running: readonly Operation[]) => void;
  /** A page of the events of a request, the newest first, of so many seconds at the most. @throws Refusal */
  readonly read: (
    requestId: string,
    seconds: number | undefined,
    cursor: string | undefined,
  ) => Promise<{ readonly items: readonly LoggedEvent[]; readonly next_cursor?: string }>;
  /** Whether nobody need ask again before there is another key. */
  readonly barred: (error: unknown) => boolean;
  readonly now: () => number;
  readonly later: (go: () => void, ms: number) => ReturnType<typeof setTimeout>;
}

const MOST = 20;
const DONE_MS = 6_000;
/** An answer may take this long to come from its acceptance. */
const ANSWERED_S = 60;

/** Why a request has failed. */
export function whyOf({ payload, message }: LoggedEvent): string {
  return typeof payload.error_message === 'string' ? payload.error_message : (message ?? 'it has failed');
}

/** Requests that the service has accepted, each followed to the event that ends it, also by a page that was loaded anew. */
export class Followed {
  #operations: readonly Operation[];
  readonly #listeners = new Set<() => void>();
  /** Ends that came before the answer that names them. */
  readonly #early = new Map<string, LoggedEvent>();
  readonly #waiters = new Map<string, (event: LoggedEvent) => void>();
  readonly #looks = new Map<string, Again>();

  constructor(private readonly around: Around) {
    this.#operations = around.kept;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly snapshot = (): readonly Operation[] => this.#operations;

  dismiss(requestId: string): void {
    this.#set(this.#operations.filter((one) => one.requestId !== requestId));
  }

  /** Whoever asked does not show it any more: a card does, and stays until it is opened or dismissed. What is open over it may be for longer than that. */
  tell(requestId: string): void {
    this.#set(this.#operations.map((one) => (one.requestId === requestId ? { ...one, quiet: false, stays: true } : one)));
  }

  /** Shows what was accepted until its end, which it gives. */
  follow(label: string, requestId: string, quiet = false): Promise<LoggedEvent> {
    const others = this.#operations.filter((one) => one.requestId !== requestId);
    this.#set([...others, { requestId, label, state: 'running', quiet, acceptedAt: this.around.now() }]);
    const end = new Promise<LoggedEvent>((resolve) => this.#waiters.set(requestId, resolve));
    const before = this.#early.get(requestId);
    if (before === undefined) this.#look(requestId);
    else this.settle(before);
    return end;
  }

  /** An event that ends a request, whoever's it is. */
  settle(event: LoggedEvent): void {
    const id = event.payload.request_id;
    if (typeof id !== 'string' || !/^request\.(failed|result\.)/.test(event.type)) return;
    this.#early.set(id, event);
    if (this.#early.size > 500) this.#early.delete(this.#early.keys().next().value!);
    this.#waiters.get(id)?.(event);
    this.#waiters.delete(id);
    const mine = this.#running(id);
    if (mine === undefined) return;
    const failed = event.type === 'request.failed';
    const detail = failed ? whyOf(event) : undefined;
    this.#set(
      this.#operations.map((one) =>
        one === mine ? { ...one, state: failed ? 'failed' : 'done', event, ...(detail === undefined ? {} : { detail }) } : one,
      ),
    );
    // What has failed stays until somebody has seen it.
    if (!failed) this.around.later(() => this.#over(id), DONE_MS);
  }

  /** After a reload, and after a stream that has lost its place. */
  lookAgain(): void {
    for (const { requestId, state } of this.#operations) if (state === 'running') this.#look(requestId);
  }

  #over(id: string): void {
    if (this.#operations.find(({ requestId }) => requestId === id)?.stays !== true) this.dismiss(id);
  }

  #running(id: string): Operation | undefined {
    return this.#operations.find(({ requestId, state }) => requestId === id && state === 'running');
  }

  /** Its end may have been before anybody listened. */
  #look(requestId: string): void {
    const look = this.#looks.get(requestId) ?? new Again(() => this.#fails(requestId), this.around.later);
    this.#looks.set(requestId, look);
    look.want(true);
  }

  /** Whether its end has to be looked for again. What was before its acceptance is not searched: the log may be long. */
  async #fails(requestId: string): Promise<boolean> {
    try {
      for (let cursor: string | undefined; ;) {
        const running = this.#running(requestId);
        if (running === undefined) return false;
        const { acceptedAt } = running;
        const seconds = acceptedAt === undefined ? undefined : Math.ceil((this.around.now() - acceptedAt) / 1000) + ANSWERED_S;
        const page = await this.around.read(requestId, seconds, cursor);
        for (const event of page.items) this.settle(event);
        cursor = page.next_cursor;
        if (cursor === undefined) return false;
      }
    } catch (error) {
      return !this.around.barred(error);
    }
  }

  #set(next: readonly Operation[]): void {
    this.#operations = next.slice(-MOST);
    const running = this.#operations.filter(({ state }) => state === 'running');
    for (const id of this.#looks.keys()) if (this.#running(id) === undefined) this.#looks.delete(id);
    this.around.keep(running);
    for (const tell of this.#listeners) tell();
  }
}
