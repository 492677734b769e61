import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ApiProblem } from '../../client/problems.js';
import { ProblemError } from '../../contract/problems.js';
import { AuditedRequest, onBehalfOf, type AuditEntry } from '../audit/audited-request.js';
import { createDb, createPool } from './database.js';
import { CommitUnknown, isRetryable, ofCommit, toProblem } from './pg-errors.js';

describe('errors of a database that this process has closed', () => {
  const failure = async (work: () => Promise<unknown>): Promise<unknown> =>
    work().then(
      () => undefined,
      (error: unknown) => error,
    );

  it('are a 503 for a client, and nothing to try again here', async () => {
    const pool = createPool('postgres://nobody@127.0.0.1:1/nothing');
    const db = createDb(pool);
    await db.destroy();
    if (!pool.ending) await pool.end();
    const errors = [await failure(() => pool.query('select 1')), await failure(() => db.selectFrom('cities').select('name').execute())];
    for (const error of errors) {
      expect(error).toBeInstanceOf(Error);
      const problem = toProblem(error) as ProblemError;
      expect([(error as Error).message, problem.kind?.status]).toEqual([(error as Error).message, 503]);
      expect(isRetryable(error)).toBe(false);
    }
  });

  it('are not confused with others', () => {
    const other = new pg.DatabaseError('driver', 6, 'error');
    expect(toProblem(other)).toBe(other);
  });
});

describe('a database that cannot just now', () => {
  const coded = (code: string): Error => Object.assign(new Error('said by it'), { code });

  it.each(['25006', '53100', '53200', '53300', 'EAI_AGAIN', 'ENETUNREACH'])('is a 503, and may be asked again: %s', (code) => {
    expect(isRetryable(coded(code))).toBe(true);
    expect((toProblem(coded(code)) as ProblemError).kind?.status).toBe(503);
  });

  it.each([
    ['53100', 'the disk of the database is full; nothing was changed'],
    ['25006', 'the database takes no writes; nothing was changed, try again'],
  ])('says what is the matter: %s', (code, words) => {
    expect((toProblem(coded(code)) as ProblemError).message).toBe(`unavailable: ${words}`);
  });
});

// Guard: who is told that nothing was changed would do it twice.
describe('what fails after a request has changed something', () => {
  it.each([
    ['the server is shut down', Object.assign(new Error('no'), { code: '57P01' })],
    ['the disk is full', Object.assign(new Error('no'), { code: '53100' })],
    ['this process stops', new Error('driver has already been destroyed')],
  ])('is not told as if nothing was changed: %s', (_, error) => {
    const request = new AuditedRequest({} as AuditEntry);
    const said = (): string => onBehalfOf(request, () => (toProblem(error) as ProblemError).message);
    expect(said()).toContain('nothing was changed');
    request.recorded = true;
    expect(said()).toMatch(/; what was asked for may have been done all the same; repeat it with the same Idempotency-Key$/);
  });
});

describe('a commit that has failed', () => {
  const said = (code: string): Error => Object.assign(new pg.DatabaseError('no', 2, 'error'), { code, severity: 'FATAL' });

  it.each([
    ['of a server that takes it back', said('40001'), false],
    ['of a server that is shut down', said('57P01'), false],
    ['of a pooler that has lost its server', said('08P01'), true],
    ['of a way that was lost', new Error('Connection terminated unexpectedly'), true],
  ])('%s', (_, error, isUnknown) => {
    expect(ofCommit(error) instanceof CommitUnknown).toBe(isUnknown);
  });
});

// Guard: the client takes what it does not recognise for a refusal, and shows no key to repeat it with.
it('what the service does not know is told by its client as that', () => {
  const told = (error: unknown): ApiProblem => {
    const { kind, detail } = toProblem(error) as ProblemError;
    const response = new Response(null, { status: kind.status, headers: { 'content-type': 'application/problem+json' } });
    return new ApiProblem(response, { code: kind.code, detail }, { key: 'k1', mayHaveHappened: false });
  };
  const lost = Object.assign(new Error('no'), { code: '57P01' });
  const request = new AuditedRequest({} as AuditEntry);
  request.recorded = true;
  expect(told(new CommitUnknown(lost)).mayHaveHappened).toBe(true);
  expect(onBehalfOf(request, () => told(lost)).mayHaveHappened).toBe(true);
  expect(told(lost).mayHaveHappened).toBe(false);
});
