import { constants } from 'node:fs';
import { lstat, open, readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { StartError } from '../runtime/port.js';
import { HeldFolder } from '../runtime/preparation/held-folder.js';
import { identityAt, openAgain } from './held.js';
import { InTheWay, whichLies, whichOf, type Lying } from './in-the-way.js';
import { covers, type Mount } from './mounts.js';

const MAX_LINKS = 40;
/** For one program: an agent that still runs in the home may put in the way what was moved. */
const MAX_MOVED = 100;
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/** A mount with the place that it gets. */
export interface Placed extends Mount {
  /** An outer one shows the same there. */
  readonly isShown?: true;
  /** It has to be seen at exactly this place: somebody may have put a link on the way. */
  readonly isExact?: true;
}

/**
 * Where each of the mounts is made. What is shown below a folder that agents write, as a home is, would be mounted wherever they have a link
 * lead, with all of the host below `/oldroot` while bubblewrap sets up. So the folders on the way are made here, through no link, and mounted
 * as well: one that another has replaced since is found, and nothing begins. A link that stays in such a folder is followed here.
 *
 * What is in the way in a folder of the session's own is moved: nobody else could start it until a person had looked.
 *
 * @param mounts outer ones first
 * @param onMoved is told where it lay, and where it lies now
 * @throws StartError unsupported where a link leads out of such a folder or into what else is mounted, or something else is in the way
 */
export async function onMountPoints(mounts: readonly Mount[], onMoved?: (at: string, away: string) => void): Promise<Placed[]> {
  // Also an agent that runs may have closed its home.
  for (const mount of mounts) if (mount.isOwn) await openAgain(sourceOf(mount));
  for (let moved = 0; ; moved++) {
    try {
      return await placesOf(mounts);
    } catch (error) {
      if (!(error instanceof InTheWay) || !error.isMovable || moved === MAX_MOVED) throw error;
      const away = await error.moveAway();
      if (away !== undefined) onMoved?.(error.at, away);
    }
  }
}

async function placesOf(mounts: readonly Mount[]): Promise<Placed[]> {
  const placed: Placed[] = [];
  /** By what was asked for. */
  const places = new Map<string, string>();
  const links = new Map<string, Link>();
  const onTheWay = new Set<string>();
  for (const [n, mount] of mounts.entries()) {
    const above = mounts.filter(({ at }) => at !== mount.at && covers(at, mount.at));
    const outer = above.at(-1);
    const isExact = (mount.identity !== undefined || mount.isRenewed === true) && mount.from === undefined;
    if (outer === undefined || !above.some(({ mode }) => mode === 'write')) {
      places.set(mount.at, mount.at);
      placed.push({ ...mount, ...(isExact && { isExact }) });
      continue;
    }
    const rest = path.relative(outer.at, mount.at);
    const place = places.get(outer.at);
    if (
      place !== undefined &&
      mount.mode !== 'hidden' &&
      mount.mode === outer.mode &&
      sourceOf(mount) === path.join(sourceOf(outer), rest)
    ) {
      places.set(mount.at, path.join(place, rest));
      placed.push({ ...mount, at: path.join(place, rest), isShown: true });
      continue;
    }
    const { way, link } = outer.mode === 'hidden' ? { way: rest.split(path.sep) } : await wayTo(outer, rest);
    if (place === undefined || way === undefined) {
      if ((place !== undefined && outer.mode === 'write') || mount.mode === 'hidden')
        throw new InTheWay(outer, rest.split(path.sep), 'a link leads out of it', link ?? unknownAt(rest));
      // Behind a link of what is read-only lies what is shown where it leads, or nothing.
      continue;
    }
    const at = path.join(place, ...way);
    const other = mounts.slice(0, n).find((one) => meet(one, mount, places.get(one.at), at));
    if (other !== undefined) {
      const by = (link === undefined ? links.get(other.at) : undefined) ?? { outer, link: link ?? unknownAt(rest) };
      throw new InTheWay(by.outer, rest.split(path.sep), `a link leads into what is shown at ${other.at}, or around it`, by.link);
    }
    places.set(mount.at, at);
    if (link !== undefined) links.set(mount.at, { outer, link });
    if (outer.mode === 'write') {
      for (const folder of await made(outer, way, mount)) {
        const between = path.join(place, folder.rest);
        if (onTheWay.has(between)) continue;
        onTheWay.add(between);
        placed.push({
          at: between,
          mode: 'write',
          from: path.join(sourceOf(outer), folder.rest),
          identity: folder.identity,
          isExact: true,
        });
      }
    }
    // Where a folder itself was replaced by a link, nothing is made behind it.
    const isContested = outer.mode === 'write' && outer.isOwn !== true && (way.length > 1 || mount.isRenewed === true);
    placed.push({ ...mount, from: sourceOf(mount), at, isExact: true, ...(isContested && { isContested }) });
  }
  return placed;
}

/**
 * Whether a link has two places lie within each other. What was mounted first would have links of its own, of which nothing is known here, on
 * the way to the other.
 */
function meet(first: Mount, then: Mount, place: string | undefined, at: string): boolean {
  if (place === undefined || covers(first.at, then.at)) return false;
  if (place === at) return first.mode !== then.mode || sourceOf(first) !== sourceOf(then);
  return covers(place, at) || covers(at, place);
}

const sourceOf = ({ at, from = at }: Mount): string => from;

interface Link {
  readonly outer: Mount;
  /** In it. */
  readonly link: Lying;
}

/** Where no link was seen that is in the way. */
const unknownAt = (rest: string): Lying => ({ names: rest.split(path.sep), which: undefined });

interface Way {
  /** Undefined where a link leads out. */
  readonly way?: string[];
  /** The last one on it. */
  readonly link?: Lying;
}

/** The names on the way through a folder, with each link followed as it is inside. */
async function wayTo(outer: Mount, rest: string): Promise<Way> {
  const todo = rest.split(path.sep);
  const way: string[] = [];
  let last: Pick<Way, 'link'> = {};
  for (let links = 0; todo.length > 0;) {
    const name = todo.shift()!;
    if (name === '' || name === '.') continue;
    if (name === '..') {
      if (way.pop() === undefined) return last;
      continue;
    }
    const at = path.join(sourceOf(outer), ...way, name);
    const found = await lstat(at, { bigint: true }).catch(() => undefined);
    if (found?.isSymbolicLink() !== true) {
      way.push(name);
      continue;
    }
    const target = await readlink(at);
    last = { link: { names: [...way, name], which: whichOf(found) } };
    if (++links > MAX_LINKS) return last;
    if (!path.isAbsolute(target)) todo.unshift(...target.split('/'));
    else if (!covers(outer.at, target)) return last;
    else {
      way.length = 0;
      todo.unshift(...path.relative(outer.at, target).split('/'));
    }
  }
  return way.length === 0 ? last : { way, ...last };
}

/** Makes what is missing on the way, and what is mounted on. Answers the folders between. */
async function made(outer: Mount, way: readonly string[], mount: Mount): Promise<{ rest: string; identity: string }[]> {
  const root = sourceOf(outer);
  const between: { rest: string; identity: string }[] = [];
  const isFolder = mount.mode === 'hidden' || (await isDirectory(sourceOf(mount)));
  let folder = await HeldFolder.open(root);
  const inTheWay = async (count: number, why: string, cause?: unknown): Promise<InTheWay> => {
    const names = way.slice(0, count);
    return new InTheWay(outer, names, why, { names, which: await whichLies(path.join(root, ...names)) }, cause);
  };
  try {
    for (const [n, name] of way.entries()) {
      const isLast = n === way.length - 1;
      const next = await (isLast && !isFolder ? isFileMade(folder.at(name)) : folder.inside(name, 0o755)).catch(async (cause: unknown) => {
        if ((cause as NodeJS.ErrnoException).code !== 'EACCES') throw cause;
        // What cannot be seen, or made, is kept from us by the folder around it.
        const isSeen = (await whichLies(folder.at(name))) !== undefined;
        throw await inTheWay(isSeen ? n + 1 : n, 'it cannot be opened', cause);
      });
      if (next === true) break;
      if (next === false) throw await inTheWay(n + 1, 'it is no file');
      if (next === undefined) throw await inTheWay(n + 1, 'it is no folder');
      await folder.close();
      folder = next;
      if (!isLast) between.push({ rest: path.join(...way.slice(0, n + 1)), identity: await next.identity() });
    }
    return between;
  } finally {
    await folder.close();
  }
}

async function isDirectory(at: string): Promise<boolean> {
  const found = await stat(at).catch((cause: unknown) => {
    throw new StartError('not_found', `${at} is not there any more`, '', { cause });
  });
  return found.isDirectory();
}

/** False where something else has its name. */
async function isFileMade(at: string): Promise<boolean> {
  const handle = await open(at, NEW_FILE, 0o644).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await handle?.close();
  const found = await lstat(at);
  return !found.isSymbolicLink() && !found.isDirectory();
}

/**
 * With which files they are now. One that a folder shows as well is not mounted.
 *
 * @throws StartError unsupported for one that is a link, or lies behind one, not_found for one that is gone
 */
export async function renewed(mounts: readonly Placed[]): Promise<Placed[]> {
  return Promise.all(
    mounts.map(async (mount) => (mount.isRenewed && !mount.isShown ? { ...mount, identity: await fileAt(sourceOf(mount)) } : mount)),
  );
}

async function fileAt(at: string): Promise<string> {
  return identityAt(at).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT' && cause.code !== 'ENOTDIR') throw cause;
    throw new StartError('not_found', `${at} is not there any more`, '', { cause });
  });
}

/** Shell, inside: what had to be mounted at a place is mounted there. */
export function exactPlaces(mounts: readonly Placed[]): string {
  const exact = mounts.filter(({ isExact }) => isExact).map(({ at }) => `'${asListed(at).replaceAll("'", `'\\''`)}'`);
  if (exact.length === 0) return '';
  const refuse = `{ echo 'a link lay where something was to be mounted before this began' >&2; exit 126; }`;
  const all = `SVC__M="\n$(cut -d' ' -f5 /proc/self/mountinfo)\n"`;
  return `${all}; for SVC__A in ${exact.join(' ')}; do case "$SVC__M" in *"\n$SVC__A\n"*) ;; *) ${refuse};; esac; done; unset SVC__M SVC__A; `;
}

/** As the kernel writes it there. */
function asListed(at: string): string {
  return at.replaceAll(/[ \t\n\\]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
