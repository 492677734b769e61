import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import type { OKResponseBody } from '../../../contract/scalars.js';
import { decodeToken, encodeToken } from '../../../contract/token.js';
import { Db } from '../../../platform/database/database.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Done } from '../../work/work/work.service.js';
import { SessionChangesService } from '../session-store/session-changes.service.js';
import { SessionResolver } from '../session-names/session-resolver.service.js';
import { MessageQueueRepository } from './message-queue.repository.js';
import { MessageQueue } from './message-queue.service.js';
import { toMessageRecord } from './messages.mapper.js';
import type { ListBodySessionMessage, MessagesQuery, SessionMessageRecord } from './messages.schemas.js';

const DEFAULT_LIMIT = 100;
/** Characters of each text in a list. */
const CUT = 4096;

/** A session's messages as they are listed, shown and taken back. */
@Injectable()
export class MessageListService {
  constructor(
    private readonly db: Db,
    private readonly resolver: SessionResolver,
    private readonly sessions: SessionChangesService,
    private readonly queue: MessageQueue,
    private readonly repository: MessageQueueRepository,
  ) {}

  /** Newest first. @throws ProblemError session_not_found, ambiguous, invalid_cursor */
  async list(city: CityScope, id: string, query: MessagesQuery): Promise<Done<ListBodySessionMessage>> {
    const index = await this.repository.cityHead(this.db, city.streamId);
    const before = parsePlace(query.cursor);
    const limit = query.limit === 0 ? DEFAULT_LIMIT : query.limit;
    const session = await this.resolver.resolve(city, id, { closed: true, materialize: false });
    const wanted = { statuses: query.status, before, limit, characters: CUT + 1 };
    const { rows, more } = await this.repository.page(this.db, session.pk, wanted);
    const next = more ? { next_cursor: encodeToken({ k: 'message', pk: rows.at(-1)!.pk }) } : {};
    return { value: { items: rows.map((row) => toMessageRecord(row, CUT)), ...next }, index };
  }

  /** @throws ProblemError session_not_found, message_not_found */
  async get(city: CityScope, id: string, messageId: string): Promise<SessionMessageRecord> {
    const session = await this.resolver.resolve(city, id, { closed: true, materialize: false });
    const row = await this.repository.byId(this.db, session, messageId);
    if (row === undefined) throw notFound(messageId, id);
    return toMessageRecord(row);
  }

  /**
   * Takes a queued message back; its operation fails with `cancelled`. Twice changes nothing.
   *
   * @throws ProblemError message_not_found; wrong_state when it has been given to the session, or has ended otherwise.
   */
  async cancel(city: CityScope, id: string, messageId: string, caller: Principal): Promise<OKResponseBody> {
    const sentTo = await this.resolver.resolve(city, id, { closed: true, materialize: false });
    const seen = await this.repository.byId(this.db, sentTo, messageId);
    if (seen === undefined) throw notFound(messageId, id);
    const done = await this.sessions.run(city, caller.actor, async (changes) => {
      const row = await changes.require(seen.session_pk, id);
      const message = await this.repository.byId(changes.tx, row, messageId);
      if (message === undefined) throw notFound(messageId, id);
      if (message.session_pk !== row.pk) return false;
      if (message.status === 'cancelled' || (await this.queue.cancel(changes, row, message.pk))) return true;
      throw problem('wrong_state', `message ${messageId} is ${message.status.replace('_', ' ')} already`);
    });
    // It was handed over before its session could be locked.
    return done ? { status: 'ok' } : this.cancel(city, id, messageId, caller);
  }
}

function notFound(messageId: string, id: string): Error {
  return problem('message_not_found', `message ${messageId} of session ${id} not found`);
}

function parsePlace(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const { k, pk } = decodeToken(cursor) ?? {};
  if (k === 'message' && Number.isSafeInteger(pk) && (pk as number) > 0) return pk as number;
  throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
}
