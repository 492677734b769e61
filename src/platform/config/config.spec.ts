import { describe, expect, it } from '@jest/globals';
import { loadConfig } from './config.js';

describe('a variable', () => {
  // Guard: what is blank is no 0, which is a free port, and no limit of requests.
  it.each(['', ' ', '\t\n'])('that is blank (%j) counts as one that is not there', (blank) => {
    const { port, rateLimits, host } = loadConfig({ SVC_PORT: blank, SVC_RATE_LIMIT_KEY: blank, SVC_HOST: blank }, '/tmp');
    expect({ port, key: rateLimits.key.perSecond, host }).toEqual({ port: 8372, key: 1_000, host: '127.0.0.1' });
  });

  // Guard: no log is deleted by who wants it without a limit.
  it.each(['SVC_EVENT_RETENTION', 'SVC_AUDIT_RETENTION'])('(%s) keeps an hour at the least', (name) => {
    for (const less of ['0', '0s', '59m59s'])
      expect(() => loadConfig({ [name]: less }, '/tmp')).toThrow(`${name}: has to be an hour or more`);
    expect(() => loadConfig({ [name]: '1h' }, '/tmp')).not.toThrow();
    expect(() => loadConfig({ [name]: 'x' }, '/tmp')).toThrow(`${name}: has to be a duration`);
  });

  it('says how events are kept for ever', () =>
    expect(() => loadConfig({ SVC_EVENT_RETENTION: '0' }, '/tmp')).toThrow('leave it away to keep them for ever'));

  it.each([
    ['SVC_RUNNER_CAPACITY', 'many', 'has to be a whole number from 0 to 10000 (given: "many")'],
    ['SVC_RUNNER_CAPACITY', '10001', 'has to be a whole number from 0 to 10000 (given: "10001")'],
    ['SVC_RATE_LIMIT_KEY', '-1', 'has to be a number from 0 to 1000000 (given: "-1")'],
    ['SVC_PORT', `8${'3'.repeat(99)}`, 'has to be a whole number from 0 to 65535'],
    ['SVC_ROLE', 'wroker', 'Invalid option: expected one of "all"|"api"|"worker" (given: "wroker")'],
    ['SVC_ALLOWED_PATHS', '/', 'each entry has to be an absolute directory, and not /'],
  ])('(%s) that is wrong is told with what it may be and what it is: %s', (name, value, line) =>
    expect(() => loadConfig({ [name]: value }, '/tmp')).toThrow(new Error(`wrong configuration:\n  ${name}: ${line}`)),
  );

  it.each([
    ['SVC_REDIS_URL', 'http://me:s3cret@cache:6379', 'has to be a URL that begins with redis:// or rediss:// (given: http://…)'],
    ['SVC_REDIS_URL', 'me:s3cret@cache:6379', 'has to be a URL that begins with redis:// or rediss:// (given: something without a scheme)'],
    ['SVC_API_URL', 's3cret', 'has to be a URL that begins with http:// or https:// (given: something without a scheme)'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://s3cret@there', 'has to be a URL that begins with http:// or https:// (given: grpc://…)'],
  ])('(%s) that is an address is told without what may be a password: %s', (name, value, line) =>
    expect(() => loadConfig({ [name]: value }, '/tmp')).toThrow(new Error(`wrong configuration:\n  ${name}: ${line}`)),
  );

  it.each([
    ['SVC_ALLOWED_TARGETS', 'https://me:s3cret@git.example.com/packs'],
    ['SVC_AUTH', 'svc_s3cret0123456789'],
    ['SVC_PORT', 's3cret-0123456789abcdef0123456789'],
  ])('(%s) is told without its value where that may be secret', (name, value) =>
    expect(() => loadConfig({ [name]: value }, '/tmp')).toThrow(
      expect.objectContaining({ message: expect.stringMatching(new RegExp(`^wrong configuration:\n  ${name}: (?!.*s3cret)`)) }),
    ),
  );

  it('that is the address of a database is told without its password', () => {
    for (const value of ['mysql://me:s3cret@there/svc', 'me:s3cret@there', 'postgres://me:s3cret@there:x/svc'])
      for (const name of ['SVC_DATABASE_URL', 'SVC_DATABASE_LISTEN_URL'])
        expect(() => loadConfig({ [name]: value }, '/tmp')).toThrow(
          expect.objectContaining({ message: expect.not.stringContaining('s3cret') }),
        );
  });
});
