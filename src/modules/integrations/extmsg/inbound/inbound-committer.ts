import { Injectable } from '@nestjs/common';
import { isBlocked, isRetryable } from '../../../../platform/database/pg-errors.js';
import { SharedCommitter } from '../../../../platform/database/shared-committer.js';
import { Db } from '../../../../platform/database/database.js';
import { afterCommit, PREPARES, Transactions, type Tx } from '../../../../platform/database/transactions.js';
import { preparing } from '../../../../platform/turns/preparing.js';
import { MovedStreams, type Moved } from '../../../../platform/event-log/moved.js';
import { Metrics } from '../../../../platform/health/metrics.js';
import { content, MOST_TOLD } from '../deliveries/notice.js';
import { TellingService } from '../deliveries/telling.service.js';
import { textOf } from '../conversations/conversation.js';
import { Batch, type Outcome } from './batch.js';
import { InboundRepository, type Expecting, type Taken } from './inbound.repository.js';
import type { InboundResult } from './inbound.schemas.js';
import { answer, type Intake } from './intake.js';
import { KnownConversations } from './known-conversations.js';

/** So often it is tried in a batch where somebody else has its conversation; most have it for a moment, as another replica's batch does. */
const TRIES = 3;
/** What tells its members more has the line of its city: a few of them fill a batch, and nobody else has a place in it. */
const HEAVY = 1 << 20;

/**
 * Combines the concurrent messages from outside of this process into one transaction, those of many cities: each is written under the
 * lock of its own conversation. Nobody waits there for what another city, or another conversation, has locked.
 */
@Injectable()
export class InboundCommitter extends SharedCommitter<Outcome, Intake> {
  protected readonly noun = 'message';
  protected override readonly repeatable = 'under its provider_message_id';
  readonly #sizes;
  readonly #known = new KnownConversations();

  constructor(
    private readonly db: Db,
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
    const { message } = intake;
    const said = content(message.text).length + JSON.stringify(message.attachments ?? []).length + 1_000;
    for (let busy = 0; busy < TRIES;) {
      // Each member is told all of it. Where nobody knows yet how many there are, the batch finds out.
      const bytes = said + Math.min(said * this.#known.membersOf(knownAs(intake)), MOST_TOLD);
      // What comes after it for its city has that line, too. What waits already with others may come after it.
      let outcome = await this.commit(intake, bytes, bytes > HEAVY);
      if (outcome === 'blocked') outcome = await this.commit(intake, bytes, true);
      if (typeof outcome === 'object') {
        if ('failed' in outcome) throw outcome.failed;
        return outcome.answer;
      }
      if (outcome === 'alone') return undefined;
      if (outcome === 'busy') busy++;
    }
    return undefined;
  }

  protected hadEffect(outcome: Outcome): boolean {
    return typeof outcome === 'object' && 'taken' in outcome && outcome.taken;
  }

  protected async flush(key: string, intakes: readonly Intake[], records: string): Promise<Outcome[]> {
    this.#sizes.observe(intakes.length);
    const shared = this.isShared(key);
    const given: Given[] = intakes.map((intake, nth) => ({ nth, intake, key: knownAs(intake) }));
    const outcomes = new Map<number, Outcome>();
    const fill = (outcome: Outcome): void => given.forEach(({ nth }) => outcomes.has(nth) || outcomes.set(nth, outcome));
    try {
      // Who waits has a transaction to wait in.
      if (shared) await preparing(() => this.#takeKnown(given, records, outcomes));
      const rest = given.filter(({ nth }) => !outcomes.has(nth));
      if (rest.length === 0) return given.map(({ nth }) => outcomes.get(nth)!);
      const decided = await preparing(() => this.transactions.run((tx) => this.#take(tx, rest, records, !shared), PREPARES));
      decided.forEach((outcome, nth) => outcomes.set(nth, outcome));
    } catch (error) {
      // Whatever it was that one waits for: the others do not.
      if (shared && isBlocked(error)) fill('blocked');
      else if (outcomes.size === 0) throw error;
      // What is taken already must not come again with those that are not.
      else fill(isRetryable(error) ? { failed: this.toAnswer(error) } : 'alone');
    }
    return given.map(({ nth }) => outcomes.get(nth)!);
  }

  /** Those that find their conversations as the ones before them have left them need one statement. Of the others nothing is done. */
  async #takeKnown(given: readonly Given[], records: string, outcomes: Map<number, Outcome>): Promise<void> {
    const batch = new Batch();
    const unlike = new Set<string>();
    const expected = new Map<number, Expecting>();
    const left: number[] = [];
    for (const { nth, intake, key } of given) {
      const found = this.#known.get(key);
      if (found === undefined) continue;
      // Nobody is answered by what is only remembered.
      batch.decide(nth, intake, found);
      const taking = batch.takings.get(nth);
      if (batch.isFull) left.push(nth);
      else if (taking === undefined) unlike.add(key);
      else expected.set(nth, { taking, found, onceKey: intake.onceKey });
    }
    for (const { nth, key } of given) if (unlike.has(key)) expected.delete(nth);
    if (expected.size === 0) return;
    const taken = await this.repository.takeKnown(this.db, expected, records);
    const heads = this.#answer(taken, given, batch, outcomes);
    // Not before: where nothing is taken, all of them come again in smaller batches.
    for (const nth of left) outcomes.set(nth, 'again');
    for (const { nth, key } of given) {
      const found = expected.get(nth)?.found;
      if (found === undefined) continue;
      if (outcomes.has(nth)) this.#known.keep(key, batch.after(found));
      else this.#known.forget(key);
    }
    if (heads.told) this.telling.hurryNow();
    this.moved.mark(heads.moved);
  }

  async #take(tx: Tx, given: readonly Given[], records: string, wait: boolean): Promise<Map<number, Outcome>> {
    const batch = new Batch();
    const decided = new Map<number, Outcome>();
    const looked = await this.repository.look(
      tx,
      given.map(({ intake }) => intake),
    );
    looked.forEach((found, at) => decided.set(given[at]!.nth, batch.decide(given[at]!.nth, given[at]!.intake, found)));
    const taken = batch.takings.size === 0 ? [] : await this.repository.take(tx, batch.takings, wait, records);
    const { told, moved } = this.#answer(taken, given, batch, decided);
    if (told) this.telling.hurry(tx);
    afterCommit(tx, () => {
      const had = new Set(taken.map(({ ord }) => ord));
      looked.forEach((found, at) => {
        const { nth, key } = given[at]!;
        if (had.has(nth) && found.known === undefined) this.#known.keep(key, batch.after(found));
      });
      this.moved.mark(moved);
    });
    return decided;
  }

  /** What those that are taken are answered, where their cities have come to, and whether somebody is to be told. */
  #answer(
    taken: readonly Taken[],
    given: readonly Given[],
    batch: Batch,
    outcomes: Map<number, Outcome>,
  ): { readonly told: boolean; readonly moved: Moved[] } {
    const messages = new Map(given.map(({ nth, intake }) => [nth, intake.message]));
    const heads = new Map<string, number>();
    let told = false;
    for (const { ord, entry, head } of taken) {
      const { at, city, binding, deliveries } = batch.takings.get(ord)!;
      outcomes.set(ord, { taken: true, answer: answer(at, messages.get(ord)!, entry, binding, { Members: deliveries.length }) });
      heads.set(city, head);
      told ||= deliveries.length > 0;
    }
    return { told, moved: [...heads].map(([stream, head]) => ({ stream, head })) };
  }
}

/** One of a batch: its place in it, and what its conversation is remembered as. */
interface Given {
  readonly nth: number;
  readonly intake: Intake;
  readonly key: string;
}

const knownAs = ({ city, conversation }: Intake): string => `${city} ${textOf(conversation)}`;
