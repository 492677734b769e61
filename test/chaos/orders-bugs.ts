import type { FiringEnd, OrdersHistory } from './orders-history.js';
import type { Property } from './violations.js';

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Part = Exclude<keyof OrdersHistory, 'seed'>;
type Item<K extends Part> = Writable<OrdersHistory[K][number]>;

/** The last of a part that fits. */
function last<K extends Part>(h: OrdersHistory, part: K, fits: (item: OrdersHistory[K][number]) => boolean = () => true): Item<K> {
  const found = (h[part] as OrdersHistory[K][number][]).findLast(fits);
  if (found === undefined) throw new Error(`nothing of ${part} to do it to`);
  return found as Item<K>;
}

function drop<K extends Part>(h: OrdersHistory, part: K, item: unknown): void {
  const items = h[part] as unknown[];
  items.splice(items.indexOf(item), 1);
}

const firing = (h: OrdersHistory, order: string, fits: (one: FiringEnd) => boolean = () => true): Item<'firings'> =>
  last(h, 'firings', (one) => one.order === order && fits(one));
const good = (h: OrdersHistory, order: string): Item<'firings'> => firing(h, order, ({ outcome }) => outcome === 'success');
const told = (h: OrdersHistory, type: string, subject: string): Item<'log'> =>
  last(h, 'log', (row) => row.type === type && (JSON.parse(row.text) as { subject: string }).subject === subject);
const tell = (h: OrdersHistory, type: string, subject: string, message = ''): void => {
  const seq = h.log.length + 1;
  h.log.push({ stream: 'town', seq, type, city: 'town', text: JSON.stringify({ seq, type, subject, message, payload: {} }) });
};
const again = (h: OrdersHistory, one: FiringEnd, more: Partial<FiringEnd> = {}): void =>
  void h.firings.push({ ...one, id: `${one.id}-again`, pk: 1e9, ...more });
const taken = (h: OrdersHistory, kind: 'run' | 'hook'): Item<'asks'> =>
  last(h, 'asks', (one) => one.kind === kind && one.outcome === 'acknowledged');
const refused = (h: OrdersHistory): Item<'asks'> => last(h, 'asks', ({ outcome }) => outcome === 'refused');
const shown = (h: OrdersHistory, order: string): Item<'shown'> => last(h, 'shown', (one) => one.order === order);
const row = (h: OrdersHistory, order: string): Item<'orders'> => last(h, 'orders', (one) => one.order === order);

/** The mistakes that are made on purpose in a right history, each with the property that must catch it. */
export const ORDER_BUGS: Readonly<Record<string, readonly [Property, (history: OrdersHistory) => void]>> = {
  'fired while one is open': ['one firing', (h) => (tell(h, 'order.fired', 'tick'), tell(h, 'order.fired', 'tick'))],
  'fired twice at once beside a forced one': [
    'one firing',
    (h) => {
      for (let n = h.firings.filter(({ order, forced }) => order === 'pushed' && forced).length + 2; n > 0; n--)
        tell(h, 'order.fired', 'pushed');
    },
  ],
  'ended twice': ['ends once', (h) => tell(h, 'order.completed', 'each')],
  'never ended': ['ends once', (h) => void (firing(h, 'hand').state = 'running')],
  'end not told': [
    'ends once',
    (h) =>
      drop(
        h,
        'log',
        h.log.findLast(({ type, text }) => type !== 'order.fired' && text.includes('"subject":"hook"')),
      ),
  ],
  'lost, and could have been begun again': ['ends once', (h) => Object.assign(firing(h, 'slot'), { outcome: 'lost', attempts: 1 })],
  'launch that is lost': ['ends once', (h) => Object.assign(firing(h, 'start'), { outcome: 'lost', attempts: 2 })],
  'firing that is told and not kept': [
    'history true',
    (h) => (tell(h, 'order.fired', 'maybe', 'condition: x'), tell(h, 'order.completed', 'maybe')),
  ],
  'firing that is kept and not told': ['history true', (h) => again(h, firing(h, 'tick'), { createdAt: 1e12 })],
  'firing forgotten': ['history true', (h) => drop(h, 'firings', firing(h, 'hand'))],
  'failure kept as success': [
    'history true',
    (h) => void (firing(h, 'tick').outcome = firing(h, 'tick').outcome === 'success' ? 'failed' : 'success'),
  ],
  'another cause kept': ['history true', (h) => void (firing(h, 'maybe').cause = 'cooldown')],
  'told about what is no order': ['history true', (h) => (tell(h, 'order.fired', 'nothing'), tell(h, 'order.completed', 'nothing'))],
  'replica without the newest firing': ['history true', (h) => void (shown(h, 'each').entries = shown(h, 'each').entries.slice(1))],
  'replica without the oldest firing': ['history true', (h) => void (shown(h, 'hook').entries = shown(h, 'hook').entries.slice(0, -1))],
  'replica in another order': ['history true', (h) => void (shown(h, 'grow').entries = shown(h, 'grow').entries.toReversed())],
  'failures not set back': ['failures counted', (h) => void row(h, 'tick').failures++],
  'failure of a forced one not counted': ['failures counted', (h) => void (row(h, 'pushed').failures -= 1)],
  'another last outcome': [
    'failures counted',
    (h) => void (row(h, 'grow').lastOutcome = row(h, 'grow').lastOutcome === 'success' ? 'failed' : 'success'),
  ],
  'replica with other failures': ['failures counted', (h) => void (shown(h, 'all').failures += 1)],
  'event handed over twice': ['fires once', (h) => again(h, firing(h, 'each'))],
  'event left out': [
    'fires once',
    (h) => {
      const [, second] = h.firings.filter(({ order }) => order === 'grow');
      drop(h, 'firings', second);
    },
  ],
  'event lost at the end': ['fires once', (h) => drop(h, 'firings', firing(h, 'each'))],
  'events covered by nothing': ['fires once', (h) => drop(h, 'firings', firing(h, 'all'))],
  'events handed over in another order': [
    'fires once',
    (h) => {
      const [first, second] = h.firings.filter(({ order }) => order === 'each') as Item<'firings'>[];
      [first!.event, second!.event] = [second!.event, first!.event];
    },
  ],
  'event from before the order': ['fires once', (h) => void (firing(h, 'each').event = { seq: 1, type: 'chaos.one', count: 1 })],
  'event of another kind': ['fires once', (h) => void (firing(h, 'all').event = { ...firing(h, 'all').event!, type: 'chaos.one' })],
  'events miscounted': ['fires once', (h) => void (firing(h, 'all').event = { ...firing(h, 'all').event!, count: 77 })],
  'position that was left behind': ['fires once', (h) => void row(h, 'grow').cursor--],
  'cooldown cut short': [
    'fires once',
    (h) => void (firing(h, 'tick').createdAt = h.firings.find(({ order }) => order === 'tick')!.createdAt + 1),
  ],
  'slot fired twice': ['fires once', (h) => again(h, firing(h, 'slot'))],
  'manual order that comes by itself': ['fires once', (h) => again(h, firing(h, 'hand'), { cause: 'cooldown', mark: null })],
  'delivery fired twice': ['fires once', (h) => again(h, firing(h, 'hook'))],
  'key fired twice': ['fires once', (h) => again(h, firing(h, 'hand'))],
  'forced run fired twice': [
    'fires once',
    (h) =>
      again(
        h,
        firing(h, 'pushed', ({ forced }) => forced),
      ),
  ],
  'another order fired than was asked for': ['fires once', (h) => void (firing(h, 'hand').order = 'start')],
  'different answers under a key': ['idempotent', (h) => void (taken(h, 'run').firing = 'firing-0')],
  'delivery accepted twice': ['idempotent', (h) => void (taken(h, 'hook').status = 202)],
  'delivery that never counted': [
    'idempotent',
    (h) => {
      const { marker } = taken(h, 'hook');
      for (const one of h.asks as Item<'asks'>[]) if (one.marker === marker) one.status = 200;
    },
  ],
  'run lost after its 202': ['reliable', (h) => void (firing(h, 'start').mark = null)],
  'delivery lost after its 202': ['reliable', (h) => drop(h, 'firings', firing(h, 'report'))],
  'delivery that waits for ever': ['reliable', (h) => void (last(h, 'deliveries').waiting = true)],
  'refused, and fired': ['nothing uncommitted', (h) => void (firing(h, 'hand').mark = refused(h).marker)],
  'fired for nobody': ['nothing uncommitted', (h) => void (firing(h, 'hook').mark = 'nobody')],
  'success without its run': ['run of its firing', (h) => void (good(h, 'pulse').root = null)],
  'run that is not there': ['run of its firing', (h) => drop(h, 'runs', last(h, 'runs'))],
  'two runs of a firing': ['run of its firing', (h) => void h.runs.push({ id: 'town-more', firing: good(h, 'grow').id })],
  'run of a firing that failed': [
    'run of its firing',
    (h) => void h.runs.push({ id: 'town-more', firing: Object.assign(firing(h, 'start'), { outcome: 'failed', root: null }).id }),
  ],
  'run of no firing': ['run of its firing', (h) => void h.runs.push({ id: 'town-more', firing: null })],
  'another run is named': ['run of its firing', (h) => void (good(h, 'report').root = 'town-0')],
  'root made twice': [
    'run of its firing',
    (h) => void h.log.push({ ...last(h, 'log', ({ text }) => text.includes('gc.order_firing') && !text.includes('root')) }),
  ],
  'end told without its run': ['run of its firing', (h) => withoutRun(told(h, 'order.completed', 'pulse'))],
  'command begun twice': ['carried out', (h) => void h.traces.push({ what: 'begin', firing: good(h, 'tick').id, order: 'tick', seq: '' })],
  'command begun more often than it was taken': [
    'carried out',
    (h) => {
      for (let n = 0; n < 4; n++) h.traces.push({ what: 'begin', firing: firing(h, 'slot').id, order: 'slot', seq: '' });
    },
  ],
  'told to be done before its end': [
    'carried out',
    (h) =>
      drop(
        h,
        'traces',
        last(h, 'traces', (one) => one.firing === good(h, 'hand').id && one.what === 'end'),
      ),
  ],
  'command of no firing': ['carried out', (h) => void h.traces.push({ what: 'begin', firing: 'firing-0', order: 'tick', seq: '' })],
  'command was told another event': ['carried out', (h) => void (last(h, 'traces', ({ order }) => order === 'each').seq = '1')],
  'launch that ran a command': [
    'carried out',
    (h) => void h.traces.push({ what: 'begin', firing: firing(h, 'pulse').id, order: 'pulse', seq: '' }),
  ],
  'internal error': ['no internal errors', (h) => Object.assign(last(h, 'asks'), { outcome: 'unknown', status: 500, problem: true })],
  'refused with a page': ['no internal errors', (h) => void (refused(h).problem = false)],
};

/** Takes away which run it was. */
function withoutRun(line: Item<'log'>): void {
  line.text = line.text.replace(/,"run_id":"[^"]*"/, '');
}
