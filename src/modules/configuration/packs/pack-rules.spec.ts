import { describe, expect, it } from '@jest/globals';
import { ProblemError } from '../../../contract/problems.js';
import { GitFailure } from '../../../platform/git/git-failure.js';
import { OutgoingRefused } from '../../../platform/outgoing/outgoing-guard.js';
import { PackFailure, packFailure } from '../../files/composition/packs/pack-failure.js';
import { parseSource, type RepositorySource } from '../../files/composition/packs/sources.js';
import { packToAdd, problemOf } from './pack-rules.js';

const source = parseSource('https://example.org/team/base.git//core') as RepositorySource;

describe('packToAdd', () => {
  it('derives the name from the folder, else from the repository', () => {
    expect(packToAdd({ source: 'https://example.org/team/base.git//packs/core' }).name).toBe('core');
    expect(packToAdd({ source: 'git@example.org:team/base.git' }).name).toBe('base');
    expect(packToAdd({ source: 'builtin:core' })).toMatchObject({ name: 'core', source: { kind: 'builtin' } });
    expect(packToAdd({ source: 'https://example.org/x', name: 'other', version: ' ^1.2 ' })).toMatchObject({
      name: 'other',
      version: '^1.2',
    });
  });

  it.each([
    [{ source: 'packs/desk' }],
    [{ source: '/etc' }],
    [{ source: 'file:///srv/x' }],
    [{ source: 'https://user:secret@example.org/x' }],
    [{ source: 'https://example.org/x#main' }],
    [{ source: 'https://example.org/a.b' }],
    [{ source: 'https://example.org/x', name: 'default-rig:x' }],
    [{ source: 'https://example.org/x', name: '__proto__' }],
    [{ source: 'https://example.org/x', name: 'a/b' }],
    [{ source: 'https://example.org/x', version: 'latest' }],
    [{ source: 'builtin:core', version: '^1' }],
  ])('refuses %j', (body) => {
    expect(() => packToAdd(body)).toThrow(ProblemError);
    expect(() => packToAdd(body)).not.toThrow(/secret/);
  });
});

describe('problemOf', () => {
  const mapped = (cause: unknown, code: 'lookup_failed' | 'install_failed' = 'install_failed'): [string, number] => {
    const { problem, kind } = problemOf(packFailure(cause, source, code) as PackFailure) as ProblemError;
    return [problem, kind.status];
  };

  it('blames whose fault it is', () => {
    expect(mapped(new OutgoingRefused('forbidden', 'x'))).toEqual(['invalid_request', 400]);
    expect(mapped(new OutgoingRefused('unresolved', 'x'), 'lookup_failed')).toEqual(['bad_gateway', 502]);
    expect(mapped(new OutgoingRefused('unresolved', 'x'))).toEqual(['bad_gateway', 502]);
    expect(mapped(new GitFailure('timeout', 'x'), 'lookup_failed')).toEqual(['bad_gateway', 502]);
    expect(mapped(new GitFailure('unreachable', 'x'))).toEqual(['bad_gateway', 502]);
    expect(mapped(new GitFailure('too_large', 'x'))).toEqual(['validation_failed', 422]);
    expect(mapped(new GitFailure('unavailable', 'x'))).toEqual(['dependency_missing', 503]);
    const full = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    expect((problemOf(new PackFailure('install_failed', 'x', { cause: full })) as ProblemError).problem).toBe('dependency_missing');
    expect((problemOf(new PackFailure('invalid_constraint', 'x')) as ProblemError).problem).toBe('invalid_request');
  });

  it('names host, repository and remedy when credentials are missing', () => {
    const found = problemOf(packFailure(new GitFailure('credentials', 'x'), source, 'lookup_failed') as PackFailure) as ProblemError;
    expect(found.problem).toBe('pack_credential_required');
    expect(found.errors).toEqual([
      { location: 'body.host', message: 'example.org' },
      { location: 'body.repo', message: 'https://example.org/team/base.git' },
      { location: 'body.hint', message: expect.stringMatching(/^the operator names a credential for this host/) },
    ]);
  });
});
