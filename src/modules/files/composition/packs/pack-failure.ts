import { GitFailure } from '../../../../platform/git/git-failure.js';
import { OutgoingRefused } from '../../../../platform/outgoing/outgoing-guard.js';
import type { RepositorySource } from './sources.js';

/**
 * `invalid_source`: no pack may come from there. `invalid_constraint`: no version can be what is asked for.
 * `credentials_required`: the host wants to know who asks. `lookup_failed`: the versions cannot be listed.
 * `install_failed`: the files cannot be fetched or kept.
 */
export type PackFailureCode = 'invalid_source' | 'invalid_constraint' | 'credentials_required' | 'lookup_failed' | 'install_failed';

/** A pack that cannot be installed; the message names the import and says why, and holds no secret. */
export class PackFailure extends Error {
  override readonly name = 'PackFailure';
  readonly host: string | undefined;
  readonly repository: string | undefined;
  /** What its owner can do. */
  readonly hint: string | undefined;

  constructor(
    readonly code: PackFailureCode,
    message: string,
    details: { readonly source?: RepositorySource; readonly hint?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: details.cause });
    this.host = details.source?.host;
    this.repository = details.source?.url;
    this.hint = details.hint;
  }
}

/** What a failed call to a repository means for the pack that is in it. @param code of what has no code of its own */
export function packFailure(error: unknown, source: RepositorySource, code: 'lookup_failed' | 'install_failed'): unknown {
  if (error instanceof OutgoingRefused)
    return new PackFailure(error.reason === 'forbidden' ? 'invalid_source' : code, `${source.id}: ${error.message}`, {
      source,
      cause: error,
    });
  if (!(error instanceof GitFailure)) return error;
  if (error.reason !== 'credentials') return new PackFailure(code, `${source.id}: ${error.message}`, { source, cause: error });
  const hint =
    source.transport === 'ssh'
      ? 'the operator names a key that this host knows under [[git.credentials]] of host.toml'
      : 'the operator names a credential for this host under [[git.credentials]] of host.toml, or renews the one that is there';
  return new PackFailure('credentials_required', `${source.id}: ${error.message}`, { source, hint, cause: error });
}
