import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { decodeToken, encodeToken } from '../../../contract/token.js';
import { Db } from '../../../platform/database/database.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { idempotencyRef } from '../../tenancy/cities/idempotency-ref.js';
import type { SessionChanges } from '../session-store/session-changes.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import type { SessionRow } from '../session-store/session-row.js';
import type { Done } from '../../work/work/work.service.js';
import { chosen } from './chosen.js';
import type { InteractionRow } from './interaction-row.js';
import { InteractionsRepository, type CityPendingRow } from './interactions.repository.js';
import type {
  CityPendingEntry,
  ListBodyCityPendingEntry,
  PendingQuery,
  SessionPendingResponse,
  SessionRespondInput,
  SessionRespondOutputBody,
  SupervisorPendingOutputBody,
  SupervisorPendingQuery,
} from './interactions.schemas.js';
import { Interactions } from './interactions.service.js';
import { toPendingInteraction } from './pending-interaction.js';

const PAGE = 1000;
const NAMED = { closed: false, materialize: false } as const;

/** What people see of open questions, and how they answer them. */
@Injectable()
export class ResponsesService {
  constructor(
    private readonly db: Db,
    private readonly resolver: SessionResolver,
    private readonly sessions: SessionChangesService,
    private readonly interactions: Interactions,
    private readonly repository: InteractionsRepository,
    private readonly idempotency: Idempotency,
    private readonly eventLog: EventLog,
  ) {}

  /** @throws ProblemError session_not_found, ambiguous; wrong_state when it is closed. */
  async pending(city: CityScope, id: string): Promise<Done<SessionPendingResponse>> {
    const session = await this.resolver.resolve(city, id, NAMED);
    refuseClosed(session);
    const { head, items } = await this.repository.session(this.db, city.streamId, session);
    if (!asksPeople(session)) return { value: { supported: false }, index: head };
    const [pending, ...others] = items.map(toPendingInteraction);
    const value = { supported: true, ...(pending === undefined ? {} : { pending }), ...(others.length === 0 ? {} : { others }) };
    return { value, index: head };
  }

  /** Everything in the city that waits for a person, the oldest first. @throws ProblemError invalid_cursor */
  async list(city: CityScope, query: PendingQuery): Promise<Done<ListBodyCityPendingEntry>> {
    const limit = query.limit === 0 ? PAGE : query.limit;
    const from = parsePlace(query.cursor);
    const { head, total, items, more: goesOn } = await this.repository.city(this.db, city.streamId, limit, from);
    const last = items.at(-1);
    const more = goesOn && last !== undefined ? { next_cursor: encodeToken({ k: 'pending', us: last.us, pk: last.pk }) } : {};
    return { value: { items: items.map(toEntry), total, ...more }, index: head };
  }

  /** Everything that waits for a person in the cities that the caller may see. @throws ProblemError invalid_cursor */
  async everywhere(query: SupervisorPendingQuery, caller: Principal): Promise<SupervisorPendingOutputBody> {
    const cities = query.cities?.filter((city) => maySee(caller, city)) ?? caller.cities;
    const from = parsePlace(query.cursor);
    const event_cursor = await this.eventLog.captureCursor(this.db, caller.cities);
    const { total, items, more } = await this.repository.everywhere(this.db, cities, query.limit === 0 ? PAGE : query.limit, from);
    const last = more ? items.at(-1) : undefined;
    const next = last === undefined ? {} : { next_cursor: encodeToken({ k: 'pending', us: last.us, pk: last.pk }) };
    return { event_cursor, items: items.map((row) => ({ ...toEntry(row), city: row.city })), total, ...next };
  }

  /**
   * Answers a question, once whoever is first. The agent is told by its runner.
   *
   * @throws ProblemError session_not_found, ambiguous, no_pending, invalid_interaction, invalid_request, unsupported; wrong_state when closed.
   */
  async respond(
    city: CityScope,
    id: string,
    body: SessionRespondInput,
    key: string | undefined,
    caller: Principal,
  ): Promise<SessionRespondOutputBody> {
    const ref = idempotencyRef(caller, city.name, 'respond-session', key, { id, ...body });
    const stored = ref && (await this.idempotency.lookup(this.db, ref));
    if (stored !== undefined) return stored.body as SessionRespondOutputBody;
    const { pk } = await this.resolver.resolve(city, id, NAMED);
    return this.sessions.run(city, caller.actor, async (changes) => {
      const answer = await this.idempotency.run(changes.tx, ref, async () => ({
        status: 202,
        body: await this.#answer(changes, await changes.require(pk, id), body, caller),
      }));
      return answer.body;
    });
  }

  async #answer(
    changes: SessionChanges,
    row: SessionRow,
    { action: said, request_id, text, metadata }: SessionRespondInput,
    { actor: by }: Principal,
  ): Promise<SessionRespondOutputBody> {
    refuseClosed(row);
    if (row.live && row.capabilities.interactions === false) throw problem('unsupported', `the runtime of session ${row.id} asks nothing`);
    const open = await this.interactions.openOf(changes.tx, row);
    const asked = request_id === undefined ? onlyOne(row, open) : open.find((one) => one.request_id === request_id);
    if (asked === undefined) throw await this.#another(changes, row, open, request_id!);
    // Its runtime would press no key, and the agent wait on.
    if (asked.metadata.answerable === 'false')
      throw problem(
        'unsupported',
        `nobody here knows how to answer interaction ${asked.request_id}: interrupt session ${row.id}, or stop it`,
      );
    const action = chosen(asked.options, said);
    const answered = await this.interactions.answer(changes, row, asked.pk, { action, by, text, metadata, said });
    if (answered === undefined) throw problem('no_pending', `interaction ${asked.request_id} is open no longer`);
    return { status: 'accepted', id: row.id };
  }

  /** Why what was named cannot be answered. */
  async #another(changes: SessionChanges, row: SessionRow, open: readonly InteractionRow[], requestId: string): Promise<Error> {
    const settled = await this.repository.byRequestId(changes.tx, row.pk, requestId);
    const by = settled?.answered_by === null || settled === undefined ? '' : ` by ${settled.answered_by}`;
    const was =
      settled === undefined ? `session ${row.id} has no interaction ${requestId}` : `interaction ${requestId} was ${settled.status}${by}`;
    if (open.length === 0) return problem('no_pending', was);
    return problem('invalid_interaction', `${was}; open: ${open.map((one) => one.request_id).join(', ')}`);
  }
}

function toEntry(row: CityPendingRow): CityPendingEntry {
  const { session_id, alias, title, template, agent } = row;
  const named = { ...(agent === null ? {} : { agent }), ...(alias === '' ? {} : { alias }) };
  const { options, ...rest } = toPendingInteraction(row);
  return { session_id, ...rest, options: options ?? [], title, template, ...named };
}

function refuseClosed(row: SessionRow): void {
  if (row.state === 'closed') throw problem('wrong_state', `session ${row.id} is closed`);
}

/** Without a process nothing is known against it. */
function asksPeople({ state, capabilities }: SessionRow): boolean {
  return state !== 'start-pending' && state !== 'creating' && capabilities.interactions !== false;
}

function onlyOne(row: SessionRow, open: readonly InteractionRow[]): InteractionRow {
  const [first, ...others] = open;
  if (first === undefined) throw problem('no_pending', `session ${row.id} waits for no answer`);
  if (others.length === 0) return first;
  const ids = open.map((one) => one.request_id).join(', ');
  throw problem('invalid_interaction', `session ${row.id} waits for ${open.length} answers; name one as request_id: ${ids}`);
}

function parsePlace(cursor: string | undefined): { us: string; pk: number } | undefined {
  if (cursor === undefined) return undefined;
  const { k, us, pk } = decodeToken(cursor) ?? {};
  if (k === 'pending' && typeof us === 'string' && /^\d{1,17}$/.test(us) && Number.isSafeInteger(pk) && (pk as number) > 0)
    return { us, pk: pk as number };
  throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
}
