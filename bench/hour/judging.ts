import { sleep } from '../lib/machine.js';
import type { Faults } from './faults.js';
import type { Following } from './following.js';
import type { System } from './system.js';
import type { Talking } from './talking.js';
import type { Working } from './working.js';

const SETTLE_MS = 180_000;
const CATCH_UP_MS = 15_000;

interface MessageRow {
  readonly request: string;
  readonly session: string;
  readonly status: string;
  /** Entries of the transcript that are this message. */
  readonly entries: number;
  readonly answer: string | null;
  readonly stop: string | null;
}

const MESSAGES = `
  select m.request_id as request, e.name || '/' || s.id as session, m.status,
    (select count(*)::int from session_entries e where e.session_pk = m.session_pk and e.role = 'user' and e.raw -> 0 ->> 'message_id' = m.id) as entries,
    (select string_agg(b ->> 'text', '' order by a.seq) from session_entries e
     join session_entries a on a.session_pk = e.session_pk and a.turn = e.turn and a.role = 'assistant' and a.kind = 'message' and a.status = 'final'
     cross join jsonb_array_elements(a.blocks) b
     where e.session_pk = m.session_pk and e.role = 'user' and e.raw -> 0 ->> 'message_id' = m.id) as answer,
    (select string_agg(t.stop_reason, ',') from session_entries e join session_turns t on t.session_pk = e.session_pk and t.turn = e.turn
     where e.session_pk = m.session_pk and e.role = 'user' and e.raw -> 0 ->> 'message_id' = m.id) as stop
  from session_messages m join sessions s on s.pk = m.session_pk join event_streams e on e.id = m.stream_id where m.request_id is not null and m.source = 'message'`;

export interface Judgement {
  readonly delivered: number;
  readonly answered: number;
  /** Under way in an agent when its worker was killed. */
  readonly cut: number;
  readonly beads: number;
  readonly wrong: readonly string[];
}

/** Waits until nothing is under way. Answers what never came to its end. */
export async function settled(system: System): Promise<string[]> {
  const limit = performance.now() + SETTLE_MS;
  let left: string[] = [];
  do {
    await sleep(1_000);
    const [row] = await system.rows<{ messages: number; beads: number; operations: number; sessions: number; turns: number }>(`
      select (select count(*)::int from session_messages where status in ('queued', 'in_flight')) as messages,
        (select count(*)::int from beads where status <> 'closed' and issue_type = 'task') as beads,
        (select count(*)::int from operations where state not in ('succeeded', 'failed')) as operations,
        (select count(*)::int from session_logs l join sessions s on s.pk = l.session_pk where l.activity = 'in-turn' and s.state <> 'closed') as turns,
        (select count(*)::int from sessions where kind = 'provider' and state <> 'closed' and not (live and state = 'active')) as sessions`);
    left = Object.entries(row!).flatMap(([what, n]) => (n === 0 ? [] : [`${n} ${what} did not come to their end`]));
  } while (left.length > 0 && performance.now() < limit);
  return left;
}

/** Compares what was asked for and told with the rows. */
export async function judge(
  system: System,
  { talking, working, following, faults }: { talking: Talking; working: Working; following: Following; faults: Faults },
): Promise<Judgement> {
  const wrong: string[] = [];
  const rows = new Map((await system.rows<MessageRow>(MESSAGES)).map((row) => [row.request, row]));
  let [delivered, answered, cut] = [0, 0, 0];
  for (const [request, { text, answer, at, session }] of talking.sent) {
    const row = rows.get(request);
    if (row === undefined) {
      wrong.push(`message ${text} to ${session} is lost`);
      continue;
    }
    if (row.entries > 1) wrong.push(`message ${text} to ${session} was delivered ${row.entries} times`);
    const killed = faults.kills.some(({ from, to, held }) => held.has(session) && at > from - 30 && at < to);
    if (row.status === 'delivered' && row.entries === 1 && row.answer === answer) {
      delivered++;
      answered++;
    } else if (killed && (row.status === 'unconfirmed' || (row.status === 'delivered' && row.entries === 1))) cut++;
    else
      wrong.push(
        `message ${text} to ${session}: ${row.status}, ${row.entries} times in the transcript, answered ${JSON.stringify(row.answer)}, turn ${row.stop}`,
      );
  }
  for (const [request, { session }] of rows) if (!talking.sent.has(request)) wrong.push(`a message to ${session} that nobody has sent`);
  for (const key of working.made.keys()) {
    const times = working.closed.get(key) ?? 0;
    if (times !== 1) wrong.push(`bead ${key} was closed ${times} times`);
  }
  const limit = performance.now() + CATCH_UP_MS;
  let told = following.compared(await heads(system));
  while (told.length > 0 && performance.now() < limit) {
    await sleep(200);
    // What a session does by itself goes on.
    told = following.compared(await heads(system));
  }
  wrong.push(...told);
  const ended = await system.rows<{ id: string; state: string; reason: string | null }>(
    `select id, state, coalesce(reason, failure) as reason from sessions where kind = 'provider' and (state in ('failed-create', 'quarantined', 'suspended') or failure is not null)`,
  );
  wrong.push(...ended.map(({ id, state, reason }) => `session ${id} is ${state}: ${reason}`));
  return { delivered, answered, cut, beads: working.made.size, wrong };
}

async function heads(system: System): Promise<Map<string, number>> {
  const rows = await system.rows<{ name: string; head: string }>(
    'select s.name, s.head from event_streams s join cities c on c.stream_id = s.id',
  );
  return new Map(rows.map(({ name, head }) => [name, Number(head)]));
}
