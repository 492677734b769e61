import { describe, expect, it } from '@jest/globals';
import { InvalidSource, parseSource, type RepositorySource } from './sources.js';

const repository = (source: string): RepositorySource => {
  const parsed = parseSource(source);
  if (parsed.kind !== 'repository') throw new Error(`${source} is ${parsed.kind}`);
  return parsed;
};

describe('parseSource', () => {
  it.each(['packs/desk', './desk', '../desk', '/srv/cities/desk', 'github.community/x', 'a b', 'desk#1'])(
    'takes %j as a path',
    (source) => {
      expect(parseSource(source)).toEqual({ kind: 'local', path: source });
    },
  );

  it('knows what is shipped', () => {
    expect(parseSource('builtin:core')).toEqual({ kind: 'builtin', id: 'builtin:core', name: 'core' });
  });

  it.each([
    // source, id, url
    ['https://Git.Example.org:443/base.git//core', 'https://git.example.org/base//core', 'https://git.example.org/base.git'],
    ['https://git.example.org/team/base/', 'https://git.example.org/team/base', 'https://git.example.org/team/base'],
    ['http://git.example.org:8080/base#v1.2.0', 'http://git.example.org:8080/base#v1.2.0', 'http://git.example.org:8080/base'],
    ['github.com/owner/repo', 'https://github.com/owner/repo', 'https://github.com/owner/repo'],
    ['github.com/owner/repo//packs/a#main', 'https://github.com/owner/repo//packs/a#main', 'https://github.com/owner/repo'],
    ['https://github.com/owner/repo/tree/main/packs/a', 'https://github.com/owner/repo//packs/a#main', 'https://github.com/owner/repo'],
    ['https://github.com/owner/repo/tree/v1.0', 'https://github.com/owner/repo#v1.0', 'https://github.com/owner/repo'],
    ['https://github.com/owner/repo/blob/main/a/pack.toml', 'https://github.com/owner/repo//a#main', 'https://github.com/owner/repo'],
    ['git@git.example.org:team/base.git//core', 'ssh://git@git.example.org/team/base//core', 'ssh://git@git.example.org/team/base.git'],
    ['ssh://git@git.example.org:22/team/base', 'ssh://git@git.example.org/team/base', 'ssh://git@git.example.org/team/base'],
    ['ssh://git.example.org:2222/base#abc123', 'ssh://git@git.example.org:2222/base#abc123', 'ssh://git@git.example.org:2222/base'],
    ['file:///srv/cities/base.git//core', 'file:///srv/cities/base//core', 'file:///srv/cities/base.git'],
  ])('reads %s', (source, id, url) => {
    const parsed = repository(source);
    expect({ id: parsed.id, url: parsed.url }).toEqual({ id, url });
    expect(repository(id).id).toBe(id);
  });

  it('keeps the parts', () => {
    expect(repository('https://git.example.org:8443/a/b.git//c/d#v2')).toMatchObject({
      transport: 'https',
      host: 'git.example.org',
      port: 8443,
      folder: 'c/d',
      ref: 'v2',
    });
    expect(repository('https://0x7f.1/x').host).toBe('127.0.0.1');
    expect(repository('http://[::ffff:127.0.0.1]/x').host).toBe('[::ffff:7f00:1]');
  });

  it.each([
    [''],
    ['  '],
    ['a\0b'],
    ['a\nb'],
    ['\u{D800}'],
    ['x'.repeat(3_000)],
    ['builtin:'],
    ['builtin:../core'],
    ['https://user:secret@git.example.org/base'],
    ['https://secret@git.example.org/base'],
    ['ssh://root@git.example.org/base'],
    ['root@git.example.org:base'],
    ['https://git.example.org/'],
    ['https://git.example.org'],
    ['https:///base'],
    ['https://-oProxyCommand=x/base'],
    ['ssh://-oProxyCommand=x/base'],
    ['git@-oProxyCommand=x:base'],
    ['ssh://git@$(reboot)/base'],
    ["https://a'b/base"],
    ['file:///srv/a%41'],
    ['https://git.example.org/a/../b'],
    ['https://git.example.org/base//../../etc'],
    ['https://git.example.org/base//a/%2e%2e/b'],
    ['https://git.example.org/base//.git/hooks'],
    ['https://git.example.org/base#--upload-pack=x'],
    ['https://git.example.org/base#a..b'],
    ['https://git.example.org/base?x=1'],
    ['https://git.example.org/-x/base'],
    ['ext::sh -c x'],
    ['git://git.example.org/base'],
    ['ext://x/y'],
    ['file://host/base'],
    ['github.com/owner'],
    ['c:\\packs'],
    ['packs\\desk'],
  ])('refuses %j and never repeats it', (source) => {
    expect(() => parseSource(source)).toThrow(InvalidSource);
    expect(() => parseSource(source)).not.toThrow(/secret/);
  });

  it.each(['ssh://root@git.example.org/base', 'root@git.example.org:base'])('says where the user of %s is named', (source) => {
    expect(() => parseSource(source)).toThrow('only git@ is taken, and another one is user of [[git.credentials]]');
  });
});
