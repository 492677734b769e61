import { Injectable } from '@nestjs/common';
import { problem } from '../../../contract/problems.js';
import type {
  PaginationInfo,
  SessionAgentGetResponse,
  SessionAgentListResponse,
  SessionTranscriptGetResponse,
} from '../../../contract/transcripts.schemas.js';
import { PAGE_BYTES } from '../../../platform/database/page-bytes.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Done } from '../../work/work/work.service.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import { conversation } from './conversation.js';
import type { EntryRow, TranscriptHead } from './entry-row.js';
import { rawFrames } from './raw-frames.js';
import { historyOf, messageOf, SCHEMA_VERSION } from './structured.js';
import { MAX_ENTRIES, type TranscriptQuery } from './transcripts.query.js';
import { TranscriptsRepository, type Page, type Span } from './transcripts.repository.js';

const MAX_SUB_AGENTS = 1_000;

export interface Window {
  readonly tail?: string | undefined;
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
}

/** Reads transcripts. Every format is a projection of the one table, the same on every replica and long after the process. */
@Injectable()
export class TranscriptsService {
  constructor(
    private readonly repository: TranscriptsRepository,
    private readonly resolver: SessionResolver,
  ) {}

  /** @throws ProblemError session_not_found, ambiguous, transcript_cursor_invalidated */
  async get(city: CityScope, text: string, query: TranscriptQuery): Promise<Done<SessionTranscriptGetResponse>> {
    const index = await this.repository.cityHead(city.streamId);
    return { value: await this.#transcript(city, text, query), index };
  }

  async #transcript(city: CityScope, text: string, query: TranscriptQuery): Promise<SessionTranscriptGetResponse> {
    const row = await this.#resolve(city, text);
    const { format = 'conversation', include_thinking: thinking } = query;
    const page = await this.page(row.pk, query, format === 'raw');
    const head = { id: page.id, template: page.template, provider: page.provider };
    const pagination = paginationOf(page, query);
    if (format === 'raw') return { ...head, format, ...rawFrames(page.rows, thinking), pagination };
    if (format === 'conversation') return { ...head, format, turns: conversation(page.rows, thinking), pagination };
    return {
      ...head,
      format,
      schema_version: SCHEMA_VERSION,
      operation: 'snapshot',
      history: historyOf(page, { position: String(page.head), entries: page.rows, pending: page.pending, whole: !page.has_newer }),
      structured_messages: page.rows.flatMap((entry) => messageOf(entry, page.provider, thinking) ?? []),
      pagination,
    };
  }

  /** The entries of a window, bounded: its newest, or the oldest after a named entry. */
  async page(pk: number, { tail, before, after, limit }: Window, withRaw: boolean): Promise<Page> {
    const span = { above: await this.#place(pk, after, 0), below: await this.#place(pk, before, Number.MAX_SAFE_INTEGER) };
    const start = await this.#segments(pk, span, Number(tail ?? 0));
    const bounds = { entries: limit ?? MAX_ENTRIES, bytes: PAGE_BYTES };
    const page = await this.repository.page(pk, { ...span, above: start }, after === undefined ? 'end' : 'start', bounds, withRaw);
    if (page === undefined) throw problem('session_not_found', 'the session has been deleted');
    return page;
  }

  async subAgents(city: CityScope, text: string): Promise<SessionAgentListResponse> {
    const { pk } = await this.#resolve(city, text);
    const parents = await this.repository.parents(pk, MAX_SUB_AGENTS);
    return { agents: parents.map((parent) => ({ agent_id: parent, parent_tool_use_id: parent })) };
  }

  /** @throws ProblemError invalid_request, agent_not_found */
  async subAgent(city: CityScope, text: string, agentId: string): Promise<SessionAgentGetResponse> {
    if (/[/\\\0]|\.\./.test(agentId) || !agentId.isWellFormed())
      throw problem('invalid_request', 'an id of a sub-agent has no path', { at: 'path.agentId' });
    const row = await this.#resolve(city, text);
    const rows = await this.repository.ofParent(row.pk, agentId, { entries: MAX_ENTRIES, bytes: PAGE_BYTES });
    const last = rows.at(-1);
    if (last === undefined) throw problem('agent_not_found', `session ${row.id} has no sub-agent ${agentId}`);
    const [head, tool] = await Promise.all([this.repository.head(row.pk), this.repository.tool(row.pk, last.generation, agentId)]);
    return { messages: rawFrames(rows, true).messages, status: statusOf(last, tool, head) };
  }

  #resolve(city: CityScope, text: string): Promise<SessionRow> {
    return this.resolver.resolve(city, text, { closed: true, materialize: false });
  }

  async #place(pk: number, entryId: string | undefined, absent: number): Promise<number> {
    if (entryId === undefined) return absent;
    const storable = entryId.isWellFormed() && !entryId.includes('\0');
    const place = storable ? await this.repository.placeOf(pk, entryId) : undefined;
    if (place === undefined)
      throw problem('transcript_cursor_invalidated', `the transcript has no entry ${entryId.toWellFormed()}; start over`);
    return place;
  }

  /** The place before the n-th last segment of a span; of one with fewer, its beginning. */
  async #segments(pk: number, span: Span, n: number): Promise<number> {
    const boundary = n === 0 ? undefined : await this.repository.compaction(pk, span, n);
    return boundary === undefined ? span.above : boundary - 1;
  }
}

/** What was left out of an answer, and where to go on. */
export function paginationOf(page: Page, { tail }: Pick<Window, 'tail'>): PaginationInfo {
  const first = page.rows[0];
  const last = page.rows.at(-1);
  return {
    has_older_messages: page.has_older,
    has_newer_messages: page.has_newer,
    total_message_count: page.entries,
    returned_message_count: page.rows.length,
    total_compactions: Number(tail ?? 0) > 0 ? page.rows.filter(({ kind }) => kind === 'compaction').length : 0,
    ...(page.has_older && first !== undefined ? { truncated_before_message: first.id } : {}),
    ...(last === undefined ? {} : { last_message: last.id }),
  };
}

function statusOf(last: EntryRow, tool: EntryRow | undefined, head: TranscriptHead | undefined): string {
  const works = head !== undefined && head.live && head.activity === 'in-turn' && head.generation === last.generation;
  if (tool === undefined) return works ? 'running' : 'completed';
  if (tool.status === 'partial') return works ? 'running' : 'failed';
  return tool.blocks.some((block) => block.type === 'tool_result' && block.is_error === true) ? 'failed' : 'completed';
}
