import type { Member } from './fleet.js';
import { ask, type Answer } from './http.js';
import {
  CONVERSATIONS,
  GUEST,
  isBound,
  isGrouped,
  refOf,
  ROUTED,
  type Cast,
  type ChaosConversation,
  type Speaker,
} from './messages-city.js';
import { CONNECTED } from './messages-connected.js';
import type { MessageAsk, MessagesHistory } from './messages-history.js';
import { readPage } from './messages-views.js';
import type { Random } from './random.js';
import { outcomeOf, repeated } from './sending.js';
import { sleep } from './sleep.js';

type Asked = Pick<MessageAsk, 'kind' | 'marker' | 'conversation' | 'session' | 'sequence'>;
interface Sending {
  readonly path: string;
  readonly body: object;
  readonly headers?: Record<string, string>;
  /** What an answer says. */
  readonly says?: (answer: any) => Partial<MessageAsk>;
}

const MOST_CLOSED = 4;

/** People elsewhere, sessions that answer them, and those who say who answers: over random replicas, some things several times at once. */
export class MessagesClients {
  readonly #loops: Promise<unknown>[] = [];
  /** Who was told last that he has a conversation. */
  readonly #holders = new Map<string, string>();
  readonly #heads = new Map<string, number>();
  #serial = 0;
  #closed = 0;
  #stopped = false;

  constructor(
    private readonly apis: readonly Member[],
    private readonly city: string,
    private readonly random: Random,
    private readonly history: MessagesHistory,
    private readonly now: () => number,
    private readonly cast: Cast,
    private readonly adapters: readonly Speaker[],
  ) {}

  start(): void {
    const loop = (pauseMs: number, work: (random: Random) => Promise<unknown>): void => {
      this.#loops.push(this.#loop(this.random.fork(), pauseMs, work));
    };
    for (let i = 0; i < 6; i++) loop(600, (random) => this.#write(random));
    for (let i = 0; i < 8; i++) loop(500, (random) => this.#publish(random));
    // What connected clients are given waits for nobody's answer, and for the one before it.
    for (let i = 0; i < 8; i++) loop(200, (random) => this.#publish(random, CONVERSATIONS.filter(isConnected)));
    for (let i = 0; i < 3; i++) loop(600, (random) => this.#handOver(random));
    loop(4_000, (random) => this.#unbind(random));
    loop(1_200, (random) => this.#invite(random));
    loop(500, (random) => this.#acknowledge(random));
    loop(700, (random) => this.#read(random));
    loop(5_000, (random) => this.#replace(random));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  /** What a provider sends back of what it was given. */
  echo(conversation: ChaosConversation, message: string, text: string, random: Random): void {
    if (!this.#stopped) this.#loops.push(this.#hand(conversation, message, text, random, {}));
  }

  async #loop(random: Random, pauseMs: number, work: (random: Random) => Promise<unknown>): Promise<void> {
    while (!this.#stopped) {
      await work(random);
      await sleep(random.int(0, pauseMs * 2));
    }
  }

  /** Somebody outside. A message may always come again: its id tells it from others. */
  #write(random: Random): Promise<unknown> {
    const conversation = random.pick(CONVERSATIONS);
    const marker = this.#marker('i');
    const target = isGrouped(conversation) && random.chance(0.5) ? { explicit_target: random.pick(['a', '@B', GUEST, 'nobody']) } : {};
    return repeated(() => this.#hand(conversation, marker, `said ${marker}`, random, target), marker, random);
  }

  #hand(conversation: ChaosConversation, marker: string, text: string, random: Random, more: object): Promise<MessageAsk> {
    const actor = { id: 'U1', display_name: 'Ann', is_bot: false };
    const said = { provider_message_id: marker, conversation: refOf(conversation), actor, text, received_at: '2026-01-01T00:00:00Z' };
    const adapter = this.adapters.find(({ account }) => account === conversation.account)!;
    const headers = conversation.by !== 'route' && random.chance(0.5) ? { authorization: `Bearer ${adapter.token}` } : undefined;
    return this.#ask({ kind: 'inbound', marker, conversation: conversation.id }, random, {
      ...{ path: 'extmsg/inbound', body: { message: { ...said, ...more } }, ...(headers && { headers }) },
      says: ({ TranscriptEntry, Duplicate, Members, TargetSessionID, TargetAgentName }) => ({
        ...(TranscriptEntry === null ? {} : { sequence: TranscriptEntry.Sequence as number }),
        ...(Duplicate === undefined ? {} : { duplicate: Duplicate as boolean }),
        ...(Members === undefined ? {} : { members: Members as number }),
        target: TargetSessionID || TargetAgentName,
      }),
    });
  }

  /** Mostly where it is tried again, and somebody else may have the conversation by then. */
  #publish(random: Random, among = random.chance(0.5) ? CONVERSATIONS.filter(isContested) : CONVERSATIONS): Promise<unknown> {
    const conversation = random.pick(among);
    const text = this.#marker('o');
    const session = this.#speaker(conversation, random);
    const key = random.chance(0.6) ? `k-${text}` : undefined;
    const body = { session_id: session, conversation: refOf(conversation), text, ...(key && { idempotency_key: key }) };
    const asked = { kind: 'outbound', marker: text, conversation: conversation.id, session, ...(key && { key }) } as const;
    const send = (): Promise<MessageAsk> =>
      this.#ask(asked, random, {
        ...{ path: 'extmsg/outbound', body },
        says: ({ Receipt: { Delivered, FailureKind }, DeliveryID, TranscriptEntry }) => ({
          delivery: DeliveryID as string,
          state: Delivered ? 'delivered' : FailureKind === 'pending' ? 'pending' : 'failed',
          ...(TranscriptEntry === null ? {} : { sequence: TranscriptEntry.Sequence as number }),
        }),
      });
    const sent = repeated(send, key, random);
    // While it is on its way another gets the conversation.
    if (!isBound(conversation) || random.chance(0.4)) return sent;
    return Promise.all([sent, sleep(random.int(50, 600)).then(() => this.#handOver(random, conversation))]);
  }

  /** Mostly somebody who may. */
  #speaker({ id, by }: ChaosConversation, random: Random): string {
    const { steady, hands } = this.cast;
    if (by === 'route') return ROUTED;
    if (by === 'group') return random.pick([...steady, random.pick(hands)]);
    const holder = this.#holders.get(id);
    return holder === undefined || random.chance(0.15) ? random.pick(hands) : holder;
  }

  #handOver(random: Random, conversation = random.pick(CONVERSATIONS.filter(isBound))): Promise<unknown> {
    const session = random.pick(this.cast.hands);
    const replace = random.chance(0.8);
    const asked = { kind: 'bind', marker: this.#marker('b'), conversation: conversation.id, session } as const;
    return this.#ask(asked, random, {
      ...{ path: 'extmsg/bind', body: { conversation: refOf(conversation), session_id: session, replace } },
      says: ({ BindingGeneration }) => {
        this.#holders.set(conversation.id, session);
        return { generation: BindingGeneration as number };
      },
    });
  }

  #unbind(random: Random): Promise<unknown> {
    const conversation = random.pick(CONVERSATIONS.filter(isBound));
    const asked = { kind: 'unbind', marker: this.#marker('u'), conversation: conversation.id } as const;
    return this.#ask(asked, random, {
      ...{ path: 'extmsg/unbind', body: { conversation: refOf(conversation) } },
      says: ({ unbound }) => {
        const ended = (unbound as { BindingGeneration: number }[]).map(({ BindingGeneration }) => BindingGeneration);
        return ended.length === 0 ? {} : { generation: Math.max(...ended) };
      },
    });
  }

  /** The guest of a group is somebody else. */
  #invite(random: Random): Promise<unknown> {
    const { id } = random.pick(CONVERSATIONS.filter(isGrouped));
    const session = random.pick(this.cast.hands);
    const asked = { kind: 'participant', marker: this.#marker('p'), conversation: id, session } as const;
    const body = { group_id: this.cast.groups.get(id)!, handle: GUEST, session_id: session };
    return this.#ask(asked, random, { path: 'extmsg/participants', body });
  }

  #acknowledge(random: Random): Promise<unknown> {
    const { conversation, selector } = random.pick(this.cast.members);
    const head = this.#heads.get(conversation) ?? 0;
    const sequence = random.chance(0.1) ? head + 1_000 : random.int(0, head);
    const asked = { kind: 'ack', marker: this.#marker('a'), conversation, session: selector, sequence } as const;
    const body = { conversation: refOf(conversationOf(conversation)), session_id: selector, sequence };
    return this.#ask(asked, random, { path: 'extmsg/transcript/ack', body });
  }

  async #read(random: Random): Promise<void> {
    const member = random.chance(0.5) ? random.pick(this.cast.members) : undefined;
    const conversation = member === undefined ? random.pick(CONVERSATIONS) : conversationOf(member.conversation);
    const head = this.#heads.get(conversation.id) ?? 0;
    const place: Record<string, string> =
      member !== undefined
        ? { session_id: member.selector }
        : random.chance(0.5)
          ? { order: 'desc', limit: String(random.int(1, 40)) }
          : { after_sequence: String(random.int(0, head)) };
    const from = this.now();
    const replica = random.pick(this.apis);
    const page = await readPage(replica, this.city, conversation, place);
    if (page === undefined) return;
    const unread = member === undefined ? {} : { unreadBy: member.selector };
    this.history.views.push({
      ...{ replica: replica.name, conversation: conversation.id, from, whole: false, ...unread },
      entries: page.entries,
    });
  }

  /** One of those who come and go is closed, and another comes. */
  async #replace(random: Random): Promise<void> {
    if (this.#closed >= MOST_CLOSED || random.chance(0.3)) return;
    const { hands } = this.cast;
    const title = this.#marker('s');
    const made = await ask('POST', this.#url('sessions', random), { body: { kind: 'provider', name: 'loopback', title } });
    if (made?.status !== 202) return;
    this.#closed++;
    const [session] = hands.splice(random.int(0, hands.length - 1), 1);
    hands.push((JSON.parse(made.body) as { session_id: string }).session_id);
    await this.#ask({ kind: 'close', marker: this.#marker('x'), session: session! }, random, {
      path: `session/${session}/close`,
      body: {},
    });
  }

  #marker(kind: string): string {
    return `${kind}${this.history.seed}-${++this.#serial}`;
  }

  #url(path: string, random: Random): string {
    return `${random.pick(this.apis).url}/v0/city/${this.city}/${path}`;
  }

  async #ask(asked: Asked & Pick<MessageAsk, 'key'>, random: Random, { path, body, headers, says }: Sending): Promise<MessageAsk> {
    const replica = random.pick(this.apis);
    const from = this.now();
    const answer: Answer | undefined = await ask('POST', `${replica.url}/v0/city/${this.city}/${path}`, {
      body,
      ...(headers && { headers }),
    });
    const outcome = outcomeOf(answer);
    const said = outcome.outcome === 'acknowledged' && says !== undefined ? says(JSON.parse(outcome.body!)) : {};
    const made: MessageAsk = { ...asked, city: this.city, replica: replica.name, from, to: this.now(), ...outcome, ...said };
    if (asked.kind === 'inbound' || asked.kind === 'outbound')
      this.#heads.set(asked.conversation!, Math.max(this.#heads.get(asked.conversation!) ?? 0, made.sequence ?? 0));
    this.history.asks.push(made);
    return made;
  }
}

const isConnected = ({ account }: ChaosConversation): boolean => account === CONNECTED;
const isContested = (one: ChaosConversation): boolean => isBound(one) && one.account === 'failing';

export function conversationOf(id: string): ChaosConversation {
  return CONVERSATIONS.find((each) => each.id === id)!;
}
