import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../../platform/config/config.js';
import { DuePoller } from '../../../../platform/database/due-poller.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { LeasedWork, LeaseTimings, type Held } from '../../../sessions/launch/leased-work.js';
import type { Places } from '../../../sessions/launch/places.js';
import { credentialsOf } from '../adapters/adapter-token.js';
import { AdaptersRepository, type AdapterRow } from '../adapters/adapters.repository.js';
import { ConversationsRepository } from '../conversations/conversations.repository.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { EXTMSG_TOPIC } from '../topics.js';
import { Callback } from './callback.js';
import { toPublished } from './publication-body.js';
import { PublicationEnds } from './publication-ends.js';
import { ForClientsRepository } from './for-clients.repository.js';
import type { PublicationRow } from './publication.js';
import { PublicationsRepository } from './publications.repository.js';
import { failed, outcomeOf, type Outcome } from './receipt.js';

/**
 * Publishes what sessions say: the oldest of each conversation, under a lease, to the adapter of its account. Whoever has the conversation
 * no more publishes nothing. What fails for a while is tried again, with the same key, so that an adapter can tell.
 */
@Injectable()
export class Publisher implements OnApplicationBootstrap {
  readonly #leased: LeasedWork<PublicationRow>;

  constructor(
    private readonly config: AppConfig,
    private readonly transactions: Transactions,
    private readonly repository: PublicationsRepository,
    private readonly forClients: ForClientsRepository,
    private readonly conversations: ConversationsRepository,
    private readonly adapters: AdaptersRepository,
    private readonly callback: Callback,
    private readonly ends: PublicationEnds,
    private readonly timings: ExtmsgTimings,
    private readonly leases: LeaseTimings,
    private readonly signals: Signals,
    private readonly due: DuePoller,
    private readonly lifecycle: Lifecycle,
    private readonly failpoints: Failpoints,
    log: AppLogger,
  ) {
    const source = {
      name: 'publications',
      topic: EXTMSG_TOPIC,
      due: repository.isDue,
      claim: (places: Places) =>
        this.transactions.run(async (tx) => {
          await this.forClients.release(tx);
          return this.repository.claim(tx, this.worker, places, this.leases.leaseMs, this.timings.offers);
        }),
      renew: (pks: readonly number[]) => this.repository.renew(this.worker, pks, this.leases.leaseMs),
      carryOut: (held: Held<PublicationRow>) => this.#publish(held),
    };
    this.#leased = new LeasedWork(source, leases, log);
  }

  get worker(): string {
    return this.config.processId;
  }

  onApplicationBootstrap(): void {
    this.#leased.begin(this.signals, this.due, this.lifecycle);
  }

  async #publish(held: Held<PublicationRow>): Promise<void> {
    const { row, signal } = held;
    const adapter = await this.#admitted(row);
    if (adapter === undefined) return;
    const outcome = 'kind' in adapter ? adapter : await this.#call(row, adapter, signal);
    if (held.lost) return;
    // This process stops. Whether the adapter has taken it is not known: another worker tries it again under the same key.
    if (signal.aborted && !outcome.delivered) {
      await this.transactions.run((tx) => this.repository.giveBack(tx, row.pk, this.worker));
      return;
    }
    await this.failpoints.hit('extmsg.published');
    await this.#leased.persist(held, () => this.#close(row, 'kind' in adapter ? undefined : adapter, outcome));
  }

  /** Right before the call: the adapter, what has come of it already, or nothing where it has ended, or waits for its city to run. */
  async #admitted(row: PublicationRow): Promise<AdapterRow | Outcome | undefined> {
    return this.transactions.run(async (tx) => {
      await this.conversations.lockPk(tx, row.conversation_pk);
      if (!(await this.repository.held(tx, row.pk, this.worker))) return undefined;
      if (!(await this.repository.isCurrent(tx, row.pk))) return failed('fenced', 'its session has the conversation no more');
      if (!(await this.repository.mayGoOut(tx, row.pk))) {
        if (row.overdue) return failed('transient', 'the city has not run until its deadline');
        return void (await this.repository.untried(tx, row.pk));
      }
      const adapter = await this.adapters.find(tx, row.stream_id, row.provider, row.account_id);
      if (adapter === undefined) return failed('transient', 'no adapter is registered for this account');
      // Those that are connected come for it themselves: what is left here nobody has taken in time.
      if (adapter.transport === 'stream') return failed('transient', row.receipt?.error ?? 'no client of the adapter has taken it');
      if (adapter.callback_url === '') return failed('unsupported', 'the adapter has no callback_url');
      if (adapter.stale) return failed('transient', 'the adapter has not been heard of for longer than its lease');
      return adapter;
    });
  }

  async #call(row: PublicationRow, adapter: AdapterRow, signal: AbortSignal): Promise<Outcome> {
    const { city, deployment } = await this.transactions.run((tx) => this.repository.caller(tx, row.stream_id));
    const { secret } = credentialsOf(deployment, adapter.pk, adapter.secret_version);
    const body = JSON.stringify(toPublished(row));
    return outcomeOf(await this.callback.post(city, `${adapter.callback_url}/publish`, body, secret, signal));
  }

  async #close(row: PublicationRow, adapter: AdapterRow | undefined, outcome: Outcome): Promise<void> {
    await this.transactions.run(async (tx) => {
      const at = (await this.conversations.lockPk(tx, row.conversation_pk))!;
      if (await this.repository.held(tx, row.pk, this.worker)) await this.ends.record(tx, at, row, adapter, outcome);
    });
  }
}
