import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely';
import { wireCity, wireText } from '../../src/platform/event-log/wire.js';
import type { Final } from './history.js';
import type { ChaosPostgres } from './servers.js';

const compiler = new Kysely<unknown>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** The log as its readers would see it; ordered by nothing but the key. */
const LOG = sql`
  select s.name as stream, e.seq::float8 as seq, e.type, ${wireCity()} as city, ${wireText({ workflow: true })} || '}' as text
  from events e join event_streams s on s.id = e.stream_id order by e.stream_id, e.seq`.compile(compiler).sql;

type Numbers = (number | string)[];

/** What the database holds. */
export async function readFinal(postgres: ChaosPostgres, database: string): Promise<Final> {
  const read = <R extends object>(text: string): Promise<R[]> => postgres.query<R & Record<string, unknown>>(text, [], database);
  const log = await read<Final['log'][number]>(LOG);
  const streams = await read<Final['streams'][number]>(
    `select id, name, head::float8 as head, active, joined_seq::float8 as "joinedSeq", joined_supervisor_seq::float8 as "joinedSupervisorSeq" from event_streams`,
  );
  const cities = await read<Final['cities'][number]>('select name, running from cities');
  const operations = await read<Final['operations'][number]>('select id, kind, target, state from operations');
  const cursors = await read<{ id: number; root: number | null; ids: number[]; seqs: Numbers }>(
    'select id::float8 as id, root_id::float8 as root, stream_ids as ids, seqs::float8[] as seqs from event_cursors',
  );
  return {
    log,
    streams,
    cities,
    operations,
    cursors: cursors.map((c) => ({ id: c.id, root: c.root, streamIds: c.ids, seqs: c.seqs.map(Number) })),
  };
}
