import { z } from 'zod';
import { contract } from '../../../contract/registry.js';
import { dateTime, int64 } from '../../../contract/scalars.js';
import { queryBool, queryInt } from '../../../contract/query.js';

const MaintenanceRemoved = contract(
  'MaintenanceRemoved',
  z.strictObject({ runs: int64, sessions: int64, folders: int64 }),
  'What a cycle has taken away: runs and closed sessions whose time is over, and folders of sessions that are.',
);

export const MaintenanceRunBody = contract(
  'MaintenanceRunBody',
  z.strictObject({
    started_at: dateTime,
    finished_at: dateTime,
    stage: z.string(),
    before_bytes: int64,
    after_bytes: int64,
    duration_s: z.number(),
    err: z.string().optional(),
    snapshot_path: z.string().optional(),
    cause: z.enum(['schedule', 'request']),
    skipped: z.enum(['disk_critical']).optional(),
    removed: MaintenanceRemoved,
    warnings: z.array(z.string()),
  }),
);
export type MaintenanceRunBody = z.infer<typeof MaintenanceRunBody>;

export const MaintenanceStatusBody = contract(
  'MaintenanceStatusBody',
  z.strictObject({
    enabled: z.boolean(),
    interval_seconds: int64,
    in_flight: z.boolean(),
    in_flight_start: dateTime.optional(),
    last_run: MaintenanceRunBody.optional(),
    next_scheduled: dateTime.optional(),
    history: z.array(MaintenanceRunBody).nullable(),
    disk: z.enum(['ok', 'warn', 'critical']),
  }),
);
export type MaintenanceStatusBody = z.infer<typeof MaintenanceStatusBody>;

export const MaintenanceStatusQuery = z.strictObject({ history: queryInt({ min: 1, max: 100, default: 16 }) });
export type MaintenanceStatusQuery = z.infer<typeof MaintenanceStatusQuery>;

export const MaintenanceTriggerBody = contract(
  'MaintenanceTriggerBody',
  z.strictObject({ accepted: z.boolean(), started_at: dateTime.optional(), run: MaintenanceRunBody.optional() }),
);
export type MaintenanceTriggerBody = z.infer<typeof MaintenanceTriggerBody>;

export const MaintenanceTriggerQuery = z.strictObject({ wait: queryBool() });
export type MaintenanceTriggerQuery = z.infer<typeof MaintenanceTriggerQuery>;
