import { describe, expect, it } from '@jest/globals';
import { shownHost } from './shown-host.js';

const FIXED = ['--ro-bind-try', '/usr', '/usr', '--symlink', 'usr/bin', '/bin', '--ro-bind', '/data/etc', '/etc', '--unshare-net'];

/** What is shown, without what always is. */
function shown(changing: readonly string[]): string[] {
  const args = shownHost('/usr/bin/bwrap', FIXED, changing);
  expect(args.slice(-9, -4)).toEqual(['--bind', '/proc', '/proc', '--', '/usr/bin/bwrap']);
  return args.flatMap((option, n) =>
    /^--(ro-)?bind/.test(option) && !['/proc', '/usr/bin/bwrap'].includes(args[n + 1]!) ? [`${option} ${args[n + 1]}`] : [],
  );
}

describe('a sandbox around another one', () => {
  it('shows what is mounted in that at its own place, and links of the system', () => {
    expect(shown(['--bind', '/own/home', '/home', '--ro-bind', '/tools', '/tools', '--tmpfs', '/hidden'])).toEqual([
      ...['--ro-bind /data/etc', '--bind /own/home', '--ro-bind /tools', '--ro-bind-try /usr'],
    ]);
    expect(shownHost('/usr/bin/bwrap', FIXED, []).join(' ')).toContain('--symlink usr/bin /bin');
  });

  // Guard: a mount point in a folder that agents write could be a link, here as well.
  it('mounts nothing within what is mounted, which is writable where anything in it is', () => {
    const city = ['--ro-bind', '/city', '/city', '--bind', '/city/a/rig', '/city/a/rig', '--ro-bind', '/city/.gc', '/city/.gc'];
    expect(shown([...city, ...city, '--ro-bind', '/city-b', '/b'])).toEqual([
      ...['--bind /city', '--ro-bind /city-b', '--ro-bind /data/etc', '--ro-bind-try /usr'],
    ]);
    expect(shown(['--bind', '/data', '/data', '--ro-bind', '/usr/local/x', '/x'])).toEqual([
      ...['--bind /data', '--ro-bind-try /usr', '--ro-bind /usr/local/x'],
    ]);
  });
});
