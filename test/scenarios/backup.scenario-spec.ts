import { afterEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { consoleBlocks } from '../support/console-blocks.js';
import { removeFolders } from '../support/folders.js';
import { packagedPrograms, startPackagedPostgres, type PackagedServer } from '../support/packaged-postgres.js';
import { eventually } from '../support/sse.js';
import { User } from '../support/user.js';

/** What `docs/how-to/backup.md` says, typed as it stands there. */
const DATABASE = 'svc@db.example.org';
const HOME = '/home/you/supervisor-control-plane/';
const blocks = consoleBlocks(readFileSync(new URL('../../docs/how-to/backup.md', import.meta.url), 'utf8')).map(({ steps }) =>
  steps.map(({ command }) => command),
);
/** Of the blocks that say both, the commands. */
const typed = (...words: string[]): string[] =>
  blocks.find((commands) => words.every((word) => commands.some((command) => command.includes(word))))!;

let user: User | undefined;
let server: PackagedServer | undefined;
afterEach(async () => {
  await user?.leave();
  await server?.stop();
  [user, server] = [undefined, undefined];
  await removeFolders();
});

interface Ways {
  readonly backup: readonly string[];
  readonly restore: readonly string[];
  /** A command as it is typed here; undefined for what stops the server. */
  readonly as: (command: string) => string | undefined;
  readonly settings: () => Promise<Record<string, string>>;
}

/** A day's work, a backup while it goes on, something that only one reader has seen, and the restore. */
async function restored(who: User, { backup, restore, as, settings }: Ways): Promise<void> {
  await who.start(await settings());
  await who.run('svc city create works --provider loopback');
  const kept = (await who.run('svc bead create "Mend the build"')).trim();
  await who.run(`svc session send mayor hello --wait && svc bead close ${kept} --reason mended`);
  const reader = who.begin('svc events --follow --after 0 --type bead.created', { behind: true });
  await eventually(() => reader.output().includes('Mend the build'));
  const head = Number(await who.run('svc events --seq'));
  for (const command of backup) await who.run(as(command)!);
  await who.run('svc bead create "Nobody will know"');
  await eventually(() => reader.output().includes('Nobody will know'));
  const lost = Number(await who.run('svc events --seq'));
  expect((await who.begin(`svc restore monday.tgz`).ended).code).toBe(1);
  await who.stop();

  for (const command of restore) {
    const line = as(command);
    if (command.endsWith('npm start')) await who.start(await settings());
    else if (line !== undefined) await who.run(line);
  }
  await who.sees('svc city list', /^works +running/m);
  expect(await who.run('svc bead list --all')).toMatch(/closed .* Mend the build/);
  expect(await who.run('svc bead list --all')).not.toContain('Nobody will know');
  expect(Number(await who.run('svc events --seq'))).toBeGreaterThan(lost);
  // Who had read more is told so, wherever he asks, and goes on by himself.
  for (const position of [lost, head + 1]) {
    const answer = await fetch(`${who.url}/v0/city/works/events/stream`, { headers: { 'last-event-id': `${position}` } });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([410, 'cursor-ahead']);
  }
  const next = (await who.run('svc bead create "Another"')).trim();
  await eventually(() => reader.output().includes('Another'));
  const seqs = reader
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => (JSON.parse(line) as { seq: number }).seq);
  expect(new Set(seqs).size).toBe(seqs.length);
  reader.interrupt();
  expect(await who.run('svc bead list')).toContain(next);
  expect(await who.run('svc session send mayor again --wait')).toBe('echo: again\n');
}

describe('a backup', () => {
  it('of an embedded service that runs is restored as it was, and goes on from there', async () => {
    user = await User.arrive();
    await user.run('export PATH="$PWD/bin:$PATH" SVC_CITY=works');
    const [backup, restore] = [typed('svc backup'), typed('kill -INT', 'svc restore')];
    await restored(user, {
      backup,
      restore,
      as: (command) => (command.startsWith('kill') ? undefined : command),
      settings: () => Promise.resolve({}),
    });
    // The numbers that were given since are not given again, either.
    await user.stop();
    expect(await user.run('svc restore monday.tgz --replace')).toContain('the log is in epoch 3');
  });

  (packagedPrograms === undefined ? it.skip : it)(
    'of a database of one’s own as well (skipped: no package has a server and its pg_dump)',
    async () => {
      const own = (server = await startPackagedPostgres(packagedPrograms!));
      const who = (user = await User.arrive());
      await who.run(`export PATH="$PWD/bin:${packagedPrograms}:$PATH" SVC_CITY=works`);
      await who.run(`createdb --maintenance-db ${own.url}/postgres svc && export SVC_DATABASE_URL=${own.url}/svc`);
      const address = async (): Promise<string> => (await who.run('echo "$SVC_DATABASE_URL"')).trim();
      await restored(who, {
        backup: typed('export SVC_DATABASE_URL', 'svc backup'),
        restore: typed('createdb', 'svc restore'),
        as: (command) => command.replaceAll(`postgres://${DATABASE}`, own.url).replace(HOME, ''),
        settings: async () => ({ SVC_DATABASE_URL: await address() }),
      });
      expect(new URL(await address()).pathname).toBe('/restored');
    },
  );
});
