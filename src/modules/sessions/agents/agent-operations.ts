import type { ProblemName } from '../../../contract/problems.js';
import type { ResponseHeader } from '../../../platform/http/operation.js';

/** What the two addresses of an agent have in common. */
export const READ: readonly ResponseHeader[] = ['X-SVC-Index', 'X-SVC-Cache-Age-S'];
/** The entity tag of an edit is the revision of the configuration, which `If-Match` compares. */
export const EDITED: readonly ResponseHeader[] = ['X-SVC-Index', 'X-SVC-Cache-Age-S', 'ETag'];
export const EDIT_PROBLEMS: readonly ProblemName[] = [
  'city_not_found',
  'agent_not_found',
  'conflict',
  'wrong_state',
  'revision_mismatch',
  'dependency_missing',
  'unavailable',
];

export const UPDATED =
  'In the file that defines the agent; what patches of the city say of the same keys goes, so that the change counts. Agents of packs and ' +
  'those that come with a provider are refused, unless `patch` is true: then the change goes into the patch that the city has of the agent, ' +
  'or into a new one, and the answer is `patched`. `suspended` is what the files say: a switch that was set with `suspend` or ' +
  '`resume` still wins until `reset`. `If-Match` takes the revision of the configuration. An agent that is defined once for several rigs ' +
  'changes in all of them.';

export const ACTED =
  'A switch at run time that wins over what the files say; it works on every agent and changes no file. `reset` takes it away. ' +
  'Repeating an action changes nothing.';
