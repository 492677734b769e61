import type { Api } from '../api.js';
import type { Io } from '../io.js';
import type { Session } from '../sessions/view.js';

/** What both ways to attach work with. */
export interface Attaching {
  readonly io: Io;
  /** One that tries again: whoever is attached stays over restarts of replicas. */
  readonly api: Api;
  readonly city: string;
  readonly name: string;
  /** Absent while the first message is still to make it. */
  readonly session: Session | undefined;
  readonly thinking: boolean;
  /** Entries of before that are shown. Absent with `session`: of one that the first message makes nothing was said before. */
  readonly tail: number | undefined;
  /** How the command is called. */
  readonly path: string;
}
