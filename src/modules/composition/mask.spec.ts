import { describe, expect, it } from '@jest/globals';
import { isSecretPath, MASK, masked } from './mask.js';

describe('masked', () => {
  it.each([
    ['https://host.example/a@b', 'https://host.example/a@b'],
    ['https://host.example:8443/a@b', 'https://host.example:8443/a@b'],
    ['http://[::1]:80/a@b', 'http://[::1]:80/a@b'],
    ['https://me@host.example/a', `https://${MASK}@host.example/a`],
    ['https://me:pass@host.example/a', `https://${MASK}@host.example/a`],
    ['https://me:p@ss@host.example/a@b', `https://${MASK}@host.example/a@b`],
    ['https://me:pa/ss@host.example/a', `https://${MASK}@host.example/a`],
    ['PG=postgres://me:x@db HTTPS://:x@host', `PG=postgres://${MASK}@db HTTPS://${MASK}@host`],
  ])('shows %s without user info', (value, shown) => {
    expect(masked({ args: [value] })).toEqual({ args: [shown] });
  });

  it('hides environment entries, keys and tokens, and shows references', () => {
    const value = { env: { A: 'x', env: 'y' }, api_key: 'k', auth_token: '$TOKEN', token: '${TOKEN}x', command: 'x' };
    expect(masked(value)).toEqual({ env: { A: MASK, env: MASK }, api_key: MASK, auth_token: '$TOKEN', token: MASK, command: 'x' });
    expect(isSecretPath('agents."a.b".env."X Y"')).toBe(true);
    expect(isSecretPath('upstreams.g.api_key_env')).toBe(false);
  });

  it.each(['a-'.repeat(400_000) + '://', '://a:x'.repeat(150_000), '://' + 'a:'.repeat(400_000)])('looks at a long text once', (value) =>
    expect(masked({ command: value })).toEqual({ command: value }),
  );
});
