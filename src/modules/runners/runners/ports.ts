import type { AgentRuntime, Transport } from '../../../platform/runtime/port.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { LaunchPlan } from '../../sessions/launch/launch.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';

/** What a runner has from outside and tests put stand-ins in place of. */

/** Everything needed to start one process. @throws StartError when it cannot be started as the configuration is. */
export abstract class LaunchPlans {
  abstract plan(city: CityScope, row: SessionRow, token: string | undefined): Promise<LaunchPlan>;
}

/** The adapter of a transport; undefined where this host has none. */
export abstract class AgentRuntimes {
  abstract of(transport: Transport): AgentRuntime | undefined;
}

/** Absent members match every value. */
export interface ProcessMarkers {
  readonly city?: string;
  readonly session?: string;
  readonly generation?: string;
}

export interface FoundProcess {
  readonly pid: number;
  readonly city: string | undefined;
  readonly session: string | undefined;
  readonly generation: string | undefined;
}

/** Of a start and those before it: a start that was given up may go on late, beside one that has come after it. */
export function upTo(generation: number): (found: FoundProcess) => boolean {
  return (found) => !(Number(found.generation) > generation);
}

/** Processes of agents on this host that belong to this database, found by what their environment says. */
export abstract class HostProcesses {
  abstract find(markers: ProcessMarkers): Promise<readonly FoundProcess[]>;
  /** Ends all of them, or those of `which`. @throws UnconfirmedDead when one cannot be confirmed to be gone. */
  abstract end(markers: ProcessMarkers, which?: (found: FoundProcess) => boolean): Promise<number>;
}
