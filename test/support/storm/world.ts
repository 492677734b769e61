import type { Random } from '../../chaos/random.js';
import type { Reply } from '../http.js';
import type { Conversation } from '../extmsg-city.js';

/** A request of the storm. */
export interface Move {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent to both replicas at once. */
  readonly both?: boolean;
  /** What is known from a success. */
  readonly learn?: (body: any) => void;
}

/** So many of a kind are kept in mind: the newest, so that requests meet. */
const MOST = 24;

/** What the storm knows of a city by the answers that it got. */
export class StormWorld {
  readonly beads: string[] = [];
  readonly sessions: string[] = [];
  readonly convoys: string[] = [];
  readonly mails: string[] = [];
  readonly waits: string[] = [];
  readonly runs: string[] = [];
  readonly batches: string[] = [];
  readonly groups: string[] = [];
  readonly keys: string[] = [];
  readonly agents: string[] = [];
  /** What very many depend on, and those. */
  hub = '';
  readonly dependents: string[] = [];
  readonly fences = new Map<string, number>();
  #serial = 0;

  constructor(
    readonly name: string,
    readonly random: Random,
  ) {}

  next(): number {
    return ++this.#serial;
  }

  path(rest: string): string {
    return `/v0/city/${this.name}/${rest}`;
  }

  /** One of a list, mostly a new one; `otherwise` where there is none. */
  some(list: readonly string[], otherwise = 'nobody'): string {
    if (list.length === 0) return otherwise;
    return this.random.pick(this.random.chance(0.6) ? list.slice(-6) : list);
  }

  keep(list: string[], id: unknown): void {
    if (typeof id !== 'string' || id === '' || list.includes(id)) return;
    list.push(id);
    if (list.length > MOST) list.shift();
  }

  forget(list: string[], id: string): void {
    const at = list.indexOf(id);
    if (at >= 0) list.splice(at, 1);
  }

  conversation(more: object = {}): Conversation {
    const { random } = this;
    const provider = random.chance(0.2) ? 'routed' : 'chat';
    return {
      ...{ scope_id: this.name, provider, account_id: 'default', conversation_id: `c-${random.int(1, 4)}`, kind: 'room' },
      ...more,
    } as Conversation;
  }

  post(rest: string, body?: unknown, more: Partial<Move> = {}): Move {
    return { method: 'POST', path: this.path(rest), body, ...more };
  }
}

/** What can be asked for, and how often it is. */
export type Kinds = Readonly<Record<string, readonly [weight: number, make: (world: StormWorld) => Move]>>;

export interface Answered {
  readonly kind: string;
  readonly move: Move;
  readonly reply: Reply;
}
