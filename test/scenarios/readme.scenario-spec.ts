import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { consoleBlocks, lineOf, type Block, type Step } from '../support/console-blocks.js';
import { folder, removeFolders } from '../support/folders.js';
import { hasSshServer, startGitHosts, type GitHosts } from '../support/git-hosts.js';
import { eventually } from '../support/sse.js';
import { User, type Running } from '../support/user.js';

/**
 * Every console block of the README and of the guide, page after page in the order of its list, as a new user types them: what a line
 * prints is compared up to times, ages, random ids and paths.
 */
const root = new URL('../../', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, root), 'utf8');
const pages = [...read('docs/README.md').matchAll(/^- \[.+?\]\(((?:tutorial|how-to|explanation)\/.+?\.md)\)/gm)].map(
  ([, page]) => `docs/${page!}`,
);
const blocks = ['README.md', ...pages].flatMap((file) => consoleBlocks(read(file)).map((block) => ({ ...block, file })));
/** Where the pages say that the checkout is, and the port that they say. */
const HOME = '/home/you/supervisor-control-plane';
const PORT = 'localhost:8372';
/** Ids of the cities. They start sessions when they see work, which have ids as well: so what an id is, the line says that shows it first. */
const ID = /\b(?:de|web)-\d+\b/g;
/** How far a long operation is, and whom it waits for, which a fast one does not tell. */
const PROGRESS = /^(?:\w+ing \S+: \w+|nobody is connected for \S+ .*)$/;
/** Commands that only look. What they show may still be on its way, so they are asked again, as a person would do. */
const LOOKS = /^svc (events|search|\w+ (list|ready|pending|inbox|revisions|validate|history))\b/;

/** It speaks of a host that lets keys in by ssh. */
const BY_SSH = 'docs/how-to/private-git.md';

let user: User;
let hosts: GitHosts | undefined;
const behind: Running[] = [];
/** Where a page has failed: what comes after it there goes on from that. */
const broken = new Map<string, string>();
/** What the ids of the pages are in this run. */
const ids = new Map<string, string>();

const here = (text: string): string =>
  [[HOME, user.dir] as const, [PORT, new URL(user.url).host] as const, ...(hosts?.places ?? [])].reduce(
    (changed, [written, is]) => changed.replaceAll(written, is),
    text,
  );
const typed = (command: string): string => here(command).replaceAll(ID, (id) => ids.get(id) ?? id);

/** Whether a line is what the page shows; what it calls the ids that are new there is remembered. */
function isShown(expected: string, printed: string): boolean {
  const fresh = new Set<string>();
  const pattern = lineOf(here(expected)).source.replaceAll(ID, (id) => {
    const known = ids.get(id);
    const name = id.replace('-', '');
    if (known !== undefined || fresh.has(id)) return known ?? `\\k<${name}>`;
    fresh.add(id);
    return `(?<${name}>${id.split('-')[0]}-\\d+)`;
  });
  const found = new RegExp(pattern).exec(printed);
  for (const id of found === null ? [] : fresh) ids.set(id, found!.groups![id.replace('-', '')]!);
  return found !== null;
}
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

async function settled(step: Step): Promise<void> {
  if (!LOOKS.test(step.command) || step.command.endsWith(' &')) return follow(step);
  let why: unknown;
  const fits = (): Promise<boolean> =>
    follow(step).then(
      () => true,
      (error: unknown) => {
        why = error;
        return false;
      },
    );
  await eventually(fits).catch(() => {
    throw why;
  });
}

async function follow({ command, output }: Step): Promise<void> {
  const line = typed(command);
  if (line.endsWith(' &')) return void behind.push(user.begin(line.slice(0, -2), { behind: true }));
  const endless = output.at(-1) === '^C';
  const expected = output.filter((text) => text !== '^C' && !PROGRESS.test(text));
  const running = user.begin(line);
  if (endless) {
    // A stream has no end: what the page shows of it is waited for.
    await eventually(() => linesOf(running.output()).length >= expected.length).catch(() => undefined);
    running.interrupt();
  }
  const printed = linesOf((await running.ended).output);
  const absent = missing(endless ? printed.slice(0, expected.length) : printed, expected);
  // What a command in the background prints comes when it comes.
  const comes = (): boolean => absent.every((wanted) => behind.some((one) => linesOf(one.output()).some((text) => isShown(wanted, text))));
  if (behind.length > 0) await eventually(comes).catch(() => undefined);
  if (!comes()) throw new Error(`without ${absent.join('\n')}\nprinted:\n${printed.join('\n')}`);
}

/** The expected lines that are not printed. @throws at a printed line that is not expected there. */
function missing(printed: readonly string[], expected: readonly string[]): string[] {
  const wanted = [...expected];
  const absent: string[] = [];
  // A line of nothing but dots stands for as many as there are: a reload says what it has changed, unless the service was faster.
  let isAnything = false;
  for (const text of printed) {
    if (PROGRESS.test(text)) continue;
    const at = wanted.findIndex((line) => isShown(line, text));
    if (at === -1 && isAnything) continue;
    isAnything = wanted[at] === '…';
    if (at === -1) throw new Error(`not on the page: ${text}\nprinted:\n${printed.join('\n')}`);
    absent.push(...wanted.splice(0, at + 1).slice(0, at));
  }
  return [...absent, ...wanted];
}

describe('the README and the guide', () => {
  beforeAll(async () => {
    user = await User.arrive();
    if (hasSshServer) hosts = await startGitHosts(await folder('svc-git-hosts-'), user.dir);
    const trees = hosts?.places.find(([written]) => written === '/srv/trees')?.[1] ?? '';
    await user.start({ SVC_ALLOWED_TARGETS: '127.0.0.1', SVC_ALLOWED_PATHS: trees });
    await user.run(`export TOKEN=${hosts?.token ?? ''}`);
  });
  afterAll(async () => {
    await user.leave();
    await hosts?.close();
    await removeFolders();
  });

  it('say why where a block cannot be run here', () => {
    expect(blocks.flatMap(({ file, notRun }) => (notRun === undefined ? [] : `${file}: ${notRun}`))).toEqual([
      'docs/how-to/svc.md: it tells what is wrong on another machine',
      'docs/how-to/services.md: a service is there a moment after the reload',
      'docs/how-to/custom-agent.md: it tells what is wrong on another machine',
      'docs/how-to/private-git.md: it starts another server',
      'docs/how-to/private-git.md: it starts another server',
      'docs/how-to/private-git.md: nobody may push there',
      'docs/how-to/keys.md: it needs the containers of the cluster',
      'docs/how-to/keys.md: it has the keys of the block above',
      'docs/how-to/cluster.md: it builds an image and starts containers; `npm run test:cluster` does so',
      'docs/how-to/cluster.md: it writes a file beside those of the cluster',
      'docs/how-to/cluster.md: it needs the containers of the cluster',
      'docs/how-to/cluster.md: it needs the containers of the cluster',
      'docs/how-to/cluster.md: it starts a server',
      'docs/how-to/cluster.md: it needs two servers',
      'docs/how-to/high-availability.md: it builds images and starts containers',
      'docs/how-to/high-availability.md: it needs the containers of the cluster',
      'docs/how-to/high-availability.md: it needs the containers of the cluster',
      'docs/how-to/high-availability.md: it needs the containers of the cluster',
      'docs/how-to/high-availability.md: it needs the containers of the cluster',
      'docs/how-to/high-availability.md: it needs the containers of the cluster',
      'docs/how-to/kubernetes.md: it needs a cluster of Kubernetes',
      'docs/how-to/kubernetes.md: it needs a cluster of Kubernetes',
      'docs/how-to/kubernetes.md: it needs a cluster of Kubernetes',
      'docs/how-to/kubernetes.md: it needs a cluster of Kubernetes',
      'docs/how-to/worker-image.md: it builds images and starts containers',
      'docs/how-to/worker-image.md: it builds images and starts containers',
      'docs/how-to/upgrade.md: it builds an image and starts containers; `npm run test:cluster` does so',
      'docs/how-to/backup.md: it stops the server of these pages',
      'docs/how-to/backup.md: it stops the server of these pages',
      'docs/how-to/backup.md: it needs a database of its own',
      'docs/how-to/backup.md: it needs a database of its own',
      'docs/how-to/backup.md: it needs the containers of the cluster',
      'docs/how-to/backup.md: it needs the containers of the cluster',
      'docs/how-to/backup.md: it needs the containers of the cluster',
      'docs/how-to/monitoring.md: it needs a collector',
      'docs/how-to/https.md: the certificate is yours',
      'docs/how-to/https.md: the certificate is yours',
    ]);
    expect(pages.length).toBeGreaterThan(25);
    expect(blocks.filter(({ notRun }) => notRun === undefined).length).toBeGreaterThanOrEqual(33);
  });

  const runnable: [string, Block & { readonly file: string }][] = blocks
    .filter(({ notRun, file }) => notRun === undefined && (hasSshServer || file !== BY_SSH))
    .map((block) => [`${block.file}:${block.line}: ${block.steps[0]?.command}`, block]);
  it.each(runnable)('work as it is written in %s', async (_name, { file, steps }) => {
    if (broken.has(file)) throw new Error(`what is here goes on from ${broken.get(file)}, which failed`);
    for (const step of steps) {
      await settled(step).catch((error: unknown) => {
        broken.set(file, `${file}:${step.line}`);
        throw new Error(`${file}:${step.line}: $ ${step.command}\n${(error as Error).message}`, { cause: error });
      });
    }
  });
});
