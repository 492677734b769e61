import type { AgentConfig, NamedSessionConfig, ProviderOption, ProviderSpec } from '../../files/composition/city-config.js';
import type { StartSpec, Transport } from '../../../platform/runtime/port.js';
import type { Preparation } from '../../../platform/runtime/preparation/preparation.js';

/** What a session is made from: an agent, or a bare provider, of one configuration. */
export interface Template {
  readonly kind: 'agent' | 'provider';
  /** Qualified. */
  readonly name: string;
  readonly agent?: AgentConfig | undefined;
  readonly rig: string;
  readonly provider: string;
  readonly spec: ProviderSpec;
  /** The preset whose program is started; a host is ready for it or not. Absent for a command of one's own. */
  readonly preset?: string | undefined;
  readonly transport: Transport;
  readonly optionSchema: readonly ProviderOption[];
  /** Schema, provider and agent defaults, in that order. */
  readonly optionDefaults: Readonly<Record<string, string>>;
  readonly title: string;
  /** Whether it has more than one session at a time. */
  readonly isPool: boolean;
  readonly named?: NamedSessionConfig | undefined;
}

/** Hashes of what a process was started with, by the name of the part: `command`, `env.NAME`, `options.model` … */
export type Parts = Readonly<Record<string, string>>;

/** Everything that a runner needs to start one process of a session. */
export interface LaunchPlan {
  readonly spec: Omit<StartSpec, 'resume'>;
  readonly transport: Transport;
  /** What this host does around the start; absent where there is nothing to do, or where a script does it. */
  readonly preparation?: Preparation | undefined;
  /** What a new conversation begins with; absent when there is nothing to say. */
  readonly prompt?: string | undefined;
  readonly workDir: string;
  /** Hash of all that a running process would have to be started again for. Credentials of the environment are no part of it. */
  readonly fingerprint: string;
  /** A hash for each part of it, by the part's name. */
  readonly parts: Parts;
  /** What the city says of how many crashes within which time quarantine a session; Infinity for no limit. */
  readonly restarts: { readonly maxCrashes?: number; readonly crashWindowMs?: number };
}
