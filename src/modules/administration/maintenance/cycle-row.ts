import type { MaintenanceSettings } from './settings.js';

/** What workers hear when a cycle waits. */
export const MAINTENANCE_TOPIC = 'maintenance';
/** Who does it, as events say. */
export const SUPERVISOR = 'supervisor';

/** What a cycle has taken away, by what it was. */
export interface Removed {
  readonly runs: number;
  readonly sessions: number;
  readonly folders: number;
}

export const NOTHING_REMOVED: Removed = { runs: 0, sessions: 0, folders: 0 };

/** Where a cycle is, or has ended; those of the contract that there are here. */
export type Stage = 'prune' | 'maintenance' | 'done';

export interface CycleRow {
  readonly pk: number;
  readonly stream_id: number;
  readonly cause: 'schedule' | 'request';
  readonly settings: MaintenanceSettings;
  readonly state: 'queued' | 'running' | 'done';
  readonly worker: string | null;
  /** When it was asked for, which is when it counts as started. */
  readonly created_at: Date;
  /** When a worker began with it. */
  readonly begun_at: Date | null;
  readonly finished_at: Date | null;
  readonly stage: Stage;
  readonly error: string | null;
  readonly skipped: 'disk_critical' | null;
  readonly before_bytes: number;
  readonly after_bytes: number;
  readonly live_rows: number;
  readonly removed: Partial<Removed>;
  readonly warnings: readonly string[];
}

/** What has come of a cycle. */
export interface CycleEnd {
  readonly stage: Stage;
  /** It has failed, in `stage`. */
  readonly error?: string;
  readonly skipped?: 'disk_critical';
  readonly beforeBytes?: number;
  readonly afterBytes?: number;
  readonly liveRows?: number;
  readonly removed?: Removed;
  /** It has removed as much as one cycle may: more may be left. */
  readonly more?: boolean;
  readonly warnings?: readonly string[];
}

/** A city that cycles are for. */
export interface KeptCity {
  readonly id: number;
  readonly name: string;
  readonly path: string;
  readonly running: boolean;
}

/** Seconds in which a worker was at it. */
export function secondsOf({ begun_at: begun, finished_at: finished }: Pick<CycleRow, 'begun_at' | 'finished_at'>): number {
  return begun === null || finished === null ? 0 : (finished.getTime() - begun.getTime()) / 1_000;
}
