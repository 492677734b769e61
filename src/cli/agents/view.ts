import type { Schemas } from '../api.js';
import { moment } from '../duration.js';
import type { Io } from '../io.js';
import { restFact, restLine, type Rest } from '../sessions/rest.js';
import { startLine } from '../sessions/starts.js';
import { facts, table } from '../table.js';

export type Agent = Schemas['AgentResponse'];

/** What an agent does, or why it cannot. */
function note(agent: Agent): string {
  if (!agent.available && !agent.suspended) return agent.unavailable_reason ?? 'not available';
  if (agent.rest !== undefined) return restOf(agent.rest, restLine);
  if (agent.starting !== undefined) return agent.starting.detail === undefined ? 'starting' : `starting, ${startLine(agent.starting)}`;
  // The state says it already.
  return (agent.activity === agent.state ? undefined : agent.activity) ?? agent.description ?? '';
}

/** What rests, until when, what ends it, and why. */
function restOf(rest: NonNullable<Agent['rest']>, tell: (rest: Rest, session?: string) => string): string {
  const line = tell(rest, rest.session_id);
  return rest.detail === undefined ? line : `${line}: ${rest.detail}`;
}

export function agentTable(agents: readonly Agent[], io: Io): string {
  const rows = agents.map((agent) => [
    agent.name,
    agent.state,
    agent.provider ?? '',
    agent.pack ?? '',
    agent.active_bead ?? '',
    ...(io.wide === true ? [agent.model ?? '', agent.rig ?? '', agent.pool ?? '', agent.session?.name ?? ''] : []),
    note(agent),
  ]);
  const wide = io.wide === true ? ['MODEL', 'RIG', 'POOL', 'SESSION'] : [];
  return table(['AGENT', 'STATE', 'PROVIDER', 'PACK', 'BEAD', ...wide, 'NOTE'], rows, io);
}

/** `yes, by the files` or `no, resumed by hand`: what counts and who said so. */
export function suspension(thing: { suspended: boolean; suspended_declared?: boolean; suspended_runtime?: boolean | null }): string {
  const { suspended, suspended_declared: declared, suspended_runtime: switched } = thing;
  const answer = suspended ? 'yes' : 'no';
  if (switched === undefined || switched === null) return declared === true ? `${answer}, by the files` : answer;
  return `${answer}, ${switched ? 'suspended' : 'resumed'} by hand${declared === undefined || declared === switched ? '' : ` (the files say ${declared ? 'yes' : 'no'})`}`;
}

export function agentDetails(agent: Agent): string {
  const { session } = agent;
  return facts([
    ['name', agent.name],
    ['about', agent.description],
    ['state', agent.state],
    ['rests', agent.rest === undefined ? undefined : restOf(agent.rest, restFact)],
    ['starting', agent.starting === undefined ? undefined : startLine(agent.starting)],
    ['suspended', suspension(agent)],
    ['available', agent.available ? undefined : `no: ${agent.unavailable_reason ?? 'for an unknown reason'}`],
    ['provider', agent.provider],
    ['called', agent.display_name],
    ['model', agent.model],
    ['rig', agent.rig],
    ['pool', agent.pool],
    ['pack', agent.pack_derived ? (agent.pack ?? 'yes') : undefined],
    ['bead', agent.active_bead],
    ['doing', agent.activity],
    ['context', agent.context_pct === undefined ? undefined : `${agent.context_pct} % used`],
    ['session', session === undefined ? undefined : `${session.name}${session.attached ? ', attached' : ''}`],
    ['active', session?.last_activity === undefined ? undefined : moment(session.last_activity)],
    ['last output', agent.last_output],
  ]);
}
