import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { consoleBlocks } from '../support/console-blocks.js';
import { removeFolders } from '../support/folders.js';
import { packagedPrograms, startPackagedPostgres, type PackagedServer } from '../support/packaged-postgres.js';
import { User } from '../support/user.js';

/** A database of one's own is backed up and restored as `docs/how-to/backup.md` says it, with the programs of its version. */
const DATABASE = 'svc@db.example.org';
const blocks = consoleBlocks(readFileSync(new URL('../../docs/how-to/backup.md', import.meta.url), 'utf8')).map(({ steps }) =>
  steps.map(({ command }) => command),
);
const [backup, restore] = ['pg_dump', 'pg_restore'].map((program) =>
  blocks.find((commands) => commands.some((command) => command.startsWith(program)))!,
) as [string[], string[]];

(packagedPrograms === undefined ? describe.skip : describe)(
  'a database of one’s own (skipped: no package has a server and its pg_dump)',
  () => {
    let user: User;
    let server: PackagedServer;
    beforeAll(async () => {
      server = await startPackagedPostgres(packagedPrograms!);
      user = await User.arrive();
      await user.run(`export PATH="$PWD/bin:${packagedPrograms}:$PATH" SVC_CITY=works`);
    });
    afterAll(async () => {
      await user?.leave();
      await server?.stop();
      await removeFolders();
    });

    /** As the page has it, but for the address and for what starts the server. */
    const typed = (command: string): string => command.replaceAll(`postgres://${DATABASE}`, server.url);
    const address = async (): Promise<string> => (await user.run('echo "$SVC_DATABASE_URL"')).trim();

    it('is restored as it was when it was copied, and goes on from there', async () => {
      await user.run(`createdb --maintenance-db ${server.url}/postgres svc && export SVC_DATABASE_URL=${server.url}/svc`);
      await user.start({ SVC_DATABASE_URL: await address() });
      await user.run('svc city create works --provider loopback');
      const kept = (await user.run('svc bead create "Mend the build"')).trim();
      await user.run(`svc session send mayor hello --wait && svc bead close ${kept} --reason mended`);
      const head = Number(await user.run('svc events --seq'));
      for (const command of backup) await user.run(typed(command));
      await user.run('svc bead create "Nobody will know"');
      await user.stop();

      for (const command of restore) {
        if (command.endsWith('npm start')) await user.start({ SVC_DATABASE_URL: await address() });
        else await user.run(typed(command));
      }
      expect(new URL(await address()).pathname).toBe('/restored');
      await user.sees('svc city list', /^works +running/m);
      expect(await user.run('svc bead list --all')).toMatch(/closed .* Mend the build/);
      expect(await user.run('svc bead list --all')).not.toContain('Nobody will know');
      expect(Number(await user.run('svc events --seq'))).toBeGreaterThanOrEqual(head);
      const next = (await user.run('svc bead create "Another"')).trim();
      expect(await user.run('svc bead list')).toContain(next);
      expect(await user.run('svc session send mayor again --wait')).toBe('echo: again\n');
    });
  },
);
