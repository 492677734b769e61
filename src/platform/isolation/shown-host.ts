import { covers } from './mounts.js';

const MOUNTS = new Set(['--bind', '--ro-bind', '--ro-bind-try']);
/** What an own `/dev` is made of, and where a terminal is found by its name. */
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'pts'].map((name) => `/dev/${name}`);

interface Shown {
  readonly option: string;
  readonly from: string;
}

/**
 * Arguments of a bubblewrap up to the options of another one that it starts: it shows what the other one mounts, each at its own place, and
 * nothing else of the host. So a link that somebody puts in the way while the other one sets up leads nowhere else, and nothing is made there.
 *
 * It has the `/proc` of the host, for none could be made within one of its own, of which a part is covered. Links in there that lead out belong to
 * processes outside of its user namespace, and nobody inside may follow them.
 *
 * @param fixed options of the other one, with what no agent can change
 * @param changing those with folders in which agents may write: of them the outermost are mounted, because an agent may put a link on the way to the
 * others, and writable where one in them is
 */
export function shownHost(bwrap: string, fixed: readonly string[], changing: readonly string[]): string[] {
  const inner = mountsOf(changing);
  const outermost = topOf(inner).map(({ from }): Shown => {
    const isWritten = inner.some((one) => one.option === '--bind' && covers(from, one.from));
    return { option: isWritten ? '--bind' : '--ro-bind', from };
  });
  const beside = topOf(mountsOf([...fixed, '--ro-bind', bwrap, bwrap])).filter(
    ({ from }) => !outermost.some((one) => covers(one.from, from)),
  );
  const shown = [...outermost, ...beside].sort((a, b) => (a.from < b.from ? -1 : 1));
  return [
    // The other one maps its user anew, which nobody may do with root of a user namespace without capabilities.
    ...['--unshare-user', '--uid', '1', '--gid', '1', '--cap-drop', 'ALL', '--die-with-parent'],
    ...fixed.flatMap((arg, n) => (arg === '--symlink' ? fixed.slice(n, n + 3) : [])),
    ...shown.flatMap(({ option, from }) => [option, from, from]),
    ...DEVICES.flatMap((at) => ['--dev-bind-try', at, at]),
    ...['--bind', '/proc', '/proc', '--', bwrap, '--uid', String(process.getuid!()), '--gid', String(process.getgid!())],
  ];
}

/** Paths are absolute: none is taken for an option. */
function mountsOf(args: readonly string[]): Shown[] {
  return args.flatMap((option, n) => (MOUNTS.has(option) ? [{ option, from: args[n + 1]! }] : []));
}

function topOf(all: readonly Shown[]): Shown[] {
  return all.filter(({ from }, n) => !all.some((one, m) => covers(one.from, from) && (one.from !== from || m < n)));
}
