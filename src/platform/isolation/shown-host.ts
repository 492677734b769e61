import path from 'node:path';
import { covers, type Mount } from './mounts.js';

const MOUNTS = new Set(['--bind', '--ro-bind', '--ro-bind-try']);
/** What an own `/dev` is made of, and where a terminal is found by its name. */
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'pts'].map((name) => `/dev/${name}`);

interface Shown {
  readonly option: string;
  readonly from: string;
}

/** What lies on a way that only the service makes, also while it lies in what agents write. */
type Kept = Pick<Shown, 'from'> & Pick<Mount, 'mode'>;

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
 * @param kept these are mounted by themselves, so that the one around them need not be writable for what lies in one of them
 */
export function shownHost(bwrap: string, fixed: readonly string[], changing: readonly string[], kept: readonly Kept[] = []): string[] {
  const inner = mountsOf(changing);
  const parts = partsOf(inner, kept);
  const partOf = (from: string): Kept | undefined => parts.findLast((part) => covers(part.from, from));
  const outermost = parts.map((part): Shown => {
    const its = inner.filter(({ from }) => partOf(from) === part);
    const isWritten = part.mode === 'write' || its.some(({ option }) => option === '--bind');
    const isHidden = part.mode === 'hidden' && its.length === 0;
    return { option: isWritten ? '--bind' : isHidden ? '--tmpfs' : '--ro-bind', from: part.from };
  });
  const beside = topOf(mountsOf([...fixed, '--ro-bind', bwrap, bwrap])).filter(({ from }) => {
    const around = outermost.findLast((one) => covers(one.from, from));
    return around === undefined || around.option === '--tmpfs';
  });
  const shown = [...outermost, ...beside].sort(byPlace);
  return [
    // The other one maps its user anew, which nobody may do with root of a user namespace without capabilities.
    ...['--unshare-user', '--uid', '1', '--gid', '1', '--cap-drop', 'ALL', '--die-with-parent'],
    ...fixed.flatMap((arg, n) => (arg === '--symlink' ? fixed.slice(n, n + 3) : [])),
    ...shown.flatMap(({ option, from }) => (option === '--tmpfs' ? [option, from] : [option, from, from])),
    ...DEVICES.flatMap((at) => ['--dev-bind-try', at, at]),
    ...['--bind', '/proc', '/proc', '--', bwrap, '--uid', String(process.getuid!()), '--gid', String(process.getgid!())],
  ];
}

export function keptOf(mounts: readonly Mount[]): Kept[] {
  return mounts.flatMap(({ at, from = at, mode, isKept }) => (isKept ? [{ from, mode }] : []));
}

/** The outermost, and what is kept in one of them, outer ones first. One deeper in what agents may write lies on a way that they make. */
function partsOf(inner: readonly Shown[], kept: readonly Kept[]): Kept[] {
  const folders = topOf(inner).map(({ from }) => from);
  const within: Kept[] = [];
  for (const one of kept.toSorted(byPlace)) {
    const isDirectly = folders.includes(path.dirname(one.from)) && !folders.includes(one.from);
    if (isDirectly || within.some(({ from }) => covers(from, one.from))) within.push(one);
  }
  return [...folders.map((from): Kept => ({ from, mode: 'read' })), ...within].toSorted(byPlace);
}

const byPlace = (a: Pick<Shown, 'from'>, b: Pick<Shown, 'from'>): number => (a.from < b.from ? -1 : 1);

/** Paths are absolute: none is taken for an option. */
function mountsOf(args: readonly string[]): Shown[] {
  return args.flatMap((option, n) => (MOUNTS.has(option) ? [{ option, from: args[n + 1]! }] : []));
}

function topOf(all: readonly Shown[]): Shown[] {
  return all.filter(({ from }, n) => !all.some((one, m) => covers(one.from, from) && (one.from !== from || m < n)));
}
