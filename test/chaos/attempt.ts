/** One request that would change something. Repeats under one Idempotency-Key are several attempts with the same `key`. */
export interface Attempt {
  /** Unique a logical change; its repeats share it. */
  readonly marker: string;
  readonly city: string;
  readonly key?: string;
  readonly replica: string;
  readonly from: number;
  readonly to: number;
  /** `unknown`: no answer arrived, so it may or may not have happened. */
  readonly outcome: 'acknowledged' | 'refused' | 'unknown';
  readonly status?: number;
  readonly body?: string;
  readonly problem?: boolean;
}

/** Attempts by their marker. */
export function logical<A extends Attempt>(attempts: readonly A[]): Map<string, A[]> {
  const found = new Map<string, A[]>();
  for (const attempt of attempts) {
    const own = found.get(attempt.marker);
    if (own === undefined) found.set(attempt.marker, [attempt]);
    else own.push(attempt);
  }
  return found;
}
