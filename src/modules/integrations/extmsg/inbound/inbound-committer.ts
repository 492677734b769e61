import { Injectable } from '@nestjs/common';
import { GroupCommitter } from '../../../../platform/database/group-committer.js';
import { isBlocked } from '../../../../platform/database/pg-errors.js';
import { afterCommit, PREPARES, Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { MovedStreams } from '../../../../platform/event-log/moved.js';
import { Metrics } from '../../../../platform/health/metrics.js';
import { TellingService } from '../deliveries/telling.service.js';
import type { Found } from './found.js';
import { InboundRepository } from './inbound.repository.js';
import type { InboundResult } from './inbound.schemas.js';
import { answer, routed, unrouted, type Intake, type Taking } from './intake.js';

/** Two take turns at the database: while one commits, the requests of the other are read and answered. */
const LANES = ['~0', '~1'] as const;

/** So often it is tried in a batch where somebody else has its conversation; most have it for a moment, as another replica's batch does. */
const TRIES = 3;

/**
 * What has become of a message. `again`: one of the same batch comes under the same key; it is decided with the next. `busy`: somebody has
 * its conversation locked, `blocked`: its city's events. `alone`: more is to be done than belongs into a batch.
 */
type Outcome = { readonly answer: InboundResult; readonly taken: boolean } | 'again' | 'busy' | 'blocked' | 'alone';

/**
 * Combines the concurrent messages from outside of this process into one transaction, those of many cities: each is written under the
 * lock of its own conversation. Nobody waits there for what another city, or another conversation, has locked. Where the events of a city are
 * locked, its messages go on in batches of their own, which wait; so do those that come after them, until none is left.
 */
@Injectable()
export class InboundCommitter extends GroupCommitter<Outcome, Intake> {
  protected readonly noun = 'message';
  protected override readonly repeatable = 'under its provider_message_id';
  readonly #sizes;

  constructor(
    private readonly transactions: Transactions,
    private readonly repository: InboundRepository,
    private readonly telling: TellingService,
    private readonly moved: MovedStreams,
    metrics: Metrics,
  ) {
    super();
    this.#sizes = metrics.histogram({
      name: 'svc_extmsg_batch_messages',
      help: 'Messages from outside that shared one transaction',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 500],
    });
  }

  /** Undefined where it has to be taken alone: nothing has been done about it then. */
  async receive(intake: Intake): Promise<InboundResult | undefined> {
    const { city, message } = intake;
    const bytes = message.text.length + JSON.stringify(message.attachments ?? []).length + 1_000;
    for (let busy = 0; busy < TRIES;) {
      let outcome = await this.enqueue(this.isBusy(city) ? city : laneOf(city), intake, bytes);
      if (outcome === 'blocked') outcome = await this.enqueue(city, intake, bytes);
      if (typeof outcome === 'object') return outcome.answer;
      if (outcome === 'alone') return undefined;
      if (outcome === 'busy') busy++;
    }
    return undefined;
  }

  protected override ownerOf({ city }: Intake): string {
    return city;
  }

  protected hadEffect(outcome: Outcome): boolean {
    return typeof outcome === 'object' && outcome.taken;
  }

  protected async flush(key: string, intakes: readonly Intake[], records: string): Promise<Outcome[]> {
    this.#sizes.observe(intakes.length);
    const shared = (LANES as readonly string[]).includes(key);
    try {
      return await this.transactions.run((tx) => this.#take(tx, intakes, records, !shared), PREPARES);
    } catch (error) {
      // Whatever it was that one waits for: the others do not.
      if (shared && isBlocked(error)) return intakes.map(() => 'blocked');
      throw error;
    }
  }

  async #take(tx: Tx, intakes: readonly Intake[], records: string, wait: boolean): Promise<Outcome[]> {
    const batch = new Batch();
    const outcomes = (await this.repository.look(tx, intakes)).map((found, nth) => batch.decide(nth, intakes[nth]!, found));
    if (batch.takings.size === 0) return outcomes;
    const taken = await this.repository.take(tx, batch.takings, wait, records);
    const heads = new Map<string, number>();
    let told = false;
    for (const { ord, entry, head } of taken) {
      const { at, city, binding, deliveries } = batch.takings.get(ord)!;
      outcomes[ord] = { taken: true, answer: answer(at, intakes[ord]!.message, entry, binding, { Members: deliveries.length }) };
      heads.set(city, head);
      told ||= deliveries.length > 0;
    }
    if (told) this.telling.hurry(tx);
    afterCommit(tx, () => this.moved.mark([...heads].map(([stream, head]) => ({ stream, head }))));
    return outcomes;
  }
}

/** What is decided together: each finds its conversation as those before it leave it. */
class Batch {
  readonly takings = new Map<number, Taking>();
  readonly #heads = new Map<number, number>();
  readonly #addressed = new Map<number, string>();
  readonly #keys = new Set<string>();

  /** What it comes to; of one that is to be taken, if it is not. */
  decide(nth: number, intake: Intake, { at: found, ...looked }: Found): Outcome {
    const { message, onceKey } = intake;
    const { known, binding, group, running, overdue } = looked;
    if (!running || found === undefined) return looked.busy ? 'busy' : 'alone';
    if (known !== undefined) return { taken: false, answer: answer(found, message, known, binding, { Duplicate: true }) };
    if (overdue || (binding === undefined && group === undefined)) return 'alone';
    const once = `${found.pk} ${onceKey}`;
    if (onceKey !== '' && this.#keys.has(once)) return 'again';
    const at = { ...found, head: this.#heads.get(found.pk) ?? found.head };
    const last = this.#addressed.get(found.pk) ?? group?.last_addressed_handle ?? '';
    const { taking, decision } = routed(intake, at, {
      ...looked,
      ...(group === undefined ? {} : { group: { ...group, last_addressed_handle: last } }),
    });
    if (taking === undefined) return { taken: false, answer: unrouted(message, decision) };
    this.takings.set(nth, taking);
    this.#heads.set(at.pk, at.head + 1);
    this.#keys.add(once);
    if (taking.addressed !== undefined) this.#addressed.set(at.pk, taking.addressed.handle);
    return 'blocked';
  }
}

/** A city's messages go the same way as long as nothing is in it. */
function laneOf(city: string): string {
  let sum = 0;
  for (let n = 0; n < city.length; n++) sum += city.charCodeAt(n);
  return LANES[sum % LANES.length]!;
}
