import { describe, expect, it } from '@jest/globals';
import { digestOf, requireFreePrefix, rigRequest } from './rig-rules.js';

describe('requests for rigs', () => {
  it('leave out what is empty and lower the prefix', () => {
    expect(rigRequest({ name: 'web', path: ' ', prefix: 'WB', default_branch: '', git_url: '', request_id: '' })).toEqual({
      name: 'web',
      path: undefined,
      prefix: 'wb',
      defaultBranch: undefined,
      source: undefined,
      requestId: undefined,
    });
  });

  it.each(['main', 'feature/a-b_c.d', 'v1.0+x'])('take the branch %s', (branch) =>
    expect(rigRequest({ name: 'web', default_branch: branch }).defaultBranch).toBe(branch),
  );
  it.each(['-x', '--upload-pack=x', 'a..b', 'a b', 'a.lock', 'a/', '/a', 'a//b', 'a@{b', '.a', 'a\nb', 'a:b', 'a~1', 'a^'])(
    'do not take the branch %j',
    (branch) => expect(() => rigRequest({ name: 'web', default_branch: branch })).toThrow(/^invalid: invalid default_branch/),
  );
  it.each(['null', '12345678', '"quoted1"', '1234567', 'a b c d e f', 'x'.repeat(201), 'ä'.repeat(10)])('do not take the id %j', (id) =>
    expect(() => rigRequest({ name: 'web', request_id: id })).toThrow(/^invalid: invalid request_id/),
  );
  it.each(['__proto__', 'constructor', 'a.b_c-d', '...'])('take the name %s', (name) => expect(rigRequest({ name }).name).toBe(name));
  it.each(['', '.', '..', 'a/b', 'a b', 'true', '1e3', 'x'.repeat(65)])('do not take the name %j', (name) =>
    expect(() => rigRequest({ name })).toThrow('invalid: invalid rig name: must be 1-64 chars of [A-Za-z0-9._-], '),
  );

  it.each([
    ['git@git.example.org:team/shop.git', 'ssh://git@git.example.org/team/shop.git'],
    ['ssh://git@git.example.org:2222/shop', 'ssh://git@git.example.org:2222/shop'],
    ['ssh://git.example.org/~team/shop', 'ssh://git@git.example.org/~team/shop'],
    ['https://git.example.org/shop.git', 'https://git.example.org/shop.git'],
  ])('take the repository %s', (git_url, url) => expect(rigRequest({ name: 'web', git_url }).source?.url).toBe(url));
  it.each([
    ...[
      'ssh://-oProxyCommand=touch+secret/x',
      'ssh://git@-oProxyCommand=secret/x',
      'git@-oProxyCommand=secret:x',
      '-oProxyCommand=secret:x',
    ],
    ...['ssh://root@h/secret', 'root@h:secret', 'ssh://git:secret@h/x', 'https://u:secret@h/x', 'https://secret@h/x', 'git:secret@h:x'],
    ...['ssh://git@h:70000/secret', 'ssh://git@h:22;secret/x', 'ssh://git@$(secret)/x', "ssh://git@h'secret/x", 'ssh://git@h/-secret'],
    ...['ssh://git@h/a/../secret', 'ssh://git@h/$(secret)', "ssh://git@h/'secret", 'ssh://git@h/x y', 'ssh://git@h/x#--upload-pack=secret'],
    ...[
      'ext::sh -c secret',
      'ext::ssh secret',
      'git://h/secret',
      'file:///secret',
      '--upload-pack=secret',
      'rigs/secret',
      'git@h:secret\nx',
    ],
    ...[
      'ssh://git@h/secret//folder',
      'https://h/secret#v1',
      'git+ssh://git@h/secret',
      'ssh+git://git@h/secret',
      'ssh://git@h',
      'ssh:///secret',
    ],
  ])('do not take the repository %j, nor repeat it', (git_url) => {
    expect(() => rigRequest({ name: 'web', git_url })).toThrow(/^invalid: invalid git_url/);
    expect(() => rigRequest({ name: 'web', git_url })).not.toThrow(/secret/);
  });

  it('are the same whatever their id and the blanks around', () => {
    const digest = digestOf({ name: 'web', git_url: 'https://h/x' });
    expect(digestOf({ git_url: ' https://h/x ', name: 'web', request_id: 'something' })).toBe(digest);
    expect(digestOf({ name: 'web', git_url: 'https://h/y' })).not.toBe(digest);
  });

  it('share no prefix with another rig or the city', () => {
    const used = [
      { name: '', prefix: 'al' },
      { name: 'web', prefix: 'we' },
    ];
    expect(() => requireFreePrefix('al', 'new', used)).toThrow('conflict: prefix "al" belongs to the city');
    expect(() => requireFreePrefix('we', 'new', used)).toThrow('conflict: prefix "we" belongs to rig "web"');
    expect(() => requireFreePrefix('we', 'web', used)).not.toThrow();
    expect(() => requireFreePrefix(undefined, 'new', used)).not.toThrow();
  });
});
