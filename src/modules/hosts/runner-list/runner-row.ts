import type { LimitsBy, Runner } from '../../../contract/runners.schemas.js';

export interface RunnerRow {
  readonly id: string;
  readonly host: string;
  readonly process_id: string;
  readonly state: 'active' | 'draining' | 'stopped' | 'lost';
  readonly capacity: number;
  readonly isolation: 'bubblewrap' | 'users' | 'none';
  readonly limits: LimitsBy | null;
  readonly sessions: number;
  readonly live: number;
  /** Seconds. */
  readonly age: number;
  readonly lease_until: Date;
  readonly registered_at: Date;
  readonly ended_at: Date | null;
}

export function toRunner({ age, limits, lease_until, registered_at, ended_at, ...row }: RunnerRow): Runner {
  return {
    ...row,
    ...(limits === null ? {} : { limits }),
    lease_age_s: Math.round(age * 1_000) / 1_000,
    lease_until: lease_until.toISOString(),
    registered_at: registered_at.toISOString(),
    ...(ended_at === null ? {} : { ended_at: ended_at.toISOString() }),
  };
}
