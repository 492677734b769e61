import { sql, type RawBuilder } from 'kysely';

/** Has the reconciler look at the gates that wait for a run, some at a time. */
export function hurryGatesOf(streamId: number, run: string): RawBuilder<unknown> {
  return sql`
    update run_controls set due_at = clock_timestamp()
    where stream_id = ${streamId} and gate = 'run' and awaited = ${run} and armed_at is not null`;
}
