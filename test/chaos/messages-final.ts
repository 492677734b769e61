import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Member } from './fleet.js';
import { readFinal } from './final.js';
import { ask } from './http.js';
import { CONVERSATIONS } from './messages-city.js';
import type { EntryEnd, MessagesHistory, Prompt } from './messages-history.js';
import { readPage } from './messages-views.js';
import type { Random } from './random.js';
import type { ChaosPostgres } from './servers.js';

const C = 'join extmsg_conversations c on c.pk =';
const READS = {
  conversations: `select conversation_id as conversation, head::float8 as head, generation::float8 as generation from extmsg_conversations`,
  entries: `
    select c.conversation_id as conversation, e.sequence::float8 as sequence, e.kind, e.provider_message_id as message, e.text, e.source_session_id as session
    from extmsg_entries e ${C} e.conversation_pk order by e.conversation_pk, e.sequence`,
  deliveries: `
    select d.pk::float8 as pk, d.id, c.conversation_id as conversation, d.direction, d.state, d.sequence::float8 as sequence,
      case d.direction when 'outbound' then d.session_id else d.selector end as selector, d.body, d.error_code as code,
      coalesce(nullif(d.idempotency_key, ''), d.id) as key, d.generation::float8 as generation, coalesce(d.receipt ->> 'messageId', '') as receipt,
      m.pk::float8 as queued, m.status as message
    from extmsg_deliveries d ${C} d.conversation_pk left join session_messages m on m.id = d.message_id order by d.pk`,
  bindings: `
    select c.conversation_id as conversation, b.session_id || b.agent_name as holder, b.status = 'active' as active, b.generation::float8 as generation
    from extmsg_bindings b ${C} b.conversation_pk order by b.pk`,
  members: `
    select c.conversation_id as conversation, m.selector, m.last_read_sequence::float8 as read
    from extmsg_memberships m ${C} m.conversation_pk where m.closed_at is null`,
} as const satisfies Partial<Record<keyof MessagesHistory, string>>;

/** What has not come to its end. */
const LEFT = `
  select d.id, d.direction, d.state, d.attempts, d.not_before, d.worker, d.error, d.selector, s.id as session, s.state as session_state, s.reason,
    s.live, s.runner_id, m.status as message
  from extmsg_deliveries d left join sessions s on s.pk = d.session_pk left join session_messages m on m.id = d.message_id
  where d.state in ('pending', 'queued') order by d.pk`;

export function readLeft(postgres: ChaosPostgres, database: string): Promise<object[]> {
  return postgres.query(LEFT, [], database);
}

/** Everything that the judgement needs, once nothing moves any more. */
export async function readMessages(
  postgres: ChaosPostgres,
  database: string,
  history: MessagesHistory,
  city: { readonly name: string; readonly path: string },
  apis: readonly Member[],
  random: Random,
): Promise<void> {
  for (const [part, sql] of Object.entries(READS))
    (history[part as keyof typeof READS] as object[]).push(...(await postgres.query(sql, [], database)));
  history.log.push(
    ...(await readFinal(postgres, database)).log.filter(({ stream, type }) => stream === city.name && type.startsWith('extmsg.')),
  );
  history.prompts.push(...(await prompts(join(city.path, '.gc/runtime/loopback'))));
  for (const api of apis) {
    for (const conversation of CONVERSATIONS)
      for (const order of ['asc', 'desc']) {
        const entries: EntryEnd[] = [];
        for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
          const place = { order, limit: String(random.int(2, 200)), ...(cursor === undefined ? {} : { cursor }) };
          const page = await readPage(api, city.name, conversation, place);
          if (page === undefined) throw new Error(`${api.name} does not show ${conversation.id}`);
          entries.push(...page.entries);
          cursor = page.next;
        }
        history.views.push({ replica: api.name, conversation: conversation.id, from: Infinity, whole: true, entries });
      }
    history.listed.push({ replica: api.name, ids: await failures(api, city.name, random) });
  }
}

/** Page by page, what has failed for good. */
async function failures(api: Member, city: string, random: Random): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
    const query = new URLSearchParams({ status: 'failed', limit: String(random.int(1, 50)), ...(cursor === undefined ? {} : { cursor }) });
    const answer = await ask('GET', `${api.url}/v0/city/${city}/extmsg/deliveries?${query.toString()}`, { ms: 10_000 });
    if (answer?.status !== 200) throw new Error(`${api.name} does not list failures: ${answer?.status} ${answer?.body}`);
    const page = JSON.parse(answer.body) as { items: { id: string }[]; next_cursor?: string };
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  return ids;
}

/** What agents keep of what they were told. */
async function prompts(directory: string): Promise<Prompt[]> {
  const counts = new Map<string, number>();
  for (const name of (await readdir(directory).catch(() => [])).filter((each) => each.endsWith('.json'))) {
    const said = JSON.parse(await readFile(join(directory, name), 'utf8')) as { role: string; text: string }[];
    for (const { role, text } of said) if (role === 'user') counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].filter(([text]) => text.includes('<external-message')).map(([text, count]) => ({ text, count }));
}
