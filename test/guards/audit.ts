import type { Guard } from './guard.js';

const RECORDS = 'src/platform/audit-log/audit-log.db-spec.ts';
const REQUESTS = 'test/e2e/audit.e2e-spec.ts';

/** Who did what with which key. */
export const AUDIT: readonly Guard[] = [
  {
    guard: 'A change and its record are one transaction.',
    file: 'src/platform/database/transactions.ts',
    find: 'beginningWith(recorder?.begin(request!), ',
    replace: 'beginningWith(recorder === undefined ? undefined : `${recorder.begin(request!)}; commit; begin`, ',
    test: RECORDS,
    name: 'goes with it when it is rolled back',
  },
  {
    guard: 'A connection on which a record could not be written is as good as before.',
    file: 'src/platform/database/beginning.ts',
    find: 'await this.rollbackTransaction(connection as Rollback[0]).catch(() => undefined);',
    replace: '',
    test: RECORDS,
    name: 'harms nobody else',
  },
  {
    guard: 'A bead that is created with others has its record with it.',
    file: 'src/modules/beads/create.repository.ts',
    find: "done.outcome = 'created'",
    replace: "done.outcome = 'never'",
    test: REQUESTS,
    name: 'has the record of a change in its transaction',
  },
  {
    guard: 'A heartbeat has its record with it.',
    file: 'src/modules/hooks/claims.repository.ts',
    find: 'auditItems([request])',
    replace: 'auditItems([])',
    test: REQUESTS,
    name: 'has the record of a change in its transaction',
  },
  {
    guard: 'A refused request leaves a record.',
    file: 'src/platform/http/http-app.ts',
    find: 'auditing.answered(request, reply, operation);',
    replace: 'if (reply.statusCode < 400) auditing.answered(request, reply, operation);',
    test: REQUESTS,
    name: 'leaves one record, as it was answered',
  },
  {
    guard: 'The record of a change tells what it was answered with.',
    file: 'src/platform/audit-log/audit-log.ts',
    find: 'if (recorded && outcome.status === entry.status) return;',
    replace: 'if (recorded) return;',
    test: RECORDS,
    name: 'tells what it was answered with',
  },
  {
    guard: 'A flood of refusals is counted.',
    file: 'src/platform/audit-log/audit-log.ts',
    find: 'if (!recorded && !this.#unchanged.admit(record)) return;',
    replace: 'if (!recorded) this.#unchanged.admit(record);',
    test: RECORDS,
    name: 'leaves few records',
  },
  {
    guard: 'Who follows the records misses none that commits later.',
    file: 'src/modules/audit/audit-reads.repository.ts',
    find: ' and r.xid < pg_snapshot_xmin(pg_current_snapshot())::text::bigint\n',
    replace: '\n',
    test: RECORDS,
    name: 'misses nothing that commits later',
  },
  {
    guard: 'Who did what is read with the right to.',
    file: 'src/modules/audit/audit.service.ts',
    find: "if (!may(caller, 'audit'))",
    replace: "if (caller.actor === '')",
    test: REQUESTS,
    name: 'are for those who may read them',
  },
  {
    guard: 'A key of some cities sees what was done in those.',
    file: 'src/modules/audit/audit.service.ts',
    find: ': caller.cities;',
    replace: ': undefined;',
    test: REQUESTS,
    name: 'of each key what is its own',
  },
  {
    guard: 'Records go by their number.',
    file: 'src/modules/audit/audit-retention.ts',
    find: 'this.repository.newestBeyond(tx, most)',
    replace: 'this.repository.newestBeyond(tx, most * 1_000)',
    test: RECORDS,
    name: 'drops the oldest by age and by number',
  },
];
