import { createHash } from 'node:crypto';
import { problem, type ProblemField } from '../../../contract/problems.js';
import { canonicalJson } from '../../../platform/idempotency/canonical-json.js';
import type { CityConfig, RigConfig } from '../../files/composition/city-config.js';
import { InvalidSource, parseSource, type RepositorySource } from '../../files/composition/packs/sources.js';
import type { RigCreateBody } from './rigs.schemas.js';

const NAME = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/;
const REQUEST_ID = /^[A-Za-z0-9._~:-]{8,200}$/;
const PREFIX = /^[a-zA-Z][a-zA-Z0-9]{0,11}$/;
/** As git has branches, without what an option parser could take for its own. */
const BRANCH = /^(?![-./])(?!.*(?:\.\.|\/\/|@\{|\.lock(?:\/|$)|[./]$))[A-Za-z0-9._/+@#=,%-]{1,200}$/;

/** A request to make a rig, checked and with empty members left out. */
export interface RigRequest {
  readonly name: string;
  readonly path: string | undefined;
  /** In lower case. */
  readonly prefix: string | undefined;
  readonly defaultBranch: string | undefined;
  readonly source: RepositorySource | undefined;
  readonly requestId: string | undefined;
}

/** @throws ProblemError invalid_request */
export function rigRequest(body: RigCreateBody): RigRequest {
  const { name } = body;
  if (!NAME.test(name) || isLiteral(name))
    throw problem('invalid_request', 'invalid rig name: must be 1-64 chars of [A-Za-z0-9._-], not . or .. and not a bare JSON literal', {
      at: 'body.name',
      value: name,
    });
  const requestId = filled(body.request_id);
  if (requestId !== undefined && (!REQUEST_ID.test(requestId) || isLiteral(requestId)))
    throw problem('invalid_request', 'invalid request_id: must be 8-200 chars of [A-Za-z0-9._~:-] and not a bare JSON literal', {
      at: 'body.request_id',
    });
  const url = filled(body.git_url);
  return {
    name,
    path: filled(body.path),
    prefix: prefixIn(body.prefix),
    defaultBranch: branchIn(body.default_branch),
    source: url === undefined ? undefined : repository(url),
    requestId,
  };
}

/** A text that says something. */
export function filled(value: string | undefined): string | undefined {
  const trimmed = value?.trim();
  return trimmed === '' ? undefined : trimmed;
}

/** @throws ProblemError invalid_request */
export function prefixIn(value: string | undefined): string | undefined {
  const prefix = filled(value);
  if (prefix !== undefined && !PREFIX.test(prefix))
    throw problem('invalid_request', 'invalid prefix: must be a letter and up to 11 letters or digits', {
      at: 'body.prefix',
      value: prefix,
    });
  return prefix?.toLowerCase();
}

/** @throws ProblemError invalid_request */
export function branchIn(value: string | undefined): string | undefined {
  const branch = filled(value);
  if (branch !== undefined && !BRANCH.test(branch))
    throw problem('invalid_request', 'invalid default_branch: it is no name that a branch can have', {
      at: 'body.default_branch',
      value: branch,
    });
  return branch;
}

/** Tells a repeated request from another one under the same id. */
export function digestOf({ request_id: _, ...body }: RigCreateBody): string {
  const trimmed = Object.fromEntries(Object.entries(body).map(([key, value]) => [key, value?.trim()]));
  return createHash('sha256').update(canonicalJson(trimmed)).digest('hex');
}

/**
 * Refuses a prefix that ids of another rig, or of the city itself, begin with. `used` are all rigs with their prefixes;
 * the city is the rig ''.
 *
 * @throws ProblemError conflict
 */
export function requireFreePrefix(
  prefix: string | undefined,
  name: string,
  used: readonly { readonly name: string; readonly prefix: string }[],
): void {
  const owner = used.find((other) => other.name !== name && other.prefix === prefix);
  if (owner === undefined) return;
  throw problem('conflict', `prefix "${prefix}" belongs to ${owner.name === '' ? 'the city' : `rig "${owner.name}"`}`, {
    errors: [{ location: 'body.prefix', message: 'is in use' }],
  });
}

export function findRig(config: CityConfig, name: string): RigConfig | undefined {
  return config.rigs.find((rig) => rig.name === name);
}

/** @throws ProblemError rig_not_found */
export function requireRig(config: CityConfig, name: string): RigConfig {
  const rig = findRig(config, name);
  if (rig === undefined) throw noRig(name);
  return rig;
}

export function noRig(name: string): Error {
  return problem('rig_not_found', `rig ${name} not found`);
}

export function nameTaken(name: string, claim?: { readonly requestId: string; readonly eventCursor: string }): Error {
  const errors = [field('code', 'rig_name_conflict'), field('name', name)];
  if (claim !== undefined) errors.push(field('in_flight_request_id', claim.requestId), field('event_cursor', claim.eventCursor));
  return problem('conflict', `rig "${name}" already exists or is being provisioned`, { errors });
}

export function requestIdTaken(requestId: string): Error {
  const errors = [field('code', 'request_id_conflict'), field('request_id', requestId)];
  return problem('conflict', `request_id "${requestId}" reused with a different request body`, { errors });
}

function field(name: string, value: string): ProblemField {
  return { location: `body.${name}`, message: value, value };
}

/** Texts such as `true` or `12345678` are values of another type to many tools. */
function isLiteral(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function repository(url: string): RepositorySource {
  try {
    const source = parseSource(url);
    if (source.kind !== 'repository' || source.transport === 'file')
      throw new InvalidSource(
        'only https and ssh addresses are cloned; clone another repository to rigs/<name> of the city yourself, and leave the url out',
      );
    if (source.folder !== '' || source.ref !== undefined)
      throw new InvalidSource('it names a folder or a version; a rig is a whole repository');
    return source;
  } catch (error) {
    if (!(error instanceof InvalidSource)) throw error;
    throw problem('invalid_request', `invalid git_url: ${error.message}`, { at: 'body.git_url', cause: error });
  }
}
