import type { FastifyReply } from 'fastify';
import type { Counter } from 'prom-client';
import { problem, type ProblemError } from '../../contract/problems.js';
import { Slots } from '../collections/slots.js';
import type { Metrics } from '../health/metrics.js';
import type { Party } from '../turns/turns.js';
import { whenGone } from './leaving.js';

/** Shorter answers are not counted: the kernel takes them at once, and they are nearly all. */
const COUNTED_BYTES = 32 * 1024;

export interface UnreadLimits {
  /** Bytes that the clients of one city, of one key of all cities, and of all together have asked for and not read yet. */
  readonly city: number;
  readonly key: number;
  readonly all: number;
  /** Milliseconds after which a client that reads nothing loses its connection; at a full limit also a client that takes longer for an answer. */
  readonly slowMs: number;
}
const LIMITS: UnreadLimits = { city: 32 << 20, key: 64 << 20, all: 128 << 20, slowMs: 10_000 };

/** The party of requests without a key, for operations that need none. */
const NOBODY: Pick<Party, 'owner' | 'limited' | 'lane'> = { owner: 'nobody', limited: false, lane: '' };

interface Unread {
  readonly owner: string;
  /** Within the owner: the key of a city. */
  readonly lane: string;
  readonly bytes: number;
  readonly since: number;
  cut(): void;
}

/**
 * Bounds the answers that clients have not read yet: they stay in memory until then. An owner at its limit gets no further answers, and its slow
 * connections are cut. A client that reads nothing at all is cut in any case. At a limit that several share (of a city, or of all), those with nothing
 * unread still get answers, up to twice the limit within a city: so one key does not block its city, nor one city all others.
 */
export class UnreadAnswers {
  readonly #unread = new Slots<Unread>();
  readonly #bytes = new Map<string, number>();
  #all = 0;
  #cut: Counter | undefined;

  constructor(
    private readonly limits: UnreadLimits = LIMITS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  use(metrics: Metrics): void {
    const unread = (): number => this.#all;
    metrics.gauge({
      name: 'svc_unread_answer_bytes',
      help: 'Bytes of large answers that clients have not read yet',
      collect() {
        this.set(unread());
      },
    });
    this.#cut = metrics.counter({ name: 'svc_unread_answers_cut_total', help: 'Connections cut because their clients did not read' });
  }

  /** The refusal when the party has left too much unread. */
  refusal(party: Party): ProblemError | undefined {
    const owner = this.#of(party.owner);
    if (owner === 0) return undefined;
    const what = party.limited ? 'city' : 'key';
    const most = this.limits[what];
    const isFull = isOver(this.#all, this.limits.all, owner);
    if (!isFull && !isOver(owner, most, this.#of(laneOf(party)))) return undefined;
    const old = this.now() - this.limits.slowMs;
    for (const answer of this.#unread) if (answer.since <= old && (isFull || answer.owner === party.owner)) answer.cut();
    return problem(
      'rate_limited',
      `${owner} bytes of answers wait to be read ${party.limited ? 'by the keys of this city' : 'by this key'}`,
      {
        headers: { 'retry-after': '1', 'ratelimit-policy': `"${what}";q=${most};qu="content-bytes"`, ratelimit: `"${what}";r=0;t=1` },
      },
    );
  }

  /** Counts an answer that is sent, until its client has read it. `party` is absent for operations without a key. */
  sending(reply: FastifyReply, payload: unknown, party: Party | undefined): void {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    if (bytes < COUNTED_BYTES) return;
    const { raw } = reply;
    let isGone = false;
    const over = (): void => {
      if (isGone) return;
      isGone = true;
      this.#unread.remove(place);
      this.#count(answer, -bytes);
    };
    const cut = (): void => {
      over();
      this.#cut?.inc();
      raw.destroy();
    };
    const { owner } = party ?? NOBODY;
    const answer = { owner, lane: laneOf(party ?? NOBODY), bytes, since: this.now(), cut };
    const place = this.#unread.add(answer);
    this.#count(answer, bytes);
    raw.once('finish', over);
    whenGone(raw, over);
    // Node restarts the timeout whenever the client takes bytes, and resets it once the answer is out.
    raw.setTimeout(this.limits.slowMs, cut);
  }

  #of(name: string): number {
    return this.#bytes.get(name) ?? 0;
  }

  #count({ owner, lane }: Unread, bytes: number): void {
    this.#all += bytes;
    for (const name of new Set([owner, lane])) {
      const left = this.#of(name) + bytes;
      if (left === 0) this.#bytes.delete(name);
      else this.#bytes.set(name, left);
    }
  }
}

/** Cities of one key are one client; keys of one city are several. */
function laneOf({ owner, limited, lane }: Pick<Party, 'owner' | 'limited' | 'lane'>): string {
  return limited ? `${owner} ${lane}` : owner;
}

function isOver(unread: number, most: number, own: number): boolean {
  return unread >= (own > 0 ? most : 2 * most);
}
