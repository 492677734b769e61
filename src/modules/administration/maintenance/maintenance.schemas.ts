import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64 } from '../../../contract/scalars.js';
import { queryBool, queryInt } from '../../../contract/query.js';

const MaintenanceRemoved = contract(
  'MaintenanceRemoved',
  z.strictObject({
    runs: int64.describe('Runs that had ended long enough.'),
    sessions: int64.describe('Sessions that were closed long enough.'),
    folders: int64.describe('Folders of sessions that are over.'),
  }),
  'What a cycle has taken away: runs and closed sessions whose time is over, and folders of sessions that are.',
);

export const MaintenanceRunBody = contract(
  'MaintenanceRunBody',
  z.strictObject({
    started_at: dateTime,
    finished_at: dateTime,
    stage: z.string().describe('The step that it came to: `prune`, `maintenance`, or `done` for all of them.'),
    before_bytes: int64.describe('The size of the store before, in bytes.'),
    after_bytes: int64.describe('The size of the store after, in bytes.'),
    duration_s: z.number(),
    err: z.string().optional().describe('What went wrong. Absent when nothing did.'),
    snapshot_path: z.string().optional().describe('Always absent: nothing is copied here.'),
    cause: z.enum(['schedule', 'request']).describe('`schedule`: it was time. `request`: somebody asked for it.'),
    skipped: z.enum(['disk_critical']).optional().describe('Why nothing was done. Absent when it was.'),
    removed: MaintenanceRemoved.describe('What it has taken away.'),
    warnings: z.array(z.string()),
  }),
  'A cycle of maintenance.',
);
export type MaintenanceRunBody = z.infer<typeof MaintenanceRunBody>;

export const MaintenanceStatusBody = contract(
  'MaintenanceStatusBody',
  z.strictObject({
    enabled: z.boolean(),
    interval_seconds: int64.describe('How many seconds lie between two cycles.'),
    in_flight: z.boolean().describe('Whether a cycle is at work.'),
    in_flight_start: dateTime.optional().describe('When that began. RFC 3339 in UTC.'),
    last_run: MaintenanceRunBody.optional(),
    next_scheduled: dateTime.optional().describe('When the next cycle is due. RFC 3339 in UTC.'),
    history: z.array(MaintenanceRunBody).nullable().describe('The cycles before, the oldest first. Null is the same as none.'),
    disk: z.enum(['ok', 'warn', 'critical']).describe('How full the disk of the store is.'),
  }),
  'The maintenance of a city.',
);
export type MaintenanceStatusBody = z.infer<typeof MaintenanceStatusBody>;

export const MaintenanceStatusQuery = z.strictObject({
  history: queryInt({ min: 1, max: 100, default: 16 }).describe('How many cycles, the newest.'),
});
export type MaintenanceStatusQuery = z.infer<typeof MaintenanceStatusQuery>;

export const MaintenanceTriggerBody = contract(
  'MaintenanceTriggerBody',
  z.strictObject({
    accepted: z.boolean(),
    started_at: dateTime.optional(),
    run: MaintenanceRunBody.optional().describe('What the cycle has done; with `wait` only.'),
  }),
  'Whether a cycle was begun, and with `wait` what it has done.',
);
export type MaintenanceTriggerBody = z.infer<typeof MaintenanceTriggerBody>;

export const MaintenanceTriggerQuery = z.strictObject({ wait: queryBool().describe('Answer when the cycle has ended.') });
export type MaintenanceTriggerQuery = z.infer<typeof MaintenanceTriggerQuery>;
