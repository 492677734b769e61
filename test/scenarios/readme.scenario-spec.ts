import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { consoleBlocks, lineOf, type Block, type Step } from '../support/console-blocks.js';
import { removeFolders } from '../support/folders.js';
import { eventually } from '../support/sse.js';
import { User, type Running } from '../support/user.js';

/**
 * Every console block of the README, in order, as a new user types them: what a line prints is compared up to times, ages,
 * random ids and paths.
 */
const blocks = consoleBlocks(readFileSync(new URL('../../README.md', import.meta.url), 'utf8'));
/** Where the README says that the checkout is, and the port that it says. */
const HOME = '/home/you/supervisor-control-plane';
const PORT = 'localhost:8372';
/** Ids of the city `demo`. It starts sessions when it sees work, which have ids as well: so what an id is, the line says that shows it first. */
const ID = /\bde-\d+\b/g;
/** How far a long operation is, which a fast one does not tell. */
const PROGRESS = /^\w+ing \S+: \w+$/;
/** Commands that only look. What they show may still be on its way, so they are asked again, as a person would do. */
const LOOKS = /^svc (events|\w+ (list|ready|pending|inbox|revisions|validate))\b/;

let user: User;
const behind: Running[] = [];
let broken: number | undefined;
/** What the ids of the README are in this run. */
const ids = new Map<string, string>();

const here = (text: string): string => text.replaceAll(HOME, user.dir).replaceAll(PORT, new URL(user.url).host);
const typed = (command: string): string => here(command).replaceAll(ID, (id) => ids.get(id) ?? id);

/** Whether a line is what the README shows; what it calls the ids that are new there is remembered. */
function isShown(expected: string, printed: string): boolean {
  const fresh = new Set<string>();
  const pattern = lineOf(here(expected)).source.replaceAll(ID, (id) => {
    const known = ids.get(id);
    const name = id.replace('-', '');
    if (known !== undefined || fresh.has(id)) return known ?? `\\k<${name}>`;
    fresh.add(id);
    return `(?<${name}>de-\\d+)`;
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
  if (line.endsWith(' &')) return void behind.push(user.begin(line.slice(0, -2)));
  const endless = output.at(-1) === '^C';
  const expected = output.filter((text) => text !== '^C' && !PROGRESS.test(text));
  const running = user.begin(line);
  if (endless) {
    // A stream has no end: what the README shows of it is waited for.
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
    if (at === -1) throw new Error(`not in the README: ${text}\nprinted:\n${printed.join('\n')}`);
    absent.push(...wanted.splice(0, at + 1).slice(0, at));
  }
  return [...absent, ...wanted];
}

describe('the README', () => {
  beforeAll(async () => {
    user = await User.arrive();
    await user.start();
  });
  afterAll(async () => {
    await user.leave();
    await removeFolders();
  });

  it('says why where a block cannot be run here', () => {
    expect(blocks.flatMap(({ notRun }) => notRun ?? [])).toEqual([
      'it tells what is wrong on another machine',
      'a service is there a moment after the reload',
      'it builds an image and starts containers; `npm run test:cluster` does so',
      'it has the keys of the block above',
      'the certificate is yours',
    ]);
    expect(blocks.filter(({ notRun }) => notRun === undefined).length).toBeGreaterThanOrEqual(6);
  });

  const runnable: [string, Block][] = blocks
    .filter(({ notRun }) => notRun === undefined)
    .map((block) => [`${block.line}: ${block.steps[0]?.command}`, block]);
  it.each(runnable)('works as it is written in line %s', async (_name, { steps }) => {
    if (broken !== undefined) throw new Error(`what is here goes on from line ${broken}, which failed`);
    for (const step of steps) {
      await settled(step).catch((error: unknown) => {
        broken = step.line;
        throw new Error(`README.md:${step.line}: $ ${step.command}\n${(error as Error).message}`, { cause: error });
      });
    }
  });
});
