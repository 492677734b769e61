import { Injectable } from '@nestjs/common';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { decodeToken, encodeToken } from '../../../contract/token.js';
import { Db } from '../../../platform/database/database.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { InboxRepository, type InboxPlace, type InboxRow } from './inbox.repository.js';
import { INBOX_KINDS, type InboxEntry, type InboxOutputBody, type InboxQuery } from './inbox.schemas.js';

/** Of each kind one answer counts so many. */
const MOST = 10_000;
/** Cities with files that cannot be used. */
const REJECTED = 100;

/** What waits for people in the cities that a caller may see. */
@Injectable()
export class InboxService {
  constructor(
    private readonly db: Db,
    private readonly repository: InboxRepository,
    private readonly eventLog: EventLog,
  ) {}

  /** @throws ProblemError invalid_cursor */
  async list({ cities, kind, limit, cursor }: InboxQuery, caller: Principal, most = MOST): Promise<InboxOutputBody> {
    const kinds = kind === undefined ? INBOX_KINDS : [kind];
    const names = cities?.filter((city) => maySee(caller, city)) ?? caller.cities;
    const after = parsePlace(cursor);
    // Before anything is read.
    const event_cursor = await this.eventLog.captureCursor(this.db, caller.cities);
    const isFirst = kind === undefined && after === undefined;
    const [rows, counted, rejected] = await Promise.all([
      this.repository.page({ names, kinds, after, limit }),
      this.repository.count({ names, kinds, most }),
      isFirst ? this.repository.rejected(names, REJECTED) : [],
    ]);
    const shown = rows.slice(0, limit);
    const last = rows.length > limit ? shown.at(-1) : undefined;
    const counts = { bead: Math.min(most, counted.bead), mail: Math.min(most, counted.mail) };
    return {
      event_cursor,
      items: shown.map(toEntry),
      total: counts.bead + counts.mail,
      counts,
      ...(counted.bead > most || counted.mail > most ? { total_is_estimate: true } : {}),
      ...(rejected.length === 0 ? {} : { rejected }),
      ...(last === undefined
        ? {}
        : { next_cursor: encodeToken({ k: 'inbox', us: last.us, kind: last.kind, n: last.stream_id, id: last.id }) }),
    };
  }
}

function toEntry({ kind, city, id, title, since, from, priority, status, thread_id }: InboxRow): InboxEntry {
  return {
    kind,
    city,
    id,
    title,
    since: since.toISOString(),
    ...(from === null || from === '' ? {} : { from }),
    ...(priority === null ? {} : { priority }),
    ...(status === null ? {} : { status }),
    ...(thread_id === null ? {} : { thread_id }),
  };
}

/** @throws ProblemError invalid_cursor */
function parsePlace(cursor: string | undefined): InboxPlace | undefined {
  if (cursor === undefined) return undefined;
  const { k, us, kind, n, id } = decodeToken(cursor) ?? {};
  const known = INBOX_KINDS.find((one) => one === kind);
  if (k === 'inbox' && typeof us === 'string' && /^\d{1,17}$/.test(us) && known !== undefined && isStream(n) && typeof id === 'string')
    return { us, kind: known, stream_id: n, id };
  throw problem('invalid_cursor', 'cursor is not a valid pagination token; re-fetch the first page', { at: 'query.cursor' });
}

const isStream = (n: unknown): n is number => Number.isInteger(n) && (n as number) > 0 && (n as number) < 2 ** 31;
