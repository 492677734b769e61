import { describe, expect, it } from '@jest/globals';
import type { CityConfig } from '../../files/composition/city-config.js';
import { environmentOf } from './environment.js';
import type { Template } from './launch.js';

const HOST = { PATH: '/usr/bin', HOME: '/home/a', OPENAI_API_KEY: 'sk' };

function of(workspace: object, spec: object, agent: object, upstreams: object = {}): Readonly<Record<string, string>> {
  const config = { workspace: { env: workspace }, upstreams, agent_defaults: {} } as unknown as CityConfig;
  const template = { spec, agent } as unknown as Template;
  return environmentOf(config, template, HOST, { SVC_AGENT: 'mayor' }, '/svc/bin');
}

describe('the environment of an agent', () => {
  it('is layered: host, city, provider, agent, and what we say', () => {
    expect(of({ A: 'city', B: 'city', C: 'city' }, { env: { B: 'provider', C: 'provider' } }, { env: { C: 'agent' } })).toEqual({
      ...HOST,
      PATH: '/svc/bin:/usr/bin',
      A: 'city',
      B: 'provider',
      C: 'agent',
      SVC_AGENT: 'mayor',
    });
  });

  it('expands what hosts pass on, and nothing else', () => {
    expect(process.env.NODE_ENV).not.toBeUndefined();
    const env = of({ A: '$HOME/x ${HOME} $SVC_DATABASE_URL${NOTHING}$NODE_ENV $A $ $1' }, {}, {});
    expect(env.A).toBe('/home/a/x /home/a   $ $1');
  });

  it('lets no file speak in our name, or say what no process can have', () => {
    const env = of({ SVC_AGENT: 'x', SVC_DATABASE_URL: 'x', 'A=B': 'x', N: 'a\0b', ['B\0']: 'x' }, { env: { SVC_CITY: 'x' } }, {});
    expect(Object.keys(env).sort()).toEqual(['HOME', 'OPENAI_API_KEY', 'PATH', 'SVC_AGENT']);
    expect(env.SVC_AGENT).toBe('mayor');
  });

  // Guard: of a long environment only the beginning tells whose a process is.
  it('has first what we say', () => {
    expect(Object.keys(of({ A: 'city' }, {}, {}))).toEqual(['SVC_AGENT', 'PATH', 'HOME', 'OPENAI_API_KEY', 'A']);
  });

  it('has the client first in the path, whatever path the files say', () => {
    expect(of({ PATH: '/opt:$PATH' }, {}, {}).PATH).toBe('/svc/bin:/opt:/usr/bin');
  });

  it('has the keys of the upstream in the variables that the program reads', () => {
    const upstreams = {
      gate: { base_url: 'https://gate', api_key: '$OPENAI_API_KEY', auth_token: 't', auth_token_env: 'AUTH', env: { X: '1' } },
    };
    const spec = { upstream_env: { base_url: 'BASE', api_key: 'KEY' } };
    expect(of({ KEY: 'old' }, spec, { upstream: 'gate' }, upstreams)).toMatchObject({ BASE: 'https://gate', KEY: 'sk', AUTH: 't', X: '1' });
    expect(of({}, spec, { upstream: 'gone' }, upstreams)).not.toHaveProperty('BASE');
    expect(of({}, spec, {}, upstreams)).not.toHaveProperty('BASE');
  });
});
