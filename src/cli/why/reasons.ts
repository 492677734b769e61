/** One thing that is waited for: until when, and what would end it. */
export interface Reason {
  readonly what: string;
  /** RFC 3339; undefined where no time ends it. */
  readonly until?: string;
  /** What would end it: commands, or what has to happen. */
  readonly ends: readonly string[];
}

/** Why something is as it is. */
export interface Why {
  readonly kind: 'agent' | 'bead' | 'session' | 'convoy';
  readonly id: string;
  readonly state: string;
  readonly reasons: readonly Reason[];
}

export function reason(what: string, ends: readonly string[] = [], until?: string): Reason {
  return { what, ends, ...(until === undefined ? {} : { until }) };
}
