import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PostgresDialect, sql, type CompiledQuery } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { insertSession, logOf, said, write, type TestSession } from '../../../../test/support/transcripts.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { SessionResolver } from '../session-names/session-resolver.service.js';
import { LiveReads } from './live-reads.repository.js';
import type { TranscriptLogService } from './transcript-log.service.js';
import { TranscriptQuery } from './transcripts.query.js';
import { TranscriptsRepository } from './transcripts.repository.js';
import { TranscriptsService } from './transcripts.service.js';

describe('transcripts', () => {
  let fixture: WorkFixture;
  let log: TranscriptLogService;
  let service: TranscriptsService;

  beforeAll(async () => {
    fixture = await workFixture();
    log = logOf(fixture.pool);
    const resolver = { resolve: (_city: unknown, text: string) => Promise.resolve({ pk: Number(text), id: text }) };
    service = new TranscriptsService(new TranscriptsRepository(fixture.db), resolver as unknown as SessionResolver);
  });
  afterAll(() => fixture.close());

  const session = (): Promise<TestSession> => insertSession(fixture.db, fixture.city.streamId);
  const get = async (s: TestSession, query: Record<string, string> = {}) =>
    (await service.get(fixture.city, String(s.pk), TranscriptQuery.parse(query))).value;
  const conversation = async (s: TestSession, query: Record<string, string> = {}) => {
    const answer = await get(s, query);
    if (answer.format !== 'conversation') throw new Error(`not a conversation: ${answer.format}`);
    return { texts: (answer.turns ?? []).map(({ text }) => text), pagination: answer.pagination! };
  };
  const ids = async (s: TestSession, query: Record<string, string> = {}) => {
    const answer = await get(s, { format: 'structured', ...query });
    if (answer.format !== 'structured') throw new Error('not structured');
    return { ids: answer.structured_messages.map(({ id }) => id), pagination: answer.pagination! };
  };

  it('joins the parts of one message and shows tools by name', async () => {
    const s = await session();
    const tool = [{ type: 'tool_use', id: 't', name: 'Bash' }, { type: 'tool_result', tool_call_id: 't', content: 'r'.repeat(600) }] as const; // prettier-ignore
    await log.append(
      write(s, [
        said('1.0', 'do it', { role: 'user' }),
        said('1.1', 'I am '),
        said('1.2', 'on it'),
        said('1.e.t', '', { kind: 'tool', role: 'tool', blocks: tool }),
        said('1.3', 'thinking', { kind: 'thought', blocks: [{ type: 'thinking', thinking: 'hm' }] }),
        said('1.4', 'done', { status: 'partial' }),
        said('1.5', 'gone', { status: 'superseded' }),
        said('1.6', 'elsewhere', { parentToolUseId: 't' }),
      ]),
    );
    expect((await conversation(s)).texts).toEqual(['do it', 'I am on it', `[Bash]\n[result] ${'r'.repeat(500)}`, 'done']);
    expect((await conversation(s, { include_thinking: 'true' })).texts).toContain('[thinking] hm');
    expect((await ids(s)).ids).toEqual(['1.0', '1.1', '1.2', '1.e.t', '1.4', '1.5', '1.6']);
  });

  it('covers everything once, paged backwards and forwards', async () => {
    const s = await session();
    const all = Array.from({ length: 53 }, (_, n) => `1.${n}`);
    await log.append(write(s, all.map((id) => said(id, id)))); // prettier-ignore
    await log.append(write(s, [said('1.7', 'changed')]));
    const back: string[] = [];
    for (let before: string | undefined; ;) {
      const page = await ids(s, { limit: '10', ...(before === undefined ? {} : { before }) });
      back.unshift(...page.ids);
      expect(page.pagination).toMatchObject({ total_message_count: 53, returned_message_count: page.ids.length });
      before = page.pagination.truncated_before_message;
      if (!page.pagination.has_older_messages) break;
    }
    expect(back).toEqual(all);
    const on: string[] = ['1.0'];
    for (let after = '1.0'; ;) {
      const page = await ids(s, { limit: '7', after });
      on.push(...page.ids);
      after = page.pagination.last_message ?? after;
      if (page.pagination.has_newer_messages !== true) break;
    }
    expect(on).toEqual(all);
  });

  it('keeps the last segments, and all when there are no more than asked for', async () => {
    const s = await session();
    const mark = (id: string) => said(id, id, { kind: 'compaction', role: 'system' });
    await log.append(write(s, [said('1', 'a', { role: 'user' }), mark('2'), said('3', 'b', { role: 'user' }), mark('4'), said('5', 'c')]));
    expect((await ids(s, { tail: '1' })).ids).toEqual(['4', '5']);
    expect((await ids(s, { tail: '1' })).pagination).toMatchObject({ has_older_messages: true, total_compactions: 1 });
    expect((await ids(s, { tail: '2' })).ids).toEqual(['1', '2', '3', '4', '5']);
    expect((await ids(s, { tail: '0' })).ids).toHaveLength(5);
    expect((await ids(s, { tail: '1', before: '4' })).ids).toEqual(['1', '2', '3']);
  });

  it('refuses an entry that is not there, and both directions at once', async () => {
    const s = await session();
    await expect(get(s, { before: 'nothing' })).rejects.toMatchObject({ problem: 'transcript_cursor_invalidated' });
    await expect(get(s, { after: 'half \ud800' })).rejects.toMatchObject({ problem: 'transcript_cursor_invalidated' });
    expect(TranscriptQuery.safeParse({ before: 'a', after: 'b' }).success).toBe(false);
    expect(TranscriptQuery.safeParse({ tail: '-1' }).success).toBe(false);
    expect((await conversation(s)).texts).toEqual([]);
  });

  it('stops an answer that grows too large, with at least one entry', async () => {
    const s = await session();
    await sql`insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
      select ${s.pk}, n, n, '1.' || n, 1, 1, 1, 'message', 'assistant', 'final', jsonb_build_array(jsonb_build_object('type', 'text', 'text',
        (select string_agg(md5(n || '.' || k), '') from generate_series(1, 1250) k))) from generate_series(1, 200) n`.execute(fixture.db);
    const page = await ids(s);
    expect(page.pagination.has_older_messages).toBe(true);
    expect(page.ids.length).toBeGreaterThan(50);
    expect(page.ids.length).toBeLessThan(150);
  });

  it('stops an answer that grows too large by what entries say beside their words', async () => {
    const s = await session();
    await sql`insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks, model)
      select ${s.pk}, n, n, '1.' || n, 1, 1, 1, 'message', 'assistant', 'final', '[{"type": "text", "text": "short"}]', repeat('m', 200000)
      from generate_series(1, 20) n`.execute(fixture.db);
    const page = await ids(s);
    expect(page.pagination.has_older_messages).toBe(true);
    expect(page.ids).toHaveLength(10);
  });

  it('tells sub-agents by the tools that started them', async () => {
    const s = await session();
    const sub = (id: string, parent: string) => said(id, id, { parentToolUseId: parent });
    const tool = (call: string, status: 'partial' | 'final', failed = false) =>
      said(`1.e.${call}`, '', {
        kind: 'tool',
        role: 'tool',
        status,
        blocks: [{ type: 'tool_use', id: call, name: 'Task' }, { type: 'tool_result', tool_call_id: call, is_error: failed }], // prettier-ignore
      });
    await log.append(
      write(
        s,
        [
          tool('a', 'final'),
          sub('1.1', 'a'),
          tool('b', 'partial'),
          sub('1.2', 'b'),
          sub('1.3', 'a'),
          tool('c', 'final', true),
          sub('1.4', 'c'),
        ],
        {
          activity: 'in-turn',
        },
      ),
    );
    const at = String(s.pk);
    expect((await service.subAgents(fixture.city, at)).agents?.map(({ agent_id }) => agent_id)).toEqual(['a', 'b', 'c']);
    const found = await service.subAgent(fixture.city, at, 'a');
    expect(found.status).toBe('completed');
    expect(found.messages).toHaveLength(2);
    expect((await service.subAgent(fixture.city, at, 'b')).status).toBe('running');
    expect((await service.subAgent(fixture.city, at, 'c')).status).toBe('failed');
    await expect(service.subAgent(fixture.city, at, 'd')).rejects.toMatchObject({ problem: 'agent_not_found' });
    await expect(service.subAgent(fixture.city, at, '../a')).rejects.toMatchObject({ problem: 'invalid_request' });
    await log.append(write(s, [], { activity: 'idle' }));
    expect((await service.subAgent(fixture.city, at, 'b')).status).toBe('failed');
  });

  it('reads no more of a long transcript than it answers', async () => {
    const s = await session();
    await sql`insert into session_entries (session_pk, seq, rev, entry_id, epoch, generation, turn, kind, role, status, blocks)
      select ${s.pk}, n, n, '1.' || n, 1, 1, 1, case when n % 20000 = 0 then 'compaction' else 'message' end, 'assistant', 'final',
        '[{"type":"text","text":"x"}]' from generate_series(1, 100000) n`.execute(fixture.db);
    await sql`update session_logs set head = 100000, entries = 100000, compactions = 5 where session_pk = ${s.pk}`.execute(fixture.db);
    await sql`analyze session_entries`.execute(fixture.db);
    const asked: CompiledQuery[] = [];
    const watched = new Db({ dialect: new PostgresDialect({ pool: fixture.pool }), log: ({ query }) => void asked.push(query) });
    const resolver = { resolve: () => Promise.resolve({ pk: s.pk, id: 's' }) } as unknown as SessionResolver;
    const watchedService = new TranscriptsService(new TranscriptsRepository(watched), resolver);
    const reads = new LiveReads(watched);
    await watchedService.get(fixture.city, 's', TranscriptQuery.parse({ tail: '1', limit: '100', format: 'raw' }));
    await watchedService.get(fixture.city, 's', TranscriptQuery.parse({ after: '1.50000', tail: '1', limit: '100' }));
    await reads.changes([{ pk: s.pk, pos: 99_900, upto: Number.MAX_SAFE_INTEGER }], true);
    expect(asked.length).toBeGreaterThan(4);
    for (const { sql: text, parameters } of asked) {
      const { rows } = await fixture.pool.query<Record<string, string>>(`explain ${text}`, [...parameters]);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).not.toMatch(/(Seq|Bitmap Heap) Scan on session_entries/);
    }
  });
});
