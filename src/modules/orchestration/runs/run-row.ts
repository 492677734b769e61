import type { BeadRecord } from '../../work/work/bead-record.js';
import { whyNotEnded } from '../../work/work/held.js';
import type { Work } from '../../work/work/work.js';

export type RunStatus = 'pending' | 'active' | 'waiting' | 'canceling' | 'completed' | 'failed' | 'canceled' | 'skipped';
export type RunOutcome = 'pass' | 'fail' | 'skipped' | 'canceled';
export type LaunchedBy = 'sling' | 'order' | 'molecule';

/** A run as its row stands; `status` follows from the rest of it. */
export interface RunRow {
  /** The id of its root bead. */
  readonly id: string;
  readonly formula: string;
  readonly formula_sha256: string;
  /** 1: a tree whose steps agents close. 2: a graph that the service drives. */
  readonly compiler: 1 | 2;
  /** It has no steps but its root. */
  readonly root_only: boolean;
  readonly launched_by: LaunchedBy;
  readonly title: string;
  /** Whose formulas it came from, '' for the city. */
  readonly rig: string;
  readonly target: string | null;
  /** The bead or convoy that it is attached to. */
  readonly source_id: string | null;
  /** The input of one of the second compiler. */
  readonly convoy_id: string | null;
  readonly vars: Readonly<Record<string, string>>;
  /** The names of the session that has launched it; null for people and orders. */
  readonly asked_by: readonly string[] | null;
  readonly steps: number;
  readonly active: number;
  readonly closed: number;
  readonly gates: number;
  readonly outcome: RunOutcome | null;
  readonly error_code: string | null;
  readonly error_message: string | null;
  readonly started_at: Date;
  readonly updated_at: Date;
  readonly finished_at: Date | null;
  readonly status: RunStatus;
}

/** What a launch says of a run; everything else begins as it always does. */
export type NewRun = Pick<
  RunRow,
  | 'id'
  | 'formula'
  | 'formula_sha256'
  | 'compiler'
  | 'root_only'
  | 'launched_by'
  | 'title'
  | 'rig'
  | 'target'
  | 'source_id'
  | 'convoy_id'
  | 'vars'
  | 'asked_by'
  | 'steps'
  | 'gates'
>;

type Ended = Pick<BeadRecord, 'id' | 'assignee' | 'issue_type' | 'run_id' | 'open_blockers'>;

/** Why the end of a run that a session has launched does not end one of these beads: it is somebody else's, or the session may not close it itself. */
export async function whyLeft(
  work: Work,
  { asked_by: names }: Pick<RunRow, 'asked_by'>,
  beads: readonly Ended[],
): Promise<string | undefined> {
  if (names === null) return undefined;
  const other = beads.find(({ assignee }) => assignee !== null && !names.includes(assignee));
  return other === undefined ? whyNotEnded(work, beads) : `${other.id} is assigned to ${other.assignee}`;
}
