import { may, type Principal } from '../../../../contract/principal.js';
import { problem, type ProblemError } from '../../../../contract/problems.js';
import type { ServiceDefinition } from '../service-definition.js';

/** What the rules of access look at. */
export interface Asking {
  readonly method: string;
  readonly upgrade: boolean;
  /** The header that pages of other sites cannot send. */
  readonly marked: boolean;
  /** The caller is on this host. */
  readonly near: boolean;
  readonly caller: Principal;
  /** The caller has shown a good key or token. */
  readonly identified: boolean;
}

export interface Place {
  /** Mutations are refused here. */
  readonly readOnly: boolean;
  readonly needsKey: boolean;
}

const CHANGES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Why somebody may not reach a service; undefined when they may. Who reads a `direct` one is its own business; where keys are asked for,
 * they are asked for whatever changes something, whosever service it is.
 */
export function refusal({ publishMode, allowWebsockets }: ServiceDefinition, asking: Asking, place: Place): ProblemError | undefined {
  return (publishMode === 'direct' ? directly(asking, place) : privately(asking, place)) ?? websockets(asking, allowWebsockets);
}

function directly({ method, caller, identified }: Asking, { needsKey }: Place): ProblemError | undefined {
  if (!needsKey || !CHANGES.has(method)) return undefined;
  return identified ? unlessOperates(caller) : noKey();
}

function privately({ method, upgrade, marked, near, caller, identified }: Asking, { readOnly, needsKey }: Place): ProblemError | undefined {
  if (needsKey && !identified) return noKey();
  // What is said on a connection of its own may change anything.
  const changes = CHANGES.has(method) || upgrade;
  if (readOnly && changes) return problem('read_only', 'service mutations are disabled for unpublished services');
  // Who has shown a key has shown more than that he is no page of another site.
  if (!near && !marked && !identified) return problem('not_found', 'service route not found');
  if (CHANGES.has(method) && !marked) return problem('csrf', 'X-SVC-Request header required on private service mutation endpoints');
  return changes ? unlessOperates(caller) : undefined;
}

function noKey(): ProblemError {
  return problem('unauthorized', 'an API key is required: Authorization: Bearer svc_…', { headers: { 'www-authenticate': 'Bearer' } });
}

function unlessOperates(caller: Principal): ProblemError | undefined {
  return may(caller, 'operate') ? undefined : problem('forbidden', 'the API key lacks the right "operate"');
}

function websockets({ upgrade }: Asking, allowed: boolean): ProblemError | undefined {
  return upgrade && !allowed ? problem('forbidden', 'the service takes no WebSockets: publication.allow_websockets is not set') : undefined;
}
