import { describe, expect, it } from '@jest/globals';
import { explain } from './explain.js';

const config = { host: '0.0.0.0', port: 8372, logLevel: 'info', databaseUrl: 'postgres://svc:secret@db/svc' };
const failed = (message: string, fields: object): Error => Object.assign(new Error(message), fields);
const said = (message: string, fields: object, of: Partial<typeof config> = {}): string =>
  explain(failed(message, fields), { ...config, ...of });

describe('why a start has failed', () => {
  it.each([
    ['sorry, too many clients already', { code: '53300', severity: 'FATAL' }],
    ['password authentication failed for user "svc"', { code: '28P01', severity: 'FATAL' }],
    ['getaddrinfo ENOTFOUND db', { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'db' }],
    ['connect ECONNREFUSED 10.0.0.3:5432', { code: 'ECONNREFUSED', syscall: 'connect' }],
  ])('is told of the database where it is the database: %s', (message, fields) => {
    expect(said(message, fields)).toBe(`the database of SVC_DATABASE_URL cannot be used: ${message}`);
  });

  it('says what a pooler of transactions needs, where it is not set', () => {
    const message = 'unsupported startup parameter: options';
    const refused = (databaseListenUrl?: string): string =>
      explain(failed(message, { code: '08P01', severity: 'FATAL' }), { ...config, databaseListenUrl });
    const known = `the database of SVC_DATABASE_URL cannot be used: ${message}`;
    expect(refused()).toBe(`${known}; behind PgBouncer set SVC_DATABASE_LISTEN_URL to the address of the server itself`);
    expect(refused('postgres://svc@db/svc')).toBe(known);
  });

  it('has the reasons of all addresses of a name', () => {
    const each = ['connect ECONNREFUSED ::1:5432', 'connect ECONNREFUSED 127.0.0.1:5432'].map((message) => new Error(message));
    const error = Object.assign(new AggregateError(each, ''), { code: 'ECONNREFUSED' });
    expect(explain(error, config)).toBe(`the database of SVC_DATABASE_URL cannot be used: ${each[0]!.message}, ${each[1]!.message}`);
  });

  it('names the step that was left out, where nobody has migrated', () => {
    expect(said('function follow_log_server() does not exist', { code: '42883', severity: 'ERROR' })).toBe(
      'the database of SVC_DATABASE_URL has no schema of this release: run the migrate step first (function follow_log_server() does not exist)',
    );
  });

  it.each([
    ['deadlock detected', '40P01'],
    ['canceling statement due to lock timeout', '55P03'],
  ])('does not take tables that others hold for a database that cannot be used: %s', (message, code) => {
    expect(said(message, { code, severity: 'ERROR' })).toBe(
      `others held what this start wanted of the database of SVC_DATABASE_URL: run it again, at a quieter time where that does not help (${message})`,
    );
  });

  it('is told of the port where it is the port, and only there', () => {
    expect(
      said('getaddrinfo ENOTFOUND 999.1.1.1', { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: '999.1.1.1' }, { host: '999.1.1.1' }),
    ).toBe('cannot listen on 999.1.1.1:8372: getaddrinfo ENOTFOUND 999.1.1.1');
    expect(said('listen EACCES: permission denied', { code: 'EACCES', syscall: 'listen' })).toBe(
      'cannot listen on 0.0.0.0:8372: listen EACCES: permission denied',
    );
    const denied = "EACCES: permission denied, mkdir '/data/cities'";
    expect(said(denied, { code: 'EACCES', syscall: 'mkdir' })).toBe(denied);
  });
});
