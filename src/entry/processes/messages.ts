import type { Config } from '../../platform/config/config.js';
import type { IsolationKind } from '../../platform/isolation/isolation.js';

/** What a process is told that its environment does not say. */
export type Settings = Pick<
  Config,
  'role' | 'port' | 'databaseUrl' | 'databaseListenUrl' | 'ownDatabaseDir' | 'apiUrl' | 'logLevel' | 'processName' | 'poolSize'
>;

/** What stands between agents and the host. */
export interface Walls {
  readonly kind: IsolationKind;
  readonly why: string | undefined;
}

/** From whoever has started the processes to one of them. */
export type ToPart =
  | { readonly kind: 'begin'; readonly settings: Settings }
  | { readonly kind: 'stop' }
  /** Say what you measure. */
  | { readonly kind: 'measure'; readonly id: number }
  /** What all of them measure. */
  | { readonly kind: 'gathered'; readonly texts: readonly string[] };

/** Back. */
export type FromPart =
  | { readonly kind: 'ready'; readonly walls: Walls; readonly stopMs: number }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'measured'; readonly id: number; readonly text: string }
  | { readonly kind: 'gather' };
