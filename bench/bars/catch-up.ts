import pg from 'pg';
import type { Bar } from '../lib/context.js';
import { cityName, withClient } from '../lib/database.js';
import { count, ms } from '../lib/report.js';
import { median, pairedRatio, sum } from '../lib/stats.js';

const BEHIND = 200_000;
const PAGE = 1_000;
const HERD = 1_000;
const HERD_BEHIND = 1_000;
const CITY = cityName(1);
const WATCHED = cityName(2);

const FILL = `
  select append_events(jsonb_agg(jsonb_build_object('stream', $1::text, 'type', 'bench.tick', 'actor', 'agent-7', 'subject', 'row-' || n,
    'payload', jsonb_build_object('t', '0000000000000000', 'title', 'write the report', 'note', repeat('x', 100)))))
  from generate_series(1, $2::int) n`;

/** Whole frames made by PostgreSQL, read page by page over one connection and thrown away: what reading the log costs at least. */
const FRAMES = `
  select 'event: event' || chr(10) || 'id: ' || seq || chr(10) || 'data: ' || json_build_object('seq', seq, 'ts', ts, 'type', type,
    'actor', actor, 'subject', subject, 'payload', payload)::text || chr(10) || chr(10) as frame
  from events where stream_id = $1 and seq > $2 order by seq limit $3`;

async function readLog(client: pg.Client, streamId: number): Promise<number> {
  const started = performance.now();
  let bytes = 0;
  for (let at = 0; at < BEHIND; at += PAGE) {
    const { rows } = await client.query<{ frame: string }>({ name: 'frames', text: FRAMES, values: [streamId, at, PAGE] });
    for (const row of rows) bytes += Buffer.byteLength(row.frame);
  }
  return bytes === 0 ? NaN : BEHIND / ((performance.now() - started) / 1000);
}

export const catchUp: Bar = {
  ids: ['P14'],
  title: `catching up: one client ${count(BEHIND)} events behind, then ${count(HERD)} clients ${count(HERD_BEHIND)} behind`,
  async run(context) {
    const url = await context.postgres.database(2);
    const reader = new pg.Client({ connectionString: url });
    await reader.connect();
    context.onStop(() => reader.end());
    await withClient(url, async (writer) => {
      for (let i = 0; i < BEHIND; i += 10_000) await writer.query(FILL, [CITY, 10_000]);
      await writer.query('vacuum analyze events');
    });
    const { rows } = await reader.query<{ id: number }>('select id from event_streams where name = $1', [CITY]);
    const client = await context.client('sse');
    const service = await context.service(url);
    const path = `/v0/city/${CITY}/events/stream?after_seq=`;
    const one = (): Promise<{ seconds: number }> =>
      client.call('catchUp', { port: service.port, path: `${path}0`, mark: '"t": "', events: BEHIND });
    const runs = await context.turns({ ours: one, floor: () => readLog(reader, rows[0]!.id) }, Math.min(3, context.rounds));
    const ours = runs.ours.map((run) => BEHIND / run.seconds);
    const ratio = pairedRatio(ours, runs.floor);

    const watcher = await context.client('sse');
    await watcher.call('open', { group: 'live', count: 10, port: service.port, path: `/v0/city/${WATCHED}/events/stream` });
    await service.reset();
    const publishing = { kind: 'log', url, cities: [WATCHED], bytes: 200 };
    const watching = watcher.call<{ p99: number }>('drive', {
      group: 'live',
      publishing,
      rate: 50,
      warmSeconds: 0.2,
      seconds: 4,
      serverPid: service.pid,
    });
    const options = { group: 'herd', count: HERD, events: HERD_BEHIND, limitMs: 20_000 };
    const herd = await client.call<{ seconds: number; behind: number }>('herd', {
      ...options,
      port: service.port,
      path: `${path}${BEHIND - HERD_BEHIND}`,
    });
    const { p99 } = await watching;
    const { queries } = await service.read();
    // The live city's own reads are not the herd's: they come with its 50 events a second.
    const logReads = sum(queries.filter(([name]) => name === 'stream-tail' || name === 'stream-tail-typed').map(([, n]) => n)) - 4.2 * 50;
    context.say(
      [...queries]
        .sort((a, b) => b[1] - a[1])
        .slice(0, 5)
        .map(([name, n]) => `${n} × ${name.slice(0, 50)}`)
        .join('; '),
    );
    return [
      {
        bar: 'P14',
        what: `one client ${count(BEHIND)} behind, against reading the log`,
        ours: `${count(median(ours))}/s`,
        floor: `${count(median(runs.floor))}/s`,
        ratio,
        reach: '≥ 0.6, ≥ 150,000/s',
        met: ratio >= 0.6 && median(ours) >= 150_000,
      },
      {
        bar: 'P14',
        what: `${count(HERD)} clients, each ${count(HERD_BEHIND)} behind: all live${herd.behind > 0 ? ` (${herd.behind} are not)` : ''}`,
        ours: `${herd.seconds.toFixed(1)} s`,
        floor: '',
        reach: '≤ 10 s',
        met: herd.behind === 0 && herd.seconds <= 10,
      },
      {
        bar: 'P14',
        what: 'the same: reads of the log beyond those of the live city (about)',
        ours: count(Math.max(0, logReads)),
        floor: '',
        reach: '≤ 20',
        met: logReads <= 20,
      },
      { bar: 'P14', what: "the same: another city's live p99", ours: ms(p99), floor: '', reach: '≤ 250 ms', met: p99 <= 250 },
    ];
  },
};
