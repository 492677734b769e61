import type { components } from '../../../src/client/api.gen.js';

export type Schemas = components['schemas'];
export type Bead = Schemas['Bead'];
export type City = Schemas['CityInfo'];
export type Session = Schemas['SessionResponse'];
export type Ask = Schemas['SupervisorPendingEntry'];
export type InboxItem = Schemas['InboxEntry'];
export type Info = Schemas['SupervisorInfo'];

/** An event of any kind, as streams and lists have it. */
export interface LoggedEvent {
  readonly seq: number;
  readonly ts: string;
  readonly type: string;
  readonly actor: string;
  readonly subject?: string;
  readonly session_id?: string;
  readonly run_id?: string;
  readonly step_id?: string;
  readonly message?: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** In streams of the supervisor. */
  readonly city?: string;
  /** The log that `seq` counts in. */
  readonly stream?: string;
}
