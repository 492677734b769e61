import type { RigConfig } from '../../files/composition/city-config.js';
import type { GitStatus, RigResponse } from './rigs.schemas.js';

/** What is known of a rig beside its definition. */
export interface RigFacts {
  readonly prefix: string | undefined;
  /** The switch that somebody set; undefined when the files count. */
  readonly switched: boolean | undefined;
  readonly lastActivity: Date | undefined;
  /** The places of its agents, and those in which somebody runs. */
  readonly places: { readonly total: number; readonly running: number };
  /** Undefined when nobody asked, and when git could not say. */
  readonly git: GitStatus | undefined;
}

export function toRig(rig: RigConfig, { prefix, switched, lastActivity, places, git }: RigFacts): RigResponse {
  const { name, suspended_on_start: declared, default_branch: branch } = rig;
  return {
    name,
    path: rig.path ?? '',
    suspended: switched ?? declared,
    suspended_declared: declared,
    suspended_runtime: switched ?? null,
    agent_count: places.total,
    running_count: places.running,
    ...(branch === undefined ? {} : { default_branch: branch }),
    ...(git === undefined ? {} : { git }),
    ...(lastActivity === undefined ? {} : { last_activity: lastActivity.toISOString() }),
    ...(prefix === undefined ? {} : { prefix }),
  };
}
