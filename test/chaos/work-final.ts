import type { Member } from './fleet.js';
import type { BeadView, MessageView, WorkView } from './history-work.js';
import { ask } from './http.js';
import type { Random } from './random.js';
import type { Recorder } from './recorder.js';
import type { ChaosPostgres } from './servers.js';
import { sleep } from './sleep.js';
import { placeOf } from './work-writers.js';

/** Small, so that the walk over pages is part of what is checked. */
const PAGE = 40;
const WITHIN_MS = 20_000;

/** Rows and the head of their log, of one snapshot. */
const ROWS = `
  select s.name as city, s.head::float8 as index,
    (select coalesce(json_agg((select bead_json(b, e.dependencies, e.needs) from bead_edges(b.stream_id, b.id) e)), '[]') from beads b where b.stream_id = s.id) as beads,
    (select coalesce(json_object_agg(b.id, b.open_blockers), '{}') from beads b where b.stream_id = s.id) as blockers,
    (select coalesce(json_agg(message_json(m, s.name)), '[]') from messages m where m.stream_id = s.id and m.archived_at is null) as mail,
    (select coalesce(json_agg(message_json(m, s.name)), '[]') from messages m
     where m.stream_id = s.id and m.archived_as in ('archived', 'swept')) as archived
  from event_streams s where s.name <> '__supervisor__'`;

const LEASES =
  'select b.id, b.lease_until from beads b join cities c on c.stream_id = b.stream_id and c.running where b.lease_until is not null';

/** The leases of running cities that are still there after as long as taking them back may last. */
export async function leasesEnded(postgres: ChaosPostgres, database: string): Promise<unknown[]> {
  const limit = performance.now() + WITHIN_MS;
  for (;;) {
    const left = await postgres.query(LEASES, [], database);
    if (left.length === 0 || performance.now() > limit) return left;
    await sleep(200);
  }
}

/** What every city's work is at the end: its rows, and for running cities what the lists of random replicas say. */
export async function readWork(
  postgres: ChaosPostgres,
  database: string,
  apis: readonly Member[],
  random: Random,
  recorder: Recorder,
): Promise<WorkView[]> {
  const rows = await postgres.query<Omit<WorkView, 'source' | 'at'> & Record<string, unknown>>(ROWS, [], database);
  const views: WorkView[] = rows.map((row) => ({ ...row, source: 'rows', at: recorder.now() }));
  const running = await postgres.query<{ name: string }>('select name from cities where running', [], database);
  for (const { name } of running) {
    const at = recorder.now();
    views.push({ city: name, at, ...(await walk<BeadView, 'beads'>('beads', apis, random, name, 'beads?all=true')) });
    views.push({ city: name, at, ...(await walk<MessageView, 'mail'>('mail', apis, random, name, 'mail?status=all')) });
    views.push({ city: name, at, ...(await walk<MessageView, 'archived'>('archived', apis, random, name, 'mail?status=archived')) });
    const counted = await get(random.pick(apis), name, 'mail/count');
    views.push({ city: name, at, source: counted.source, index: counted.index, counts: counted.body as { total: number; unread: number } });
  }
  return views;
}

/** All pages of a list, when nothing has moved between them. */
async function walk<T, Name extends string>(
  member: Name,
  apis: readonly Member[],
  random: Random,
  city: string,
  path: string,
): Promise<{ source: string; index: number } & Record<Name, T[]>> {
  for (let tries = 0; tries < 5; tries++) {
    const items: T[] = [];
    const sources: string[] = [];
    const indexes = new Set<number>();
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const more = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { source, index, body } = await get(random.pick(apis), city, `${path}&limit=${PAGE}${more}`);
      const page = body as { items: T[] | null; next_cursor?: string };
      items.push(...(page.items ?? []));
      sources.push(source);
      indexes.add(index);
      cursor = page.next_cursor;
    }
    const [index] = indexes;
    if (indexes.size === 1) return { source: sources.join(','), index: index!, [member]: items } as never;
  }
  throw new Error(`${path} of ${city} keeps moving although nobody writes`);
}

async function get(replica: Member, city: string, path: string): Promise<{ source: string; index: number; body: unknown }> {
  for (let tries = 0; tries < 20; tries++) {
    const answer = await ask('GET', `${replica.url}/v0/city/${city}/${path}`);
    const { index } = placeOf(answer);
    if (answer?.status === 200 && index !== undefined) return { source: replica.name, index, body: JSON.parse(answer.body) };
    await sleep(200);
  }
  throw new Error(`${replica.name} does not answer ${path} of ${city}`);
}
