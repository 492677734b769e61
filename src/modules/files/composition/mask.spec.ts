import { describe, expect, it } from '@jest/globals';
import { endOfPart, MASK, masked, maskedLines, MAX_LINE } from './mask.js';

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
    expect(masked({ headers: { Accept: 'x' }, upstreams: { g: { api_key_env: 'NAME' } } })).toEqual({
      headers: { Accept: MASK },
      upstreams: { g: { api_key_env: 'NAME' } },
    });
  });

  // Guard: secrets of command lines are hidden wherever those are shown.
  it.each([
    [
      ['--api-key', 'abc', '--verbose'],
      ['--api-key', MASK, '--verbose'],
    ],
    [
      ['--token=abc', '--model', 'large'],
      [`--token=${MASK}`, '--model', 'large'],
    ],
    [
      ['--password', '-x'],
      ['--password', '-x'],
    ],
    [
      ['--token', '$TOKEN', '--token=${TOKEN}'],
      ['--token', '$TOKEN', '--token=${TOKEN}'],
    ],
    [
      ['--max-tokens', '4096', '--token-file', '/a'],
      ['--max-tokens', '4096', '--token-file', '/a'],
    ],
    [
      ['-c', 'GITHUB_TOKEN=abc run --db-password "a b" x'],
      ['-c', `GITHUB_TOKEN=${MASK} run --db-password ${MASK} x`],
    ],
    [
      ['-H', 'Authorization: Bearer abc'],
      ['-H', `Authorization: Bearer ${MASK}`],
    ],
    [['curl -H "X-Api-Key: abc" https://h/?access_token=abc&b=1'], [`curl -H "X-Api-Key: ${MASK}" https://h/?access_token=${MASK}&b=1`]],
    [['{"clientSecret":"abc","a":1}'], [`{"clientSecret":${MASK},"a":1}`]],
    [
      ['x sk-ant-0123456789abcdefghij', 'ghp_0123456789abcdefghij'],
      [`x ${MASK}`, MASK],
    ],
    // As `svc extmsg adapter add` prints them, and one of a session and one of a command.
    [
      [
        'token   sva_1_0123456789abcdefghijklmnopqrstuv',
        'secret  svx_0123456789abcdefghijklmnopqrstuv',
        'svs_1_0123456789abcdef svo_f1_0123456789abcdef',
      ],
      [`token   ${MASK}`, `secret  ${MASK}`, `${MASK} ${MASK}`],
    ],
    [
      ['the token of the day', 'a token: none'],
      ['the token of the day', `a token: ${MASK}`],
    ],
  ])('shows the command line %j without its secrets', (args, shown) => {
    expect(masked({ args })).toEqual({ args: shown });
    expect(masked(masked({ args }))).toEqual({ args: shown });
  });

  // Guard: the output of an order is as long as a line may be, and is stored.
  it('hides what is named in a text that is longer once its addresses are hidden', () => {
    const shown = masked(`${'x://u@h '.repeat(2_000)}API_KEY=abc`);
    const end = `x://${MASK}@h API_KEY=${MASK}`;
    expect(shown.slice(-end.length)).toBe(end);
  });

  it.each([
    'word='.repeat(3_000) + '"',
    '--a '.repeat(4_000),
    'a-'.repeat(400_000) + '://',
    '://a:x'.repeat(150_000),
    '://' + 'a:'.repeat(400_000),
  ])('looks at a long text once', (value) => {
    expect(masked({ command: value })).toEqual({ command: value });
    expect(maskedLines(value)).toBe(value);
  });
});

describe('what a program has written', () => {
  // Guard: a line as long as all that is kept of an output was looked through for addresses and well-known kinds only.
  it('is without secrets also in a long line', () => {
    const long = (secret: string): string => `first\n{"pad":"${'x'.repeat(20_000)}","api_key":"${secret}"}\nlast`;
    expect(maskedLines(long('hunter2'))).toBe(long('hunter2').replace('"hunter2"', MASK));
  });

  // Guard: half a secret is none that anybody knows again.
  it.each([
    ['word ', 'API_KEY=hunter2'],
    ['word,', '"api_key": "hunter2"'],
    ['word ', '--token hunter2'],
    ['word ', 'Authorization: Bearer hunter2'],
    ['word ', 'password="hunter 2"'],
    ['word,', 'x https://a:hunter2@h'],
    ['word ', `ghp_${'hunter2'.repeat(4)}`],
    ['word ', 'token=hunter2;'.repeat(9)],
    // As long as a private key, and a passphrase of many words.
    ['word ', `PRIVATE_KEY=${'hunter2'.repeat(600)}`],
    ['word,', `passphrase: '${'hunter 2, '.repeat(400)}'`],
    ['word ', `x https://a:hunter2@${'b,'.repeat(2_000)}@h`],
  ])('is cut where no secret is (%#)', (words, secret) => {
    for (let behind = 1; behind < secret.length; behind += Math.ceil(secret.length / 150)) {
      const before = words.repeat(4_000).slice(0, MAX_LINE - behind);
      const line = `${before.slice(0, before.lastIndexOf(words.at(-1)!) + 1).padStart(before.length, 'x')}${secret} and so on`;
      const end = endOfPart(line);
      expect(end).toBeGreaterThan(MAX_LINE - behind - 10);
      expect(end).toBeLessThanOrEqual(MAX_LINE);
      const parts = [line.slice(0, end), line.slice(end)].map((part) => masked(part));
      expect(parts.join('')).toBe(maskedLines(line));
      expect(parts.join('')).not.toContain('hunter');
    }
    expect([endOfPart(secret), endOfPart('x'.repeat(20_000))]).toEqual([secret.length, MAX_LINE]);
  });
});
