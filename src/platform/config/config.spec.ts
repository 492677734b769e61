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
});
