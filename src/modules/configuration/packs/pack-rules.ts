import { problem } from '../../../contract/problems.js';
import { GitFailure } from '../../../platform/git/git-failure.js';
import { OutgoingRefused } from '../../../platform/outgoing/outgoing-guard.js';
import type { PackFailure } from '../../files/composition/packs/pack-failure.js';
import { InvalidSource, parseSource, type BuiltinSource, type RepositorySource } from '../../files/composition/packs/sources.js';
import { InvalidConstraint, parseConstraint } from '../../files/composition/packs/versions.js';
import type { PackAddInputBody } from './packs.schemas.js';

const BINDING = /^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$/;
/** What the other end is to blame for, and may be over with the next try. */
const ELSEWHERE = new Set(['not_found', 'redirected', 'unreachable', 'timeout', 'aborted', 'failed']);

export interface PackToAdd {
  readonly source: BuiltinSource | RepositorySource;
  readonly name: string;
  readonly version: string | undefined;
}

/** What a request may add. @throws ProblemError invalid_request */
export function packToAdd({ source, name, version }: PackAddInputBody): PackToAdd {
  const parsed = sourceOf(source);
  const binding = name === undefined || name === '' ? derived(parsed) : name;
  if (!BINDING.test(binding))
    throw problem(
      'invalid_request',
      name === undefined || name === ''
        ? 'no name follows from the source; give one'
        : 'the name must begin with a letter or a digit, go on with letters, digits, "_" or "-", and have at most 64 characters',
      { at: 'body.name', value: binding },
    );
  const wanted = version === undefined || version.trim() === '' ? undefined : version.trim();
  if (wanted !== undefined && parsed.kind === 'builtin')
    throw problem('invalid_request', 'a pack that is shipped has no versions to choose', { at: 'body.version', value: wanted });
  if (wanted !== undefined) checkVersion(wanted);
  return { source: parsed, name: binding, version: wanted };
}

function sourceOf(written: string): BuiltinSource | RepositorySource {
  try {
    const source = parseSource(written);
    if (source.kind === 'local' || (source.kind === 'repository' && source.transport === 'file'))
      throw new InvalidSource('a directory is imported by writing it into pack.toml: [imports.NAME] with source = "./DIRECTORY"');
    if (source.kind === 'repository' && source.ref !== undefined)
      throw new InvalidSource('what follows "#" is given as version: a constraint or sha:<commit>');
    return source;
  } catch (error) {
    if (!(error instanceof InvalidSource)) throw error;
    throw problem('invalid_request', `invalid import source: ${error.message}`, { at: 'body.source', cause: error });
  }
}

function checkVersion(version: string): void {
  try {
    parseConstraint(version);
  } catch (error) {
    if (!(error instanceof InvalidConstraint)) throw error;
    throw problem('invalid_request', `invalid version: ${error.message}`, { at: 'body.version', cause: error });
  }
}

function derived(source: BuiltinSource | RepositorySource): string {
  if (source.kind === 'builtin') return source.name;
  return source.id.slice(source.id.lastIndexOf('/') + 1);
}

/** A failed installation in the words of the contract. */
export function problemOf(failure: PackFailure): Error {
  const { code, message, host, repository, hint, cause } = failure;
  const options = { cause: failure };
  if (code === 'invalid_source') return problem('invalid_request', `invalid import source: ${message}`, { ...options, at: 'body.source' });
  if (code === 'invalid_constraint') return problem('invalid_request', `invalid version: ${message}`, { ...options, at: 'body.version' });
  if (code === 'credentials_required') {
    const told = { 'body.host': host, 'body.repo': repository, 'body.hint': hint };
    const errors = Object.entries(told).flatMap(([location, text]) => (text === undefined ? [] : [{ location, message: text }]));
    return problem('pack_credential_required', message, { ...options, errors });
  }
  if (code === 'lookup_failed') return problem('bad_gateway', `version lookup failed: ${message}`, options);
  if (cause instanceof OutgoingRefused || (cause instanceof GitFailure && ELSEWHERE.has(cause.reason)))
    return problem('bad_gateway', `pack install failed: ${message}`, options);
  const ours = cause instanceof Error && ('code' in cause || (cause instanceof GitFailure && cause.reason === 'unavailable'));
  if (ours) return problem('dependency_missing', `pack install failed: ${message}`, options);
  return problem('validation_failed', `pack install failed: ${message}`, { ...options, at: 'body.source' });
}
