import type { Bead } from '../../../contract/beads.schemas.js';

export type BeadStatus = 'open' | 'in_progress' | 'closed';

/** Types of the edges that hold a bead up. */
export const BLOCKING: readonly string[] = ['blocks', 'waits-for', 'conditional-blocks'];

/** Which step it was skipped for, as its run says: who skips one himself says nothing of it. */
export const SKIPPED_FOR = 'gc.skipped_for';

/** A bead as its row stands, with what is derived from it. */
export interface BeadRecord {
  readonly id: string;
  /** Empty for the city's own. */
  readonly rig: string;
  readonly title: string;
  readonly status: BeadStatus;
  readonly issue_type: string;
  readonly priority: number | null;
  readonly assignee: string | null;
  readonly parent: string | null;
  readonly description: string | null;
  readonly labels: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly defer_until: Date | null;
  /** Blocking dependencies whose target is not closed. */
  readonly open_blockers: number;
  readonly revision: number;
  /** Rises whenever the bead changes hands; a claimant that knows an older value has lost it. */
  readonly claim_fence: number;
  readonly lease_ms: number | null;
  readonly lease_until: Date | null;
  readonly sling_source: string | null;
  /** The run that it is part of: the id of its root. */
  readonly run_id: string | null;
  /** The step of the recipe that it stands for. */
  readonly ref: string | null;
  readonly created_at: Date;
  readonly ready: boolean;
  /** As clients see it. */
  readonly snapshot: Bead;
}

export interface NewBead {
  /** Empty for the city's own. */
  readonly rig: string;
  readonly title: string;
  readonly type?: string | undefined;
  readonly priority?: number | undefined;
  readonly assignee?: string | undefined;
  readonly author?: string | undefined;
  readonly description?: string | undefined;
  readonly labels?: readonly string[] | undefined;
  readonly parent?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly deferUntil?: Date | undefined;
  readonly ephemeral?: boolean | undefined;
  readonly noHistory?: boolean | undefined;
  readonly slingSource?: string | undefined;
}

/** A bead that is made together with others; its id comes from `Work.reserve`. */
export interface ReservedBead extends Pick<
  NewBead,
  'rig' | 'title' | 'type' | 'priority' | 'assignee' | 'description' | 'labels' | 'parent' | 'metadata' | 'slingSource'
> {
  readonly id: string;
  /** Of a bead of a run, the id of the run's root. */
  readonly runId?: string | undefined;
  readonly ref?: string | undefined;
}

/** A bead of a run. */
export interface NewRunBead extends ReservedBead {
  readonly runId: string;
  readonly ref: string;
}

/** What to change; absent members stay as they are. */
export interface BeadChange {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly type?: string | undefined;
  readonly status?: BeadStatus | undefined;
  readonly priority?: number | undefined;
  /** Null takes it from whoever has it. */
  readonly assignee?: string | null | undefined;
  /** The other assignee is the same one under another name: the bead changes no hands, and what is under way goes on under its claim. */
  readonly sameOwner?: boolean | undefined;
  readonly parent?: string | null | undefined;
  readonly deferUntil?: Date | null | undefined;
  /** The whole set; `addLabels` and `removeLabels` apply afterwards, in this order. */
  readonly labels?: readonly string[] | undefined;
  readonly addLabels?: readonly string[] | undefined;
  readonly removeLabels?: readonly string[] | undefined;
  /** Merged key by key; an empty value takes the key away. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly lease?: { readonly ms: number } | undefined;
}

export interface Edge {
  readonly issue_id: string;
  readonly depends_on_id: string;
  readonly type: string;
}

/** A step of a run that was skipped by it, or that keeps others from being done: it has failed, or somebody has skipped it himself. */
export interface LeftOut {
  readonly id: string;
  readonly ref: string | null;
  /** By its run. */
  readonly skipped: boolean;
  /** The step whose end has it skipped; null where the release before has. */
  readonly by: string | null;
  /** That step, as the reason has it. */
  readonly told: string | null;
  /** It has made rounds or items. */
  readonly begun: boolean;
  readonly cleans: boolean;
  /** The scope that a skipped one is a part of, by its ref. */
  readonly scope: string | null;
  /** But for its own rounds. */
  readonly needs: readonly string[];
}
