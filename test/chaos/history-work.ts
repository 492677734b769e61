import type { Attempt } from './attempt.js';

/** A bead as answers and events show it; what the checks do not ask for stays in it all the same. */
export interface BeadView {
  readonly id: string;
  readonly title: string;
  readonly status: string;
  readonly issue_type: string;
  readonly revision: number;
  readonly assignee?: string;
  readonly parent?: string;
  readonly is_blocked?: boolean;
  readonly labels?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
  readonly dependencies?: readonly { readonly depends_on_id: string; readonly issue_id: string; readonly type: string }[];
}

export interface MessageView {
  readonly id: string;
  readonly subject: string;
  readonly read: boolean;
  /** Of what is read; events do not tell it. */
  readonly answerable?: false;
}

/** Who claims: slots of one agent's pool, and sessions of one agent. */
export interface Claimant {
  readonly agent: string;
  readonly session?: string;
}

export type ChangeKind =
  | 'bead.create'
  | 'bead.update'
  | 'bead.assign'
  | 'bead.close'
  | 'bead.reopen'
  | 'bead.remove'
  | 'bead.claim'
  | 'hook.claim'
  | 'bead.heartbeat'
  | 'bead.release'
  | 'edge.add'
  | 'edge.remove'
  | 'convoy.create'
  | 'convoy.add'
  | 'convoy.remove'
  | 'convoy.close'
  | 'run.launch'
  | 'run.cancel'
  | 'mail.send'
  | 'mail.reply'
  | 'mail.read'
  | 'mail.unread'
  | 'mail.archive'
  | 'mail.delete';

/** One attempt at a change of a city's work. Titles and subjects of what it makes, and values that it sets, are its marker. */
export interface Change extends Attempt {
  readonly kind: ChangeKind;
  /** The bead or message of the path. */
  readonly subject?: string;
  /** The other end of an edge, members of a convoy. */
  readonly others?: readonly string[];
  readonly type?: string;
  readonly assignee?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly claimant?: Claimant;
  readonly fence?: number;
  /** Of If-Match. */
  readonly expected?: number;
  /** Answered in X-SVC-Index. */
  readonly index?: number;
  /** Answered in ETag. */
  readonly revision?: number;
}

/** What a city's work was at a position of its log: as a list answered it, or as the rows were at the end. */
export interface WorkView {
  readonly city: string;
  /** The replica that answered, or `rows`. */
  readonly source: string;
  readonly index: number;
  readonly at: number;
  /** Revisions by id: all that is kept of a list that was read while harm was done. */
  readonly revisions?: Readonly<Record<string, number>>;
  readonly beads?: readonly BeadView[];
  /** Open blockers by id. */
  readonly blockers?: Readonly<Record<string, number>>;
  readonly mail?: readonly MessageView[];
  readonly archived?: readonly MessageView[];
  readonly counts?: { readonly total: number; readonly unread: number };
}
