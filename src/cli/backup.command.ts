import type { Command } from 'commander';
import { flagsOf, withExamples } from './command.js';
import { CliError } from './errors.js';
import type { Io } from './io.js';
import { runEntry } from './serve.command.js';

interface Flags {
  readonly dataDir?: string;
  readonly replace?: boolean;
}

const DATA_DIR = ['--data-dir <path>', 'where everything is kept (SVC_DATA_DIR)'] as const;

export function addBackup(program: Command, io: Io): void {
  const backup = program
    .command('backup')
    .description('write the database and the cities into one file, also while the service runs')
    .argument('<file>', 'the file to write, in place of an older backup of that name; whoever reads it has all of it, keys included')
    .option('--replace', 'write it also in place of a file that is no backup')
    .option(...DATA_DIR);
  withExamples(backup, 'svc backup monday.tgz', 'svc backup /backups/svc.tgz --data-dir /var/lib/svc');
  backup.action((file: string, _options, command: Command) => entry(io, command, 'backup', file));
}

export function addRestore(program: Command, io: Io): void {
  const restore = program
    .command('restore')
    .description('put a backup back, while the service does not run')
    .argument('<file>', 'what `svc backup` has written')
    .option('--replace', 'take the place of what is there: folders, and schemas of a database of your own, are moved aside')
    .option(...DATA_DIR);
  withExamples(restore, 'svc restore monday.tgz', 'svc restore monday.tgz --replace');
  restore.action((file: string, _options, command: Command) => entry(io, command, 'restore', file));
}

async function entry(io: Io, command: Command, what: string, file: string): Promise<void> {
  const { dataDir, replace } = flagsOf<Flags>(command);
  const args = [what, file, ...(replace === true ? ['--replace'] : [])];
  const code = await runEntry('backup', args, { ...io.env, ...(dataDir === undefined ? {} : { SVC_DATA_DIR: dataDir }) });
  if (code !== 0) throw new CliError('', code);
}
