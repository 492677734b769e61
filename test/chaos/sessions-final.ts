import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Member } from './fleet.js';
import { readFinal } from './final.js';
import { ask } from './http.js';
import type { Random } from './random.js';
import type { ChaosPostgres } from './servers.js';
import type { Conversation, SessionsHistory, Shown, Transcript } from './sessions-history.js';

const SESSIONS = `
  select s.id, s.title, s.state, s.generation::float8 as generation, s.live, s.runner_id as runner, s.stop_request as "stopRequest",
    l.head::float8 as head, l.entries::float8 as entries
  from sessions s join session_logs l on l.session_pk = s.pk order by s.pk`;
const MESSAGES = `
  select s.id as session, m.pk::float8 as pk, m.id, m.body, m.source, m.intent, m.status
  from session_messages m join sessions s on s.pk = m.session_pk order by m.pk`;
const ENTRIES = `
  select s.id as session, e.seq::float8 as seq, e.rev::float8 as rev, e.entry_id as id, e.kind, e.role, e.status, e.turn::float8 as turn,
    e.parent_tool_use_id as parent, e.blocks, e.raw -> 0 ->> 'message_id' as message
  from session_entries e join sessions s on s.pk = e.session_pk order by e.session_pk, e.seq`;
const TURNS = `
  select s.id as session, t.turn::float8 as turn, t.stop_reason as "stopReason"
  from session_turns t join sessions s on s.pk = t.session_pk order by t.session_pk, t.turn`;
const INTERACTIONS = `
  select s.id as session, i.request_id as id, i.status, i.action
  from session_interactions i join sessions s on s.pk = i.session_pk order by i.pk`;
const OPERATIONS = `select id, kind, state from operations where kind like 'session.%'`;

const MOVED = `
  select e.head::text as told, l.head::text as head, s.id,
    l.activity = 'in-turn' or s.state = 'creating' or (s.wake_request is not null and s.state in ('start-pending', 'asleep')) as busy
  from sessions s join session_logs l on l.session_pk = s.pk join event_streams e on e.id = s.stream_id order by s.pk`;
const STILL_MS = 60_000;

/** What the streams are compared with while clients catch up. */
export async function readRows(postgres: ChaosPostgres, database: string, history: SessionsHistory): Promise<void> {
  const fill = async (part: 'sessions' | 'messages' | 'entries' | 'turns' | 'interactions' | 'operations', sql: string): Promise<void> => {
    const rows = await postgres.query(sql, [], database);
    history[part].splice(0, Infinity, ...(rows as never[]));
  };
  await fill('sessions', SESSIONS);
  await fill('messages', MESSAGES);
  await fill('entries', ENTRIES);
  await fill('turns', TURNS);
  await fill('interactions', INTERACTIONS);
  await fill('operations', OPERATIONS);
}

/** Everything that the judgement needs, once nothing moves any more. */
export async function readEnd(
  postgres: ChaosPostgres,
  database: string,
  history: SessionsHistory,
  city: { readonly name: string; readonly path: string },
  apis: readonly Member[],
  random: Random,
): Promise<void> {
  const limit = performance.now() + STILL_MS;
  let before: unknown;
  // A session that the configuration wants is made again when it has been closed, and says something.
  do {
    await readRows(postgres, database, history);
    before = await moved(postgres, database);
    history.log.splice(0, Infinity, ...(await readFinal(postgres, database)).log);
    history.conversations.splice(0, Infinity, ...(await conversations(join(city.path, '.gc/runtime/loopback'))));
    history.transcripts.splice(0);
    for (const { id } of history.sessions)
      for (const api of apis) history.transcripts.push(await transcript(api, city.name, id, random.int(3, 400)));
  } while (before !== (await moved(postgres, database)) && performance.now() < limit);
}

/** A text that changes whenever something happens to a session, or is going to. */
async function moved(postgres: ChaosPostgres, database: string): Promise<string> {
  const rows = await postgres.query(MOVED, [], database);
  const under = rows.some(({ busy }) => busy === true);
  return `${JSON.stringify(rows)}${under ? performance.now() : ''}`;
}

async function conversations(directory: string): Promise<Conversation[]> {
  const files = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith('.json'));
  return Promise.all(
    files.map(async (name) => ({
      id: name.slice(0, -5),
      said: JSON.parse(await readFile(join(directory, name), 'utf8')) as Conversation['said'],
    })),
  );
}

/** Page by page, from the newest back. */
async function transcript(api: Member, city: string, session: string, limit: number): Promise<Transcript> {
  const messages: Shown[] = [];
  for (let before: string | undefined; ;) {
    const query = new URLSearchParams({ format: 'structured', include_thinking: 'true', limit: String(limit) });
    if (before !== undefined) query.set('before', before);
    const answer = await ask('GET', `${api.url}/v0/city/${city}/session/${session}/transcript?${query.toString()}`, { ms: 10_000 });
    if (answer?.status !== 200)
      throw new Error(`${api.name} does not show the transcript of ${session}: ${answer?.status} ${answer?.body}`);
    const page = JSON.parse(answer.body) as {
      structured_messages: (Shown & { provider: string })[];
      pagination: { has_older_messages: boolean; truncated_before_message?: string };
    };
    messages.unshift(...page.structured_messages.map(({ id, role, status, blocks }) => ({ id, role, status, blocks })));
    before = page.pagination.truncated_before_message;
    if (!page.pagination.has_older_messages) return { session, replica: api.name, messages };
    if (before === undefined) throw new Error(`${session}: there is more, and no way to it`);
  }
}
