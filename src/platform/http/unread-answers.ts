import type { FastifyReply } from 'fastify';
import { problem, type ProblemError } from '../../contract/problems.js';
import type { Metrics } from '../health/metrics.js';
import type { Party } from '../turns/turns.js';

/** Shorter answers are not counted: the kernel takes them at once, and they are nearly all. */
const COUNTED_BYTES = 32 * 1024;

export interface UnreadLimits {
  /** Bytes that the clients of one city, of one key of all cities, and of all together have asked for and not read yet. */
  readonly city: number;
  readonly key: number;
  readonly all: number;
  /** A client that reads nothing for so long loses its connection; at a full limit also one that takes longer for an answer. Milliseconds. */
  readonly slowMs: number;
}
const LIMITS: UnreadLimits = { city: 32 << 20, key: 64 << 20, all: 128 << 20, slowMs: 10_000 };

/** Who has no key at all, for what needs none. */
const NOBODY = 'nobody';

interface Unread {
  readonly owner: string;
  readonly bytes: number;
  readonly since: number;
  cut(): void;
}

/**
 * Answers that are made and that their clients have not read yet: they stay in memory until then. Whoever leaves too much of them unread gets
 * no further ones, and what is slow of it then loses its connection; whoever reads nothing at all loses it anyway.
 */
export class UnreadAnswers {
  /** The oldest first. */
  readonly #unread = new Set<Unread>();
  readonly #bytes = new Map<string, number>();
  #all = 0;
  /** Connections that were cut. */
  cut = 0;

  constructor(
    private readonly limits: UnreadLimits = LIMITS,
    private readonly now: () => number = () => performance.now(),
  ) {}

  use(metrics: Metrics): void {
    const [unread, cut] = [(): number => this.#all, (): number => this.cut];
    metrics.gauge({
      name: 'svc_unread_answer_bytes',
      help: 'Bytes of large answers that clients have not read yet',
      collect() {
        this.set(unread());
      },
    });
    metrics.gauge({
      name: 'svc_unread_answers_cut',
      help: 'Connections cut because their clients did not read, since the start',
      collect() {
        this.set(cut());
      },
    });
  }

  /** The refusal when the owner, or all with it among them, have too much to read. */
  refusal({ owner, limited }: Party): ProblemError | undefined {
    const unread = this.#bytes.get(owner) ?? 0;
    if (unread === 0) return undefined;
    const isFull = this.#all >= this.limits.all;
    if (unread < (limited ? this.limits.city : this.limits.key) && !isFull) return undefined;
    const old = this.now() - this.limits.slowMs;
    for (const answer of this.#unread) if (answer.since <= old && (isFull || answer.owner === owner)) answer.cut();
    return problem('rate_limited', `${unread} bytes of answers wait to be read ${limited ? 'by the keys of this city' : 'by this key'}`, {
      headers: { 'retry-after': '1' },
    });
  }

  /** An answer goes to its client. `party` is absent for what anybody may ask for. */
  sending(reply: FastifyReply, payload: unknown, party: Party | undefined): void {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    if (bytes < COUNTED_BYTES) return;
    const { raw } = reply;
    const over = (): void => {
      if (!this.#unread.delete(answer)) return;
      this.#count(answer, -bytes);
    };
    const cut = (): void => {
      over();
      this.cut++;
      raw.destroy();
    };
    const answer = { owner: party?.owner ?? NOBODY, bytes, since: this.now(), cut };
    this.#unread.add(answer);
    this.#count(answer, bytes);
    raw.once('finish', over);
    raw.once('close', over);
    // Node sets it anew with every byte that the client takes, and by itself once the answer is out.
    raw.setTimeout(this.limits.slowMs, cut);
  }

  #count({ owner }: Unread, bytes: number): void {
    this.#all += bytes;
    const left = (this.#bytes.get(owner) ?? 0) + bytes;
    if (left === 0) this.#bytes.delete(owner);
    else this.#bytes.set(owner, left);
  }
}
