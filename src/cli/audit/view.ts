import type { Schemas } from '../api.js';
import type { Io } from '../io.js';
import { cut, plain, table } from '../table.js';

export type AuditRecord = Schemas['AuditRecordResponse'];

const HEADERS = ['TIME', 'WHO', 'KEY', 'FROM', 'RESULT', 'OPERATION', 'OF'];

/** Newest first, as they come. */
export const auditTable = (records: readonly AuditRecord[], io: Io): string => table(HEADERS, records.map(cells), io);

const WIDTHS = [20, 16, 12, 15, 24, 28] as const;

/** One that comes as it happens: the columns cannot wait for the widest. */
export function auditLine(record: AuditRecord): string {
  const line = cells(record).map((cell, column) => {
    const width = WIDTHS[column];
    const text = plain(cell);
    return width === undefined ? text : (text.length > width && column === 5 ? cut(text, width) : text).padEnd(width);
  });
  return `${line.join('  ').trimEnd()}\n`;
}

function cells(record: AuditRecord): string[] {
  const { session_id: session, key_id: key } = record;
  return [
    `${record.time.slice(0, 19)}Z`,
    record.actor ?? (record.operation === null ? 'several' : 'nobody'),
    key ?? (session === null ? '-' : session),
    record.address ?? '-',
    resultOf(record),
    record.operation ?? '-',
    objectOf(record),
  ];
}

function resultOf({ outcome, status, code, count }: AuditRecord): string {
  const said = outcome === 'accepted' ? String(status) : `${status} ${code ?? outcome}`;
  return count === 1 ? said : `${said} x${count}`;
}

/** What it was done to: the city, then what else the path names. */
function objectOf({ city, ids, operation_request_id: request, reason }: AuditRecord): string {
  const named = Object.values(ids);
  return [city ?? '', ...named, ...(request === null ? [] : [`(${request})`]), ...(reason === null ? [] : [reason])]
    .filter((part) => part !== '')
    .join(' ');
}
