import type { AuditedRequest, AuditEntry } from './audited-request.js';

const COLUMNS =
  'request_id, key_id, actor, session_id, session_city, address, operation, method, path, city, ids, status, code, reason, operation_request_id';
const TYPES =
  'ord integer, request_id text, key_id text, actor text, session_id text, session_city text, address text, operation text, ' +
  'method text, path text, city text, ids jsonb, status smallint, code text, reason text, operation_request_id text';
const VALUES = COLUMNS.split(', ')
  .map((column) => `r.${column}`)
  .join(', ');

/**
 * SQL that inserts records, as part of the statement whose effect they tell of: one transaction has both.
 *
 * @param items a parameter: JSON of `auditItems`
 * @param where the rest of the `from`, of the items `r` by their `ord`: those whose item has had an effect
 */
export const auditInsert = (items: string, where = ''): string =>
  `insert into audit_records (${COLUMNS}) select ${VALUES} from jsonb_to_recordset(${items}::jsonb) as r(${TYPES}) ${where}
   on conflict (request_id) where request_id is not null do nothing`;

/** The requests of items that are written together, by their places. */
export function auditItems(requests: readonly (AuditedRequest | undefined)[]): string {
  return JSON.stringify(
    requests.flatMap((request, ord) => (request === undefined || request.recorded ? [] : [toItem(ord, request.entry)])),
  );
}

/** Its members as PostgreSQL sorts them, by the lengths of their names, and without those that are null: each costs it time with every write. */
function toItem(ord: number, entry: AuditEntry): object {
  const { ids, method, status, address, operation, request_id, path } = entry;
  return {
    ...{ ids, ord, city: entry.city ?? undefined, code: entry.code ?? undefined, path, actor: entry.actor ?? undefined },
    ...{ key_id: entry.key_id ?? undefined, method, reason: entry.reason ?? undefined, status, address, operation, request_id },
    ...{ session_id: entry.session_id ?? undefined, session_city: entry.session_city ?? undefined },
  };
}
