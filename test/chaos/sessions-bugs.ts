import type { SessionsHistory } from './sessions-history.js';
import type { Property } from './violations.js';

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Part = Exclude<keyof SessionsHistory, 'seed'>;
type Item<K extends Part> = Writable<SessionsHistory[K][number]>;

/** The last of a part that fits. */
function last<K extends Part>(
  history: SessionsHistory,
  part: K,
  fits: (item: SessionsHistory[K][number]) => boolean = () => true,
): Item<K> {
  const found = (history[part] as SessionsHistory[K][number][]).findLast(fits);
  if (found === undefined) throw new Error(`nothing of ${part} to do it to`);
  return found as Item<K>;
}

function drop<K extends Part>(history: SessionsHistory, part: K, item: unknown): void {
  const items = history[part] as unknown[];
  items.splice(items.indexOf(item), 1);
}

const delivered = (h: SessionsHistory): Item<'messages'> => last(h, 'messages', ({ status }) => status === 'delivered');
const sentence = (h: SessionsHistory, body: string): { said: { role: 'user' | 'agent'; text: string }[]; at: number } => {
  const { said } = h.conversations.find((one) => one.said.some(({ text }) => text === body))!;
  return { said: said as never, at: said.findIndex(({ text }) => text === body) };
};
const event = (h: SessionsHistory, type: string): Item<'log'> => last(h, 'log', (row) => row.type === type);
const retell = (row: Item<'log'>, change: (event: { payload: Record<string, unknown> }) => void): void => {
  const told = JSON.parse(row.text) as { payload: Record<string, unknown> };
  change(told);
  row.text = JSON.stringify(told);
};
const tell = (h: SessionsHistory, type: string, subject: string, payload: object): void =>
  void h.log.push({ stream: 'town', seq: h.log.length + 1, type, city: 'town', text: JSON.stringify({ type, subject, payload }) });
/** A connection of a structured stream, with frames enough. */
const structured = (h: SessionsHistory): Item<'follows'> =>
  last(
    h,
    'follows',
    ({ follower, frames }) => follower.endsWith('structured') && frames.filter((f) => f.event === 'structured').length > 2,
  );
/** The last connection of a structured stream: what is lost on it is made good by nothing. */
const lastOne = (h: SessionsHistory, fits: (follow: Item<'follows'>) => boolean = () => true): Item<'follows'> =>
  last(h, 'follows', (one) => {
    const { follower } = one;
    return follower.endsWith('structured') && one === h.follows.findLast((other) => other.follower === follower) && fits(one);
  });
const entryOf = ({ data }: { data: string }): string | undefined =>
  (JSON.parse(data) as { structured_messages?: { id: string }[] }).structured_messages?.[0]?.id;

/** The mistakes that are made on purpose in a right history, each with the property that must catch it. */
export const SESSION_BUGS: Readonly<Record<string, readonly [Property, (history: SessionsHistory) => void]>> = {
  'two processes of a session': [
    'one process',
    (h) => {
      const sample = last(h, 'samples', ({ processes }) => processes.length > 0);
      const [one] = sample.processes;
      sample.processes = [one!, { ...one!, generation: one!.generation + 1, pid: 99_999, group: 99_999, birth: 'later' }];
    },
  ],
  'two processes of one start': [
    'one process',
    (h) => {
      const sample = last(h, 'samples', ({ processes }) => processes.length > 0);
      sample.processes = [sample.processes[0]!, { ...sample.processes[0]!, pid: 99_999, group: 99_999 }];
    },
  ],
  'process that nobody holds': ['no orphan', (h) => void h.leftovers.push(last(h, 'samples', (s) => s.processes.length > 0).processes[0]!)],
  'killed, and alive': ['stopped means stopped', (h) => livesOn(h, 'kill')],
  'closed, and alive': ['stopped means stopped', (h) => livesOn(h, 'close')],
  'message given twice': ['delivered once', (h) => sentence(h, delivered(h).body).said.push({ role: 'user', text: delivered(h).body })],
  'message given to two conversations': [
    'delivered once',
    (h) => void h.conversations.push({ id: 'another', said: [{ role: 'user', text: delivered(h).body }] }),
  ],
  'message written down twice': [
    'delivered once',
    (h) => {
      const entry = last(h, 'entries', ({ message }) => message !== null);
      h.entries.push({ ...entry, id: 'again', seq: last(h, 'entries', ({ session }) => session === entry.session).seq + 1 });
    },
  ],
  'delivered to nobody': [
    'delivered once',
    (h) => {
      const { said, at } = sentence(h, delivered(h).body);
      said.splice(at, 2);
    },
  ],
  'cancelled message given': [
    'delivered once',
    (h) => {
      const { said } = h.conversations[0] as unknown as { said: { role: 'user'; text: string }[] };
      said.push({ role: 'user', text: last(h, 'messages', ({ status }) => status === 'cancelled').body });
    },
  ],
  'refused message given': [
    'nothing uncommitted',
    (h) => void h.conversations.push({ id: 'another', said: [{ role: 'user', text: 'refused words' }] }),
  ],
  'refused message stored': [
    'nothing uncommitted',
    (h) => void h.messages.push({ ...delivered(h), pk: 0, id: 'msg-refused', body: 'refused words' }),
  ],
  'message lost after its 202': [
    'reliable',
    (h) =>
      drop(
        h,
        'messages',
        last(h, 'messages', ({ status }) => status === 'cancelled'),
      ),
  ],
  'message of another session': ['reliable', (h) => void (last(h, 'messages').session = 'town-99')],
  'session lost after its 202': ['reliable', (h) => void (last(h, 'sessions').title = 'another')],
  'operation lost after its 202': ['reliable', (h) => drop(h, 'operations', last(h, 'operations'))],
  'two messages under a key': ['idempotent', (h) => void h.messages.push({ ...delivered(h), pk: 1e9, id: 'msg-more' })],
  'different answers under a key': [
    'idempotent',
    (h) => void (last(h, 'asks', ({ key, kind }) => key !== undefined && kind === 'submit').requestId = last(h, 'operations').id + 'x'),
  ],
  'message that waits for ever': ['message settled', (h) => void (delivered(h).status = 'queued')],
  'message in flight for ever': ['message settled', (h) => void (delivered(h).status = 'in_flight')],
  'later message first': [
    'in order',
    (h) => {
      const one = delivered(h);
      one.pk = h.messages.find(({ session }) => session === one.session)!.pk - 1;
    },
  ],
  'no terminal event': ['one terminal event', (h) => drop(h, 'log', event(h, 'request.result.session.submit'))],
  'two terminal events': ['one terminal event', (h) => void h.log.push({ ...event(h, 'request.result.session.submit') })],
  'failure told as success': ['row with event', (h) => void (last(h, 'operations', ({ state }) => state === 'failed').state = 'succeeded')],
  'end of an operation that is not there': [
    'row with event',
    (h) => tell(h, 'request.result.session.submit', '', { request_id: 'req-none' }),
  ],
  'place given twice': ['transcript true', (h) => void (last(h, 'entries').seq = h.entries.at(-2)!.seq)],
  'entry lost': ['transcript true', (h) => drop(h, 'entries', h.entries[1])],
  'position given twice': ['transcript true', (h) => void (last(h, 'entries').rev = h.entries.at(-2)!.rev)],
  'entry ahead of the head': ['transcript true', (h) => void (last(h, 'entries').rev += 1_000)],
  'replica with another text': [
    'transcript true',
    (h) => void (last(h, 'transcripts').messages = last(h, 'transcripts').messages.slice(1)),
  ],
  'message not in the transcript': [
    'transcript true',
    (h) => {
      for (const entry of h.entries as Item<'entries'>[]) if (entry.message === delivered(h).id) entry.message = null;
    },
  ],
  'cancelled message in the transcript': [
    'transcript true',
    (h) => void (last(h, 'entries', (e) => e.role === 'assistant').message = last(h, 'messages', (m) => m.status === 'cancelled').id),
  ],
  'part of what was said is lost': [
    'transcript true',
    (h) => void (sentence(h, delivered(h).body).said[sentence(h, delivered(h).body).at + 1]!.text += ' and more'),
  ],
  'frame lost': [
    'stream true',
    (h) => {
      const { frames } = lastOne(h);
      frames.splice(
        frames.findLastIndex((f) => f.event === 'structured'),
        1,
      );
    },
  ],
  'frame sent twice': [
    'stream true',
    (h) => {
      const { frames } = structured(h);
      frames.push(frames.findLast((f) => f.event === 'structured')!);
    },
  ],
  'position goes back': ['stream true', (h) => void structured(h).frames.push({ at: 0, event: 'heartbeat', id: '0', data: '{}' })],
  'frame of another session': [
    'stream true',
    (h) => {
      const { frames } = structured(h);
      const body = { operation: 'upsert', structured_messages: [{ id: 'foreign', role: 'user', status: 'final', blocks: [] }] };
      frames.push({ at: 0, event: 'structured', id: '100000', data: JSON.stringify(body) });
    },
  ],
  'older text kept': [
    'stream true',
    (h) => {
      const frame = lastOne(h).frames.findLast((f) => f.event === 'structured')!;
      (frame as Writable<typeof frame>).data = frame.data.replace(/"text":"[^"]*"/, '"text":"old"');
    },
  ],
  'resumed too far': [
    'stream true',
    (h) => {
      const { frames } = lastOne(h, ({ after }) => after !== undefined);
      // Up to a frame that is the last of its entry: what is older is made good by it.
      const entries = frames.map(entryOf);
      frames.splice(0, 1 + entries.findIndex((id, at) => id !== undefined && !entries.includes(id, at + 1)));
    },
  ],
  'taken back, and still shown': [
    'stream true',
    (h) => {
      const entry = last(h, 'entries', ({ role, status }) => role === 'assistant' && status === 'final');
      entry.status = 'superseded';
    },
  ],
  'stream that never opens': [
    'stream true',
    (h) => {
      const { name } = last(h, 'followers');
      for (const one of h.follows.filter(({ follower }) => follower === name)) drop(h, 'follows', one);
    },
  ],
  'move that the table does not have': ['states legal', (h) => tell(h, 'session.woke', last(h, 'sessions').id, {})],
  'started after its end': ['states legal', (h) => startAgain(h)],
  'process number skipped': ['states legal', (h) => retell(event(h, 'session.starting'), ({ payload }) => void (payload.generation = 77))],
  'start not told': ['states legal', (h) => drop(h, 'log', event(h, 'session.starting'))],
  'closing not told': ['states legal', (h) => drop(h, 'log', event(h, 'session.closed'))],
  'closed session open again': ['states legal', (h) => void (last(h, 'sessions').state = 'asleep')],
  'closed session with a process': ['states legal', (h) => void (last(h, 'sessions').live = true)],
  'row without its event': ['states legal', (h) => void last(h, 'sessions').generation++],
  'question settled twice': ['answered once', (h) => void h.log.push({ ...event(h, 'session.interaction.resolved') })],
  'question asked twice': ['answered once', (h) => void h.log.push({ ...event(h, 'session.interaction.opened') })],
  'question settled, not told': ['answered once', (h) => drop(h, 'log', event(h, 'session.interaction.resolved'))],
  'two answers taken': [
    'answered once',
    (h) => void (last(h, 'asks', (a) => a.kind === 'respond' && a.outcome === 'refused').outcome = 'acknowledged'),
  ],
  'answer taken and cancelled': ['answered once', (h) => void (last(h, 'interactions').status = 'cancelled')],
  'answer that nobody gave': [
    'answered once',
    (h) => {
      const row = last(h, 'interactions');
      row.action = 'always';
      for (const ask of h.asks as Item<'asks'>[]) if (ask.interaction === row.id) ask.action = 'deny';
    },
  ],
  'agent told something else': [
    'answered once',
    (h) => {
      const line = h.conversations.flatMap(({ said }) => said).findLast(({ text }) => text.startsWith('chosen: '))!;
      (line as Writable<typeof line>).text = 'chosen: always';
    },
  ],
  'internal error': ['no internal errors', (h) => Object.assign(last(h, 'asks'), { outcome: 'unknown', status: 500, problem: true })],
  'refused with a page': ['no internal errors', (h) => void (last(h, 'asks', ({ outcome }) => outcome === 'refused').problem = false)],
};

function livesOn(h: SessionsHistory, kind: 'kill' | 'close'): void {
  const ask = last(h, 'asks', (one) => one.kind === kind);
  const before = h.samples.findLast(({ at, processes }) => at < ask.from && processes[0]?.session === ask.session)!;
  h.samples.push({ at: ask.to + 1, processes: before.processes });
}

function startAgain(h: SessionsHistory): void {
  const session = last(h, 'sessions');
  session.generation++;
  tell(h, 'session.starting', session.id, { from: 'closed', to: 'creating', generation: session.generation });
}
