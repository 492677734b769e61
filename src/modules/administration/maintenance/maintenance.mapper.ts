import { NOTHING_REMOVED, secondsOf, type CycleRow } from './cycle-row.js';
import type { MaintenanceRunBody } from './maintenance.schemas.js';

/** A cycle that is over. */
export function toRun(row: CycleRow): MaintenanceRunBody {
  return {
    started_at: row.created_at.toISOString(),
    finished_at: row.finished_at!.toISOString(),
    stage: row.stage,
    before_bytes: row.before_bytes,
    after_bytes: row.after_bytes,
    duration_s: secondsOf(row),
    ...(row.error === null ? {} : { err: row.error }),
    cause: row.cause,
    ...(row.skipped === null ? {} : { skipped: row.skipped }),
    removed: { ...NOTHING_REMOVED, ...row.removed },
    warnings: [...row.warnings],
  };
}
