import { CONVERSATIONS, isBound, isGrouped, ROUTED, type ChaosConversation } from './messages-city.js';
import { CONNECTED } from './messages-connected.js';
import {
  emptyMessages,
  type AdapterCall,
  type DeliveryEnd,
  type EntryEnd,
  type MessageAsk,
  type MessagesHistory,
} from './messages-history.js';
import { Random } from './random.js';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

const STEADY = ['s1', 's2'];
const HANDS = ['h1', 'h2', 'h3'];
const TICK_MS = 2_000;

/** Conversations in small: without a mistake what it tells is right. Those of `messages-bugs.ts` are made in what it has told. */
export class MessagesModel {
  readonly history: MessagesHistory;
  readonly #random: Random;
  readonly #holders = new Map<string, { holder: string; generation: number }>();
  #now = 1_000;
  #serial = 0;
  #seq = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.history = emptyMessages(seed);
  }

  /** Everything happens so often in each conversation, and more. */
  run(least: number): MessagesHistory {
    for (const at of CONVERSATIONS) this.#begin(at);
    for (let turn = this.#random.int(least, least + 2); turn > 0; turn--)
      for (const at of CONVERSATIONS) {
        this.#write(at);
        if (at.by !== 'group') this.#handOver(at);
        this.#publish(at, this.#random.pick(['delivered', 'refused', 'fenced'] as const));
        this.#publish(at, 'delivered');
        this.#lose(at);
        this.#read(at);
      }
    this.#finish();
    return this.history;
  }

  #begin(at: ChaosConversation): void {
    this.history.conversations.push({ conversation: at.id, head: 0, generation: 0 });
    if (isGrouped(at)) for (const selector of STEADY) this.history.steady.push({ conversation: at.id, selector });
    if (isGrouped(at)) for (const selector of STEADY) this.history.members.push({ conversation: at.id, selector, read: 0 });
    if (!isGrouped(at)) this.#handOver(at);
  }

  #handOver(at: ChaosConversation): void {
    const { history } = this;
    const row = this.#row(at);
    const before = this.#holders.get(at.id);
    const holder = isBound(at) ? this.#random.pick(HANDS) : ROUTED;
    if (before !== undefined) {
      if (holder !== before.holder) this.#leave(at, before.holder, holder);
      this.#event('extmsg.unbound', at, { bindings: [{ conversation_id: at.id, binding_generation: before.generation }] });
      (history.bindings.find((one) => one.conversation === at.id && one.active) as Writable<MessagesHistory['bindings'][number]>).active =
        false;
    }
    const generation = ++row.generation;
    this.#holders.set(at.id, { holder, generation });
    history.bindings.push({ conversation: at.id, holder, active: true, generation });
    this.#event('extmsg.bound', at, { [isBound(at) ? 'session_id' : 'agent_name']: holder, binding_generation: generation });
    this.#ask({ kind: 'bind', marker: `b${++this.#serial}`, conversation: at.id, session: holder, generation });
    this.#ask({
      kind: 'bind',
      marker: `b${++this.#serial}`,
      conversation: at.id,
      session: 'h1',
      outcome: 'refused',
      status: 409,
      problem: true,
    });
  }

  /** What waits for who has a conversation is told the next, who was told more by then, or nobody. */
  #leave(at: ChaosConversation, before: string, next: string): void {
    this.#write(at);
    const row = this.history.deliveries.findLast(
      ({ conversation, selector }) => conversation === at.id && selector === before,
    ) as Writable<DeliveryEnd>;
    if (this.#random.chance(0.5)) return void Object.assign(row, { selector: next, queued: row.pk + 1e6 });
    Object.assign(row, { state: 'skipped', code: 'no_member', queued: null, message: null });
    this.history.prompts.splice(
      this.history.prompts.findIndex(({ text }) => text === row.body),
      1,
    );
  }

  #members(at: ChaosConversation): string[] {
    const holder = this.#holders.get(at.id)?.holder;
    return [...(isGrouped(at) ? STEADY : []), ...(holder === undefined ? [] : [holder])];
  }

  /** Comes twice, once more as news than not; one comes that is refused. */
  #write(at: ChaosConversation): void {
    const marker = `i${++this.#serial}`;
    const entry = this.#entry(at, 'inbound', marker, `said ${marker}`, '');
    const members = this.#members(at);
    const target = this.#holders.get(at.id)?.holder ?? STEADY[0]!;
    for (const selector of members) this.#tell(at, entry, selector, 'inbound');
    this.#event('extmsg.inbound', at, { sequence: entry.sequence, members: members.length, target_session: target });
    const asked = { kind: 'inbound', marker, conversation: at.id, sequence: entry.sequence, target } as const;
    this.#ask({ ...asked, members: members.length });
    this.#ask({ ...asked, duplicate: true });
    this.#ask({ kind: 'inbound', marker: `${marker}-not`, conversation: at.id, outcome: 'refused', status: 400, problem: true });
  }

  #publish(at: ChaosConversation, how: 'delivered' | 'refused' | 'fenced'): void {
    const { history } = this;
    const marker = `o${++this.#serial}`;
    const { holder, generation } = this.#holders.get(at.id) ?? { holder: STEADY[0]!, generation: 0 };
    const id = `dlv-${this.#serial}`;
    const call = { adapter: at.account, conversation: at.id, session: holder, text: marker, key: `k-${marker}` };
    if (how !== 'delivered') history.calls.push({ at: this.#tick(), ...call, said: how === 'refused' ? 'refused' : '' });
    else for (const said of ['later', 'taken'] as const) history.calls.push({ at: this.#tick(), ...call, said });
    if (at.account === CONNECTED) this.#offer(id, history.calls.slice(how === 'delivered' ? -2 : -1));
    const delivered = how === 'delivered';
    const row: Writable<DeliveryEnd> = {
      ...{ pk: ++this.#serial, id, conversation: at.id, direction: 'outbound', state: delivered ? 'delivered' : 'failed', sequence: null },
      ...{
        selector: holder,
        body: marker,
        code: delivered ? null : how === 'fenced' ? 'fenced' : 'permanent',
        key: `k-${marker}`,
        generation,
      },
      ...{ receipt: delivered ? `out-k-${marker}` : '', queued: null, message: null },
    };
    history.deliveries.push(row);
    if (delivered) {
      const entry = this.#entry(at, 'outbound', row.receipt, marker, holder);
      row.sequence = entry.sequence;
      for (const selector of this.#members(at)) if (selector !== holder) this.#tell(at, entry, selector, 'peer');
      const told = generation === 0 ? {} : { binding_generation: generation };
      this.#event('extmsg.outbound', at, { message_id: row.receipt, sequence: entry.sequence, ...told });
      // What the provider sends back of it is nothing new.
      const echo = { kind: 'inbound', marker: row.receipt, conversation: at.id } as const;
      this.#ask({ ...echo, sequence: entry.sequence, duplicate: true });
    } else this.#event('extmsg.delivery_failed', at, { delivery_id: id });
    const asked = { kind: 'outbound', marker, conversation: at.id, session: holder, key: `k-${marker}`, delivery: id } as const;
    for (let n = 0; n < 2; n++) this.#ask({ ...asked, state: row.state, ...(row.sequence === null ? {} : { sequence: row.sequence }) });
    this.#ask({
      kind: 'outbound',
      marker: `${marker}-not`,
      conversation: at.id,
      session: 'h9',
      outcome: 'refused',
      status: 422,
      problem: true,
    });
    if (how === 'fenced' && at.by !== 'group') this.#handOver(at);
  }

  /** A client has each call from its stream, and says what has come of it, once or twice. */
  #offer(delivery: string, calls: readonly AdapterCall[]): void {
    for (const [n, { at, conversation, text, key, said }] of calls.entries()) {
      const offer = { delivery, claim: `claim-${delivery}-${n}`, attempt: n + 1, conversation };
      this.history.offers.push({ at, client: 'client-1', ...offer, text, key });
      if (said === '') continue;
      const answer = { marker: `${offer.claim} ${said}`, city: 'town', replica: 'api-1', ...offer, said };
      for (let times = this.#random.int(1, 2); times > 0; times--)
        this.history.answers.push({ ...answer, from: at + 1, to: at + 2, outcome: 'acknowledged', status: 200 });
      this.history.answers.push({ ...answer, claim: 'claim-0', from: at + 3, to: at + 4, outcome: 'refused', status: 409, problem: true });
    }
  }

  /** Its agent was killed when it was given it; another was closed. */
  #lose(at: ChaosConversation): void {
    const sequence = this.#row(at).head;
    const own = this.history.deliveries.filter(
      (one) => one.conversation === at.id && one.sequence === sequence && one.direction === 'peer',
    );
    for (const row of own as Writable<DeliveryEnd>[]) {
      const unconfirmed = this.#random.chance(0.5);
      Object.assign(row, { state: 'failed', code: unconfirmed ? 'delivery_unconfirmed' : 'session_closed' });
      Object.assign(row, { message: unconfirmed ? 'unconfirmed' : 'failed' });
      const prompt = this.history.prompts.findIndex(({ text }) => text === row.body);
      if (!unconfirmed || this.#random.chance(0.5)) this.history.prompts.splice(prompt, 1);
      this.#event('extmsg.delivery_failed', at, { delivery_id: row.id });
    }
  }

  #read(at: ChaosConversation): void {
    const { history } = this;
    const entries = history.entries.filter(({ conversation }) => conversation === at.id);
    const from = this.#tick();
    const place = this.#random.int(0, entries.length - 1);
    history.views.push({ replica: 'api-1', conversation: at.id, from, whole: false, entries: entries.slice(place) });
    if (!isGrouped(at)) return;
    const member = history.members.find(({ conversation }) => conversation === at.id) as Writable<MessagesHistory['members'][number]>;
    for (const sequence of [this.#random.int(1, entries.length), 1]) {
      this.#ask({ kind: 'ack', marker: `a${++this.#serial}`, conversation: at.id, session: member.selector, sequence });
      member.read = Math.max(member.read, sequence);
    }
    const unread = entries.slice(member.read);
    history.views.push({
      replica: 'api-2',
      conversation: at.id,
      from: this.#tick(),
      whole: false,
      unreadBy: member.selector,
      entries: unread,
    });
  }

  #finish(): void {
    const { history } = this;
    const ids = history.deliveries.filter(({ state }) => state === 'failed').map(({ id }) => id);
    for (const replica of ['api-1', 'api-2']) {
      history.listed.push({ replica, ids: ids.toReversed() });
      for (const { id } of CONVERSATIONS) {
        const entries = history.entries.filter(({ conversation }) => conversation === id);
        for (const each of [entries, entries.toReversed()])
          history.views.push({ replica, conversation: id, from: Infinity, whole: true, entries: each });
      }
    }
  }

  #entry(at: ChaosConversation, kind: EntryEnd['kind'], message: string, text: string, session: string): EntryEnd {
    const entry = { conversation: at.id, sequence: ++this.#row(at).head, kind, message, text, session };
    this.history.entries.push(entry);
    return entry;
  }

  #tell(at: ChaosConversation, { sequence, text }: EntryEnd, selector: string, direction: 'inbound' | 'peer'): void {
    const body = `<external-message>${at.id} ${text}: ${selector}`;
    const pk = ++this.#serial;
    this.history.deliveries.push({
      ...{ pk, id: `dlv-${pk}`, conversation: at.id, direction, state: 'delivered', sequence, selector, body, code: null },
      ...{ key: `dlv-${pk}`, generation: null, receipt: '', queued: pk, message: 'delivered' },
    });
    this.history.prompts.push({ text: body, count: 1 });
  }

  #row({ id }: ChaosConversation): Writable<MessagesHistory['conversations'][number]> {
    return this.history.conversations.find(({ conversation }) => conversation === id)!;
  }

  #ask(given: Partial<MessageAsk> & Pick<MessageAsk, 'kind' | 'marker'>): void {
    const from = this.#tick();
    this.history.asks.push({ city: 'town', replica: 'api-1', from, to: this.#now, outcome: 'acknowledged', status: 200, ...given });
  }

  #event(type: string, { id }: ChaosConversation, payload: object): void {
    const seq = ++this.#seq;
    const text = JSON.stringify({ seq, type, payload: { conversation_id: id, ...payload } });
    this.history.log.push({ stream: 'town', seq, type, city: 'town', text });
  }

  #tick(): number {
    return (this.#now += TICK_MS);
  }
}
