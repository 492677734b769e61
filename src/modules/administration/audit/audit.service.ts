import { Injectable } from '@nestjs/common';
import { parseDuration } from '../../../contract/duration.js';
import { maySee, type Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { heldItems } from '../../../platform/database/page-bytes.js';
import { StreamHub } from '../../../platform/streams/hub.js';
import { toResponse } from './audit.mapper.js';
import { formatPlace, parsePlace } from './audit-positions.js';
import { AuditReadsRepository, type AuditFilter } from './audit-reads.repository.js';
import type { AuditQuery, ListBodyAuditRecord } from './audit.schemas.js';

const DEFAULT_PAGE = 100;

/** Reads who did what. A key that is limited to cities reads what was done in those. */
@Injectable()
export class AuditService {
  constructor(
    private readonly repository: AuditReadsRepository,
    private readonly hub: StreamHub,
  ) {}

  /** @throws ProblemError forbidden, invalid_cursor, invalid_request */
  async list(caller: Principal, query: AuditQuery): Promise<ListBodyAuditRecord> {
    const filter = filterFor(caller, query);
    const seal = await this.hub.repository.seal();
    const below = query.cursor === undefined ? undefined : parsePlace(query.cursor, seal);
    const times = { requestId: query.request_id, since: instant('since', query.since), until: instant('until', query.until) };
    const found = await this.repository.page(filter, times, below, query.limit === 0 ? DEFAULT_PAGE : query.limit);
    const items = found.items.map(toResponse);
    const held = heldItems(items);
    const last = held < items.length ? found.items[held - 1] : found.last;
    return { items: items.slice(0, held), ...(last === undefined ? {} : { next_cursor: formatPlace(last, seal) }) };
  }
}

/** What a caller may see of what is asked for. @throws ProblemError forbidden */
export function filterFor(
  caller: Principal,
  { city, key, operation, outcome }: Pick<AuditQuery, keyof AuditFilter & keyof AuditQuery>,
): AuditFilter {
  if (caller.session !== undefined) throw problem('forbidden', 'sessions may not read who did what');
  const cities = city !== undefined && !maySee(caller, city) ? [] : caller.cities;
  return { cities, city, key, operation, outcome };
}

/** A duration before now, or a time. @throws 400 for anything else */
function instant(name: 'since' | 'until', text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const ms = parseDuration(text);
  const at = ms === undefined ? Date.parse(/^\d{4}-\d\d-\d\d/.test(text) ? text : '') : Date.now() - ms;
  // What Postgres and JSON have room for.
  if (at >= 0 && at < 8.64e15 / 40) return new Date(at);
  throw problem('invalid_request', `invalid ${name}: a duration such as 1h, or a time such as 2026-11-21T09:00:00Z`, {
    at: `query.${name}`,
  });
}
