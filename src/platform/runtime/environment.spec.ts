import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../config/config.js';
import { agentEnvironment } from './environment.js';

describe('the environment of an agent', () => {
  it('has of the worker only what is named', () => {
    const own = {
      ...{
        PATH: '/p',
        HOME: '/h',
        LANG: 'C',
        LC_ALL: 'C',
        XDG_CONFIG_HOME: '/x',
        SSH_AUTH_SOCK: '/s',
        ANTHROPIC_API_KEY: 'k',
        AWS_REGION: 'r',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318',
      },
      ...{ OTEL_SERVICE_NAME: 'svc', OTEL_EXPORTER_OTLP_HEADERS: 'authorization=s', OTEL_EXPORTER_OTLP_LOGS_HEADERS: 'authorization=s' },
      ...{ SVC_DATABASE_URL: 'postgres://u:secret@h/d', SVC_REDIS_URL: 'redis://h', DATABASE_URL: 's', REDIS_URL: 's', PGPASSWORD: 's' },
      ...{
        AWS_SESSION_MANAGER_SECRET: 's',
        NODE_OPTIONS: '--inspect',
        LD_PRELOAD: 's',
        CLAUDECODE: '1',
        SVC_SESSION_ID: 's',
        MY_TOKEN: 's',
      },
    };
    expect(loadConfig(own, '/').agentEnvironment).toEqual({
      ...{
        PATH: '/p',
        HOME: '/h',
        LANG: 'C',
        LC_ALL: 'C',
        XDG_CONFIG_HOME: '/x',
        SSH_AUTH_SOCK: '/s',
        ANTHROPIC_API_KEY: 'k',
        AWS_REGION: 'r',
        OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318',
      },
    });
  });

  it('has a PATH and a HOME always', () => {
    expect(Object.keys(loadConfig({}, '/').agentEnvironment).sort()).toEqual(['HOME', 'PATH']);
  });

  it('is laid in layers, of which the last one counts', () => {
    const env = agentEnvironment(
      { PATH: '/p', A: '0' },
      { A: '1', B: '1', C: '1' },
      { B: '', C: undefined, CLAUDECODE: '1', CODEX_CI: '1' },
    );
    expect(env).toEqual({ PATH: '/p', A: '1', B: '' });
  });
});
