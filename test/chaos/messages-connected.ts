import { Agent, get, type IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import type { Member } from './fleet.js';
import { ask } from './http.js';
import type { MessagesHistory, Offer, OfferAnswer } from './messages-history.js';
import type { Random } from './random.js';
import { outcomeOf } from './sending.js';
import { sleep } from './sleep.js';
import { Wanderer } from './wanderer.js';

/** The account whose adapter has no address. */
export const CONNECTED = 'connected';

const HEADERS_WITHIN_MS = 15_000;
/** After so many offers of one publication it goes well. */
const PATIENCE = 3;
const agent = new Agent({ keepAlive: false });

interface Given {
  readonly id: string;
  readonly claim: string;
  readonly attempt: number;
  readonly session_id: string;
  readonly conversation: { readonly conversation_id: string };
  readonly text: string;
  readonly idempotency_key: string;
}
type Said = Pick<OfferAnswer, 'said'>['said'];

/** What all clients of the account know together: what they have published they have published, whichever of them is asked again. */
export class ConnectedAccount {
  readonly account = CONNECTED;
  token = '';
  readonly taken = new Set<string>();
  readonly offers = new Map<string, number>();
  settled = false;
}

/**
 * A client that takes publications from a stream at random replicas, leaves, and comes back, mostly with the last id it has seen. It
 * acknowledges anywhere: what it has published, what has failed for a while or for good, some of it twice, and some of it not at all.
 */
export class ConnectedClient {
  readonly #wanderer: Wanderer;
  readonly #answering = new Set<Promise<unknown>>();
  /** Claims that it has seen: on the next stream they come again. */
  readonly #claims = new Set<string>();
  #last: string | undefined;

  constructor(
    readonly name: string,
    private readonly of: ConnectedAccount,
    private readonly apis: readonly Member[],
    private readonly city: string,
    private readonly random: Random,
    private readonly history: MessagesHistory,
    private readonly now: () => number,
  ) {
    this.#wanderer = new Wanderer(async () => ((await this.#once()) === 'refused' ? 300 : this.random.int(10, 400)));
  }

  /** From now on it stays where it is, and publishes all that it is given. */
  settle(): void {
    this.#wanderer.settle();
  }

  async close(): Promise<void> {
    await this.#wanderer.close();
    await Promise.all(this.#answering);
  }

  #once(): Promise<'refused' | 'closed'> {
    const replica = this.random.pick(this.apis);
    // Who has lost its place begins anew; what it had is offered again when its time is over.
    const resumed = this.#last !== undefined && this.random.chance(0.8) ? { 'last-event-id': this.#last } : {};
    const headers = { accept: 'text/event-stream', 'x-svc-request': 'chaos', authorization: `Bearer ${this.of.token}`, ...resumed };
    return new Promise((resolve) => {
      const outgoing = get(`${replica.url}/v0/city/${this.city}/extmsg/publications/stream`, { agent, headers }, (response) => {
        clearTimeout(timer);
        if (response.statusCode === 200) return this.#read(response, () => resolve('closed'));
        // A place that nobody knows any more is none.
        if (response.statusCode === 400) this.#last = undefined;
        response.resume().on('close', () => resolve('refused'));
      });
      outgoing.on('error', () => resolve('closed'));
      const timer = setTimeout(() => outgoing.destroy(), HEADERS_WITHIN_MS);
      this.#wanderer.onAbort(() => outgoing.destroy());
    });
  }

  #read(response: IncomingMessage, done: () => void): void {
    const parser = createParser({
      onEvent: ({ id, event, data }) => {
        if (id !== undefined) this.#last = id;
        if (event === 'publication') this.#given(JSON.parse(data) as Given);
      },
    });
    this.#wanderer.leaveAfter(
      () => this.random.int(300, 6_000),
      () => response.destroy(),
    );
    response.setEncoding('utf8');
    response.on('data', (text: string) => parser.feed(text));
    response.on('error', () => undefined);
    response.on('close', () => {
      this.#wanderer.onAbort(undefined);
      done();
    });
  }

  #given({ id: delivery, claim, attempt, conversation, session_id: session, text, idempotency_key: key }: Given): void {
    const { of, history } = this;
    const again = this.#claims.has(claim);
    this.#claims.add(claim);
    const offer: Offer = {
      at: this.now(),
      client: this.name,
      delivery,
      claim,
      attempt,
      conversation: conversation.conversation_id,
      text,
      key,
    };
    history.offers.push(offer);
    const before = of.offers.get(key) ?? 0;
    of.offers.set(key, before + 1);
    const said = of.settled || before >= PATIENCE || of.taken.has(key) ? 'taken' : this.random.pick(SAYS);
    if (said === 'taken') of.taken.add(key);
    // What it has under one claim it is given again on its next stream, whoever has the conversation by then: that is no other call.
    history.calls.push({ at: again ? 0 : offer.at, adapter: CONNECTED, conversation: offer.conversation, session, text, key, said });
    if (said === '') return;
    const answering = this.#answer(offer, said).finally(() => this.#answering.delete(answering));
    this.#answering.add(answering);
  }

  /** Once, or twice, and again until somebody has heard it. */
  async #answer(offer: Offer, said: Exclude<Said, ''>): Promise<void> {
    await sleep(this.random.int(0, 300));
    if (this.random.chance(0.2)) void this.#acknowledge(offer, said);
    for (let tries = 0; tries < 5; tries++) {
      if ((await this.#acknowledge(offer, said)) !== 'unknown') return;
      await sleep(this.random.int(50, 500));
    }
  }

  async #acknowledge({ delivery, claim, attempt, conversation, key }: Offer, said: Exclude<Said, ''>): Promise<OfferAnswer['outcome']> {
    const replica = this.random.pick(this.apis);
    const from = this.now();
    const body = { claim, ...BODIES[said], ...(said === 'taken' ? { message_id: `out-${key}` } : {}) };
    const url = `${replica.url}/v0/city/${this.city}/extmsg/publication/${delivery}/ack`;
    const outcome = outcomeOf(await ask('POST', url, { body, headers: { authorization: `Bearer ${this.of.token}` } }));
    this.history.answers.push({
      ...{ marker: `${claim} ${said}`, city: this.city, replica: replica.name, from, to: this.now(), ...outcome },
      ...{ delivery, claim, attempt, conversation, said },
    });
    return outcome.outcome;
  }
}

const SAYS: readonly Said[] = ['taken', 'taken', 'taken', 'later', 'refused', ''];
const BODIES = {
  taken: { delivered: true },
  later: { delivered: false, failure_kind: 'rate_limited', retry_after: 300_000_000 },
  refused: { delivered: false, failure_kind: 'permanent', error: 'never' },
} as const;
