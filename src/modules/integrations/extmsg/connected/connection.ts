import { frameText, heartbeatFrame, retryFrame } from '../../../../platform/streams/sse.js';
import type { Subscriber } from '../../../../platform/streams/subscriber.js';
import { AutoResetEvent } from '../../../../platform/time/auto-reset-event.js';
import { atMost } from '../../../../platform/time/clock.js';
import type { AdapterRow } from '../adapters/adapters.repository.js';
import { toPublished } from '../outbound/publication-body.js';
import type { PublicationRow } from '../outbound/publication.js';
import type { ExtmsgPublication } from './connected.schemas.js';
import type { Account, Candidate } from './offers.repository.js';

const LOOK_MS = 1_000;

/** A stream that is about to begin: it counts, and has what its client had before. */
export interface Prepared {
  readonly id: string;
  readonly adapter: Pick<AdapterRow, 'pk'>;
  readonly account: Account;
  readonly resumed: readonly Candidate[];
}

/** One open stream of a client, and what it has been written. */
export class Connection {
  readonly id: string;
  readonly adapterPk: number;
  readonly account: Account;
  /** What it has, or may have, and has not been written: what its client had on the stream before, and where it is not known whether a claim was committed. */
  readonly unwritten: Candidate[];
  #frames = 0;
  readonly #woken = new AutoResetEvent();

  constructor(
    { id, adapter, account, resumed }: Prepared,
    private readonly subscriber: Subscriber,
  ) {
    this.id = id;
    this.adapterPk = adapter.pk;
    this.account = account;
    this.unwritten = [...resumed];
    this.#woken.set();
  }

  get open(): boolean {
    return this.subscriber.state !== 'closed';
  }

  /** Something may be free for it. */
  hear(): void {
    this.#woken.set();
  }

  /** Resolves when something may be free and the client reads: one that does not is given nothing, and keeps nobody waiting. */
  async ready(): Promise<void> {
    while (this.open && this.subscriber.full) await atMost(LOOK_MS, this.subscriber.drained());
    if (this.open) await this.#woken.wait();
  }

  get full(): boolean {
    return this.subscriber.full;
  }

  send(row: PublicationRow): void {
    const publication: ExtmsgPublication = {
      id: row.id,
      claim: row.claim!,
      claim_until: row.lease_until!.toISOString(),
      attempt: row.attempts,
      ...toPublished(row),
    };
    this.#frames++;
    this.subscriber.write(frameText(this.#position(), 'publication', JSON.stringify(publication)));
  }

  /** The bookmark that names the stream to its client. */
  beat(now: number, heartbeatMs: number): void {
    this.subscriber.beatAt = now + heartbeatMs;
    this.subscriber.write(heartbeatFrame(this.#position(), new Date(now)));
  }

  /** Closes a client that takes nothing, and writes what is due. */
  tick(now: number, heartbeatMs: number): void {
    if (this.subscriber.stalled(now)) this.subscriber.close();
    else if (now >= this.subscriber.beatAt && !this.full) this.beat(now, heartbeatMs);
  }

  end(): void {
    this.subscriber.end(retryFrame());
    this.#woken.set();
  }

  #position(): string {
    return `${this.id}.${this.#frames}`;
  }
}
