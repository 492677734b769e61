import { parseDuration } from '../../../contract/duration.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { LEAST_INTERVAL_MS, LEAST_SESSIONS_MS } from '../../files/composition/compose/maintenance.js';

/** What a city that wants maintenance says about it. Times are milliseconds. */
export interface MaintenanceSettings {
  /** `[maintenance.dolt] interval`: from one cycle to the next. */
  readonly intervalMs: number;
  /** `[maintenance.dolt] gc_timeout`: how long a cycle may work. */
  readonly timeoutMs: number;
  /** `[maintenance.dolt] alert_to`: who gets a mail when a cycle has failed. */
  readonly alertTo?: string;
  /** `[daemon] wisp_ttl`, with `wisp_gc_interval`: how long a run is kept after its end. Absent: for ever. */
  readonly runsMs?: number;
  /** `[maintenance] closed_session_ttl`: how long a session is kept after it was closed, with its transcript. Absent: for ever. */
  readonly sessionsMs?: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** undefined for a city without `[maintenance.dolt] enabled = true`. */
export function maintenanceSettings(config: CityConfig): MaintenanceSettings | undefined {
  const maintenance = tableOf(config.maintenance);
  const dolt = tableOf(maintenance.dolt);
  if (dolt.enabled !== true) return undefined;
  const daemon = tableOf(config.daemon);
  const alertTo = typeof dolt.alert_to === 'string' ? dolt.alert_to.trim() : '';
  const runsMs = positive(daemon.wisp_gc_interval) === undefined ? undefined : positive(daemon.wisp_ttl);
  const sessionsMs = positive(maintenance.closed_session_ttl);
  return {
    intervalMs: Math.max(LEAST_INTERVAL_MS, positive(dolt.interval) ?? 7 * DAY),
    timeoutMs: positive(dolt.gc_timeout) ?? 10 * MINUTE,
    ...(alertTo === '' ? {} : { alertTo }),
    ...(runsMs === undefined ? {} : { runsMs }),
    ...(sessionsMs === undefined ? {} : { sessionsMs: Math.max(LEAST_SESSIONS_MS, sessionsMs) }),
  };
}

/** Late by more than half an interval, or never done: at once; else an interval after the last one, a tenth sooner or later. */
export function nextAfter({ intervalMs }: MaintenanceSettings, last: Date | undefined, now: Date, random = Math.random()): Date {
  if (last === undefined || now.getTime() - last.getTime() > 1.5 * intervalMs) return now;
  return new Date(Math.max(now.getTime(), last.getTime() + spread(intervalMs, random)));
}

/** What has failed, or has left something, is gone on with sooner than in a week. */
export function nextAfterEnd({ intervalMs }: MaintenanceSettings, unfinished: boolean, now: Date, random = Math.random()): Date {
  return new Date(now.getTime() + spread(unfinished ? Math.min(intervalMs, HOUR) : intervalMs, random));
}

const spread = (ms: number, random: number): number => ms * (0.9 + 0.2 * random);

function tableOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function positive(value: unknown): number | undefined {
  const ms = typeof value === 'string' && value !== '' ? parseDuration(value) : undefined;
  return ms !== undefined && ms > 0 ? ms : undefined;
}
