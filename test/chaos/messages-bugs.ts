import type { MessagesHistory } from './messages-history.js';
import type { Property } from './violations.js';

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Part = Exclude<keyof MessagesHistory, 'seed'>;
type Item<K extends Part> = Writable<MessagesHistory[K][number]>;

/** The last of a part that fits. */
function last<K extends Part>(h: MessagesHistory, part: K, fits: (item: MessagesHistory[K][number]) => boolean = () => true): Item<K> {
  const found = (h[part] as MessagesHistory[K][number][]).findLast(fits);
  if (found === undefined) throw new Error(`nothing of ${part} to do it to`);
  return found as Item<K>;
}

function drop<K extends Part>(h: MessagesHistory, part: K, item: unknown): void {
  const items = h[part] as unknown[];
  items.splice(items.indexOf(item), 1);
}

const ask = (h: MessagesHistory, kind: string, outcome = 'acknowledged'): Item<'asks'> =>
  last(h, 'asks', (one) => one.kind === kind && one.outcome === outcome);
const fresh = (h: MessagesHistory): Item<'asks'> => last(h, 'asks', ({ kind, members }) => kind === 'inbound' && members !== undefined);
const entry = (h: MessagesHistory, kind: string): Item<'entries'> => last(h, 'entries', (one) => one.kind === kind);
const told = (h: MessagesHistory): Item<'deliveries'> =>
  last(h, 'deliveries', ({ direction, state }) => direction === 'inbound' && state === 'delivered');
/** Who is a member from the beginning to the end. */
const steady = (h: MessagesHistory): Item<'deliveries'> =>
  last(h, 'deliveries', ({ direction, state, selector }) => direction === 'inbound' && state === 'delivered' && selector === 's2');
/** A member whom a failure lists. */
const lost = (h: MessagesHistory): Item<'deliveries'> =>
  last(h, 'deliveries', ({ direction, state }) => direction === 'peer' && state === 'failed');
const sent = (h: MessagesHistory): Item<'deliveries'> =>
  last(h, 'deliveries', ({ direction, state, generation }) => direction === 'outbound' && state === 'delivered' && generation! > 0);
const callOf = (h: MessagesHistory, { body }: { body: string }): Item<'calls'> =>
  last(h, 'calls', ({ text, said }) => text === body && said === 'taken');
const event = (h: MessagesHistory, type: string): Item<'log'> => last(h, 'log', (row) => row.type === type);
const again = (h: MessagesHistory, row: Item<'log'>): void => void h.log.push({ ...row, seq: h.log.length + 1 });
const retell = (row: Item<'log'>, payload: object): void => {
  const before = JSON.parse(row.text) as { payload: object };
  row.text = JSON.stringify({ ...before, payload: { ...before.payload, ...payload } });
};
const unread = (h: MessagesHistory): Item<'views'> => last(h, 'views', ({ unreadBy }) => unreadBy !== undefined);
const read = (h: MessagesHistory): Item<'members'> => last(h, 'members', (one) => one.read > 0);
const whole = (h: MessagesHistory): Item<'views'> => last(h, 'views', (one) => one.whole);
/** An acknowledgement that has ended its publication. */
const counts = ({ said, outcome }: Item<'answers'>): boolean => said === 'taken' && outcome === 'acknowledged';
/** What was said for the second time by somebody whom nobody listens to any more. */
const afterwards = (h: MessagesHistory, kind: 'bind' | 'unbind'): void => {
  const row = sent(h);
  const call = callOf(h, row);
  const generation = row.generation! + (kind === 'bind' ? 1 : 0);
  const at = {
    marker: 'late',
    city: 'town',
    replica: 'api-1',
    from: call.at - 4_000,
    to: call.at - 3_000,
    outcome: 'acknowledged',
  } as const;
  h.asks.push({ ...at, kind, conversation: row.conversation, session: 'h1', generation });
};

/** The mistakes that are made on purpose in a right history, each with the property that must catch it. */
export const MESSAGE_BUGS: Readonly<Record<string, readonly [Property, (history: MessagesHistory) => void]>> = {
  'message taken twice': [
    'once from outside',
    (h) => {
      const one = entry(h, 'inbound');
      const row = h.conversations.find(({ conversation }) => conversation === one.conversation) as Item<'conversations'>;
      h.entries.push({ ...one, sequence: ++row.head });
    },
  ],
  'taken for new twice': ['once from outside', (h) => void h.asks.push({ ...fresh(h) })],
  'taken for new by nobody': ['once from outside', (h) => void (fresh(h).duplicate = true)],
  'own words taken for new': [
    'once from outside',
    (h) => void delete last(h, 'asks', ({ marker, kind }) => kind === 'inbound' && marker.startsWith('out-')).duplicate,
  ],
  'message told twice in the log': ['once from outside', (h) => again(h, event(h, 'extmsg.inbound'))],
  'message not told in the log': ['once from outside', (h) => drop(h, 'log', event(h, 'extmsg.inbound'))],
  'message lost after its 200': ['reliable', (h) => drop(h, 'entries', entry(h, 'inbound'))],
  'repetition answered as another': ['idempotent', (h) => void (last(h, 'asks', ({ duplicate }) => duplicate === true).sequence = 1e6)],
  'refused message taken': ['nothing uncommitted', (h) => void (entry(h, 'inbound').message = ask(h, 'inbound', 'refused').marker)],
  'message of nobody': ['nothing uncommitted', (h) => void (entry(h, 'inbound').message = 'nobody')],
  'sequence left out': ['no gaps', (h) => void entry(h, 'outbound').sequence++],
  'sequence given twice': ['no gaps', (h) => void (entry(h, 'inbound').sequence = 1)],
  'head ahead of the entries': ['no gaps', (h) => void last(h, 'conversations').head++],
  'replica without the newest entry': ['no gaps', (h) => void (whole(h).entries = whole(h).entries.slice(1))],
  'replica that leaves one out': ['no gaps', (h) => void (whole(h).entries = whole(h).entries.toSpliced(1, 1))],
  'entry that was shown otherwise': [
    'no gaps',
    (h) => {
      const view = last(h, 'views', (one) => !one.whole && one.entries.length > 0);
      view.entries = [{ ...view.entries[0]!, text: 'otherwise' }, ...view.entries.slice(1)];
    },
  ],
  'ack that goes back': ['acks kept', (h) => void (read(h).read = 0)],
  'ack of nobody': ['acks kept', (h) => void (read(h).read = 1e6)],
  'read again': [
    'acks kept',
    (h) => {
      const view = unread(h);
      const { conversation } = view;
      view.entries = h.entries.filter((one) => one.conversation === conversation);
    },
  ],
  'unread left out': [
    'acks kept',
    (h) => {
      const view = unread(h);
      view.entries = [{ ...entry(h, 'inbound'), sequence: 1e6 }];
    },
  ],
  'membership lost': ['acks kept', (h) => drop(h, 'members', last(h, 'members'))],
  'read before it is there': ['acks kept', (h) => void (ask(h, 'ack').sequence = 1e6)],
  'member not told': ['members told', (h) => drop(h, 'deliveries', told(h))],
  'member told twice': [
    'members told',
    (h) => void h.deliveries.push({ ...told(h), pk: 1e9, id: 'dlv-again', body: 'again', queued: null }),
  ],
  'agent told twice': [
    'members told',
    (h) =>
      void (last(
        h,
        'prompts',
        ({ text }) => text === last(h, 'deliveries', ({ state, direction }) => direction === 'inbound' && state === 'delivered').body,
      ).count = 2),
  ],
  'agent not told': [
    'members told',
    (h) =>
      drop(
        h,
        'prompts',
        h.prompts.find(({ text }) => text === told(h).body),
      ),
  ],
  'told and failed': ['members told', (h) => Object.assign(lost(h), { message: 'delivered' })],
  'told, and its message lost': ['members told', (h) => void (told(h).message = 'unconfirmed')],
  'skipped without a reason': ['members told', (h) => Object.assign(told(h), { state: 'skipped', code: 'told_already' })],
  'skipped as who has left, and is there': ['members told', (h) => Object.assign(steady(h), { state: 'skipped', code: 'no_member' })],
  'handed over to who has it not': [
    'members told',
    (h) => {
      // Whom it is for is somebody who has the conversation, and nobody else is told.
      const one = last(h, 'deliveries', (row) => row.direction === 'inbound' && row.state === 'delivered' && row.conversation === 'd1');
      one.selector = 'h9';
    },
  ],
  'member for ever waiting': ['members told', (h) => void (told(h).state = 'queued')],
  'told of no entry': ['members told', (h) => void (told(h).sequence = 1e6)],
  'steady member forgotten': [
    'members told',
    (h) =>
      drop(
        h,
        'deliveries',
        last(h, 'deliveries', ({ direction, selector }) => direction === 'peer' && selector === 's2'),
      ),
  ],
  'fewer told than answered': ['members told', (h) => void fresh(h).members!++],
  'fewer told than the log says': ['members told', (h) => retell(event(h, 'extmsg.inbound'), { members: 77 })],
  'whom it was for is not told': ['members told', (h) => retell(event(h, 'extmsg.inbound'), { target_session: 'h9' })],
  'agent told of what is not stored': ['nothing uncommitted', (h) => void h.prompts.push({ text: '<external-message>', count: 1 })],
  'told out of turn': [
    'in order',
    (h) => {
      const one = steady(h);
      const before = h.deliveries.find((other) => other.conversation === one.conversation && other.selector === one.selector)!;
      [one.queued, (before as Writable<typeof before>).queued] = [before.queued, one.queued];
    },
  ],
  'failure not told': ['one final state', (h) => drop(h, 'log', event(h, 'extmsg.delivery_failed'))],
  'failure told twice': ['one final state', (h) => again(h, event(h, 'extmsg.delivery_failed'))],
  'failure of what is not there': ['one final state', (h) => retell(event(h, 'extmsg.delivery_failed'), { delivery_id: 'dlv-0' })],
  'failure not listed': ['one final state', (h) => void (last(h, 'listed').ids = last(h, 'listed').ids.slice(1))],
  'publication for ever pending': ['one final state', (h) => void (sent(h).state = 'pending')],
  'delivered, then failed': [
    'one final state',
    (h) => void (last(h, 'asks', ({ kind, state }) => kind === 'outbound' && state === 'delivered').state = 'failed'),
  ],
  'delivered to nobody': ['one final state', (h) => void (callOf(h, sent(h)).said = 'later')],
  'delivered without an entry': [
    'one final state',
    (h) =>
      drop(
        h,
        'entries',
        h.entries.find(({ message }) => message === sent(h).receipt),
      ),
  ],
  'entry of another session': ['one final state', (h) => void (entry(h, 'outbound').session = 'h9')],
  'receipt of another': ['one final state', (h) => void (sent(h).receipt = 'out-another')],
  'failed, and its adapter has it': [
    'one final state',
    (h) => Object.assign(sent(h), { state: 'failed', code: 'permanent', sequence: null, receipt: '' }),
  ],
  'failed, and nobody has refused it': [
    'one final state',
    (h) => {
      const row = sent(h);
      for (const call of h.calls as Item<'calls'>[]) if (call.text === row.body) call.said = 'later';
      Object.assign(row, { state: 'failed', code: 'permanent', sequence: null });
    },
  ],
  'publication told twice': ['one final state', (h) => again(h, event(h, 'extmsg.outbound'))],
  'publication not told': ['one final state', (h) => drop(h, 'log', event(h, 'extmsg.outbound'))],
  'publication told with another generation': ['one final state', (h) => retell(event(h, 'extmsg.outbound'), { binding_generation: 77 })],
  'publication that is told and not there': ['one final state', (h) => retell(event(h, 'extmsg.outbound'), { message_id: 'out-0' })],
  'publication lost after its 200': ['reliable', (h) => drop(h, 'deliveries', sent(h))],
  'publication of another session': [
    'reliable',
    (h) => void (last(h, 'deliveries', ({ direction, selector }) => direction === 'outbound' && selector !== 'mayor').selector = 'h9'),
  ],
  'two publications under a key': ['idempotent', (h) => void h.deliveries.push({ ...sent(h), pk: 1e9, id: 'dlv-more' })],
  'different answers under a key': ['idempotent', (h) => void (ask(h, 'outbound').delivery = 'dlv-0')],
  'refused, and published': ['nothing uncommitted', (h) => void (sent(h).body = ask(h, 'outbound', 'refused').marker)],
  'published for nobody': ['nothing uncommitted', (h) => void h.calls.push({ ...last(h, 'calls'), text: 'nothing' })],
  'sent under two ids': ['one id', (h) => void h.calls.push({ ...callOf(h, sent(h)), key: 'k-another' })],
  'two under one id': [
    'one id',
    (h) => {
      const row = sent(h);
      const other = last(h, 'deliveries', ({ direction, body }) => direction === 'outbound' && body !== row.body);
      other.key = row.key;
      for (const call of h.calls as Item<'calls'>[]) if (call.text === other.body) call.key = row.key;
    },
  ],
  'published after a hand-off': ['fenced', (h) => afterwards(h, 'bind')],
  'published after an unbinding': ['fenced', (h) => afterwards(h, 'unbind')],
  'taken from who has it not': [
    'fenced',
    (h) => {
      const row = last(
        h,
        'deliveries',
        ({ direction, generation, selector }) => direction === 'outbound' && generation! > 0 && selector !== 'mayor',
      );
      row.generation = 1e6;
    },
  ],
  'fenced, and its binding counts': [
    'fenced',
    (h) => {
      const { conversation, generation } = last(h, 'bindings', ({ active }) => active);
      const row = last(h, 'deliveries', (one) => one.direction === 'outbound' && one.conversation === conversation);
      Object.assign(row, { code: 'fenced', generation });
    },
  ],
  'two bindings at once': ['one binding', (h) => void (last(h, 'bindings', ({ active }) => !active).active = true)],
  'binding not told': ['one binding', (h) => drop(h, 'log', event(h, 'extmsg.bound'))],
  'end of a binding not told': ['one binding', (h) => drop(h, 'log', event(h, 'extmsg.unbound'))],
  'another binding ended': [
    'one binding',
    (h) => retell(event(h, 'extmsg.unbound'), { bindings: [{ conversation_id: 'd1', binding_generation: 77 }] }),
  ],
  'generation given twice': ['one binding', (h) => retell(event(h, 'extmsg.bound'), { binding_generation: 1 })],
  'generations miscounted': ['one binding', (h) => void last(h, 'conversations').generation++],
  'binding told and not kept': ['one binding', (h) => drop(h, 'bindings', last(h, 'bindings'))],
  'bound to another than was answered': ['reliable', (h) => void (ask(h, 'bind').session = 'h9')],
  'given away after it was answered': [
    'one final state',
    (h) => {
      const { delivery, to } = last(h, 'answers', counts);
      h.offers.push({ ...last(h, 'offers', (one) => one.delivery === delivery), at: to + 1, claim: 'claim-more', attempt: 9 });
    },
  ],
  'answered by two clients': ['answered once', (h) => void h.answers.push({ ...last(h, 'answers', counts), claim: 'claim-more' })],
  'answered, and not delivered': [
    'one final state',
    (h) => {
      const { delivery } = last(h, 'answers', counts);
      last(h, 'deliveries', ({ id }) => id === delivery).state = 'pending';
    },
  ],
  'given away before the one before it was answered': [
    'in order',
    (h) => {
      const { delivery, conversation } = last(h, 'answers', counts);
      const own = h.deliveries.filter((row) => row.direction === 'outbound' && row.conversation === conversation);
      const before = own[own.findIndex(({ id }) => id === delivery) - 1]!;
      const first = h.offers.find((one) => one.delivery === before.id)!;
      if (before.code === 'fenced') (before as Writable<typeof before>).code = null;
      (h.offers.find((one) => one.delivery === delivery) as Item<'offers'>).at = first.at;
    },
  ],
  'given away and published by nobody': ['nothing uncommitted', (h) => void h.offers.push({ ...last(h, 'offers'), delivery: 'dlv-0' })],
  'given away under another key': ['one id', (h) => void (last(h, 'offers').key = 'k-another')],
  'internal error': ['no internal errors', (h) => Object.assign(last(h, 'asks'), { outcome: 'unknown', status: 500, problem: true })],
  'refused with a page': ['no internal errors', (h) => void (ask(h, 'bind', 'refused').problem = false)],
};
